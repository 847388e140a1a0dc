package upgrade

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The matrix in short: R is range, C is cooperative-sticky, S is sticky, F is fair, X is nobody's.
func list(short string) (out []string) {
	for _, letter := range short {
		out = append(out, map[rune]string{'R': "range", 'C': "cooperative-sticky", 'S': "sticky", 'F': "fair", 'X': "weird"}[letter])
	}
	return out
}

// group is one member a word: what it offers, "-" and what it holds back, "+" when it claims partitions, "!" when it is
// static, "*" when it follows the selection, "?" when the broker tells its selected name alone, "0" when its subscription has version 0.
func group(b Broker, assignor, members string) Group {
	g := Group{Name: "g", Assignor: list(assignor)[0], Broker: b}
	for i, word := range strings.Fields(members) {
		offers, withholds, _ := strings.Cut(strings.TrimRight(word, "+!?0*"), "-")
		m := Member{ID: fmt.Sprintf("m%d", i+1), Offers: list(offers), Withholds: list(withholds), Version: 3}
		m.Static, m.Listed = strings.Contains(word, "!"), !strings.Contains(word, "?")
		m.Follows = m.Withholds != nil || strings.Contains(word, "*")
		if strings.Contains(word, "+") {
			m.Claims = 2
		}
		if strings.Contains(word, "0") {
			m.Version = 0
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// text is a forecast in short: the verdict, the rows, and the stages.
func (f Forecast) text() string {
	words := []string{string(f.Verdict), strings.Join(f.Rows, "/")}
	if f.Adopts != "" {
		words = append(words, "adopts "+f.Adopts)
	}
	if f.First != "" {
		words = append(words, "first "+f.First)
	}
	if f.Admitted != Yes {
		words = append(words, "admitted "+string(f.Admitted))
	}
	if f.Safe != Yes {
		words = append(words, "safe "+string(f.Safe))
	}
	for _, s := range f.Stages {
		words = append(words, fmt.Sprintf("%d:%s:%s", s.Restarted, s.Assignor, s.Protocol))
	}
	return strings.Join(words, " ")
}

var (
	ours  = Broker{Skein: true, Union: true, Remembers: true}
	stock = Broker{Consumer: true}
)

const (
	cs    = "cooperative-sticky"
	eager = ":EAGER"
	coop  = ":COOPERATIVE"
	mixed = ":mixed"
)

// TestTheMatrix goes through M1 to M23 row by row (docs/requirements.md, part C).
func TestTheMatrix(t *testing.T) {
	for _, c := range []struct {
		row      string
		broker   Broker
		assignor string
		members  string
		client   Client
		to       string
		want     string
	}{
		{"M1, our consumer", ours, "R", "R R R", Skein, "CR", "go M1 1:range" + eager + " 3:" + cs + coop},
		{"M1, a stock client", ours, "R", "R R R", Stock, "CR", "go M1 1:range" + eager + " 3:" + cs + eager},
		{"M1, Java's default", ours, "R", "R R R", Stock, "RC", "go M1 1:range" + eager},
		{"M1, nothing told", stock, "R", "R? R? R?", Skein, "CR", "go M1 1:range" + eager + " 3:" + cs + coop},
		{"M1, half way", ours, "R", "R RC R", Skein, "CR", "go M1 1:range" + eager + " 2:" + cs + mixed + " 3:" + cs + coop},
		{"M2", ours, "R", "R R R", Stock, "C", "stop M2 admitted no"},
		{"M2, our consumer", ours, "R", "R R R", Skein, "C", "go M2 adopts range 1:range" + eager + " 3:" + cs + coop},
		{"M2, an assignor that our consumer does not know", ours, "F", "F F", Skein, "C", "stop M2 admitted no"},
		{"M2, our consumer, one left", ours, "R", "RC RC R", Skein, "C", "go M2 adopts range 1:range" + eager + " 3:" + cs + coop},
		{"M2, old code seen", stock, "R", "R?0 R?0", Stock, "C", "stop M2 admitted no"},
		{"M2, one left", ours, "C", "C RC R", Stock, "C", "go M2 first m3 1:" + cs + mixed + " 3:" + cs + coop},
		{"M3", ours, "C", "CR CR CR", Stock, "CR", "go M3 1:" + cs + eager},
		{"M4", ours, "R", "RC RC RC", Stock, "RC", "go M4 1:range" + eager},
		{"M5", ours, "R", "RC RC RC", Stock, "C", "go M5 1:" + cs + mixed + " 3:" + cs + coop},
		{"M5, from the other order", ours, "C", "CR CR", Stock, "C", "go M5 1:" + cs + mixed + " 2:" + cs + coop},
		{"M6", Broker{Skein: true, Union: true}, "R", "RC RC", Stock, "C", "go M6 1:" + cs + mixed + " 2:" + cs + coop},
		{"M6, nothing told", stock, "R", "R? R?", Stock, "C", "unclear M6 admitted maybe"},
		{"M7", ours, "C", "C C", Stock, "R", "stop M7 admitted no"},
		{"M7, our consumer", ours, "C", "C C C", Skein, "R", "go M7 adopts " + cs + " 1:" + cs + mixed + " 3:range" + eager},
		{"M6, our consumer, nothing told", stock, "R", "R? R?", Skein, "C", "go M6 adopts range 1:range" + eager + " 2:" + cs + coop},
		{"M7, nothing told", stock, "C", "C?+ C?+", Stock, "R", "stop M7 admitted no"},
		{"M8", ours, "C", "C C C", Stock, "RC", "go M8 1:" + cs + mixed + " 3:range" + eager},
		{"M8, nothing told", stock, "C", "C?+ C?+ C?+", Stock, "CR", "go M8 1:" + cs + mixed + " 3:" + cs + eager},
		{"M9", ours, "C", "CR CR", Skein, "CR", "go M9 1:" + cs + mixed + " 2:" + cs + coop},
		{"M10", stock, "C", "C? C?", Stock, "R", "unclear M10 admitted maybe"},
		{"M10, lists told", Broker{Skein: true}, "C", "CR CR", Stock, "R", "go M10 1:range" + eager},
		{"M10, just climbed", ours, "C", "CR* CR*", Stock, "R", "go M10 1:range" + eager},
		{"M12, just climbed", ours, "C", "CR* CR*", Skein, "RC", "go M12 1:" + cs + mixed + " 2:range" + eager},
		{"M13, just climbed", ours, "C", "CR* CR*", Skein, "CR", "go M13 1:" + cs + coop},
		{"M1, ours half way", ours, "R", "R CR* R", Skein, "CR", "go M1 1:range" + eager + " 2:" + cs + coop},
		{"M11, on our broker", ours, "C", "C-R+ C-R+ C-R+", Stock, "R", "go M11 1:range" + eager},
		{"M11, without union admission", Broker{Skein: true, Remembers: true}, "C", "C-R+ C-R+", Stock, "R", "stop M11 admitted no"},
		{"M12, our consumer", ours, "C", "C-R+ C-R+ C-R+", Skein, "RC", "go M12 1:" + cs + mixed + " 3:range" + eager},
		{"M12, a stock client", ours, "C", "C-R+ C-R+ C-R+", Stock, "RC", "go M12 1:" + cs + mixed + " 3:range" + eager},
		{"M13, [cs]", ours, "C", "C-R+ C-R+", Stock, "C", "go M13 1:" + cs + coop},
		{"M13, both", ours, "C", "C-R+ C-R+", Stock, "CR", "go M13 1:" + cs + mixed + " 2:" + cs + eager},
		{"M14", ours, "C", "C+ C-R+ C+", Stock, "R", "stop M14 admitted no"},
		{"M14, our consumer", ours, "C", "C+ C-R+ C+", Skein, "R", "go M14 adopts " + cs + " 1:" + cs + mixed + " 2:range" + eager},
		{"M15", ours, "R", "R R", Skein, "R", "go M15 1:range" + eager},
		{"M16, as M1", ours, "S", "S S", Skein, "CS", "go M1/M16 1:sticky" + eager + " 2:" + cs + coop},
		{"M16, as M3", ours, "C", "CS CS", Stock, "CS", "go M3/M16 1:" + cs + eager},
		{"M16, as M5", ours, "S", "SC SC", Stock, "C", "go M5/M16 1:" + cs + mixed + " 2:" + cs + coop},
		{"M17 to M19", ours, "C", "CR+ CR+ CR+", Stock, "R", "stop M17 safe no 1:range" + mixed + " 3:range" + eager},
		{"M17, by votes", ours, "C", "CR+ CR+ CR+", Stock, "RC", "stop M17 safe no 1:" + cs + mixed + " 2:range" + mixed + " 3:range" + eager},
		{"M20", ours, "C", "C-R+ CR+ C-R+", Stock, "R", "stop M20 safe no 1:range" + mixed + " 3:range" + eager},
		{"M21", ours, "X", "X X", Skein, "CR", "unclear M21 admitted maybe safe maybe"},
		{"M22", ours, "R", "R! R!", Skein, "CR", "go M1/M22 1:range" + eager + " 2:" + cs + coop},
		{"M22, its own past", ours, "R", "R!", Stock, "C", "stop M2/M22 admitted no"},
		{"M23", stock, "R", "R? R?", Stock, "", "go M23"},
		{"M23, on our broker", ours, "R", "R R", Stock, "", "stop M23 admitted no"},
	} {
		got := group(c.broker, c.assignor, c.members).Restart(Target{Client: c.client, List: list(c.to), Consumer: c.to == ""})
		if got.text() != c.want {
			t.Errorf("%s: %s\n  got  %s\n  want %s", c.row, c.members, got.text(), c.want)
		}
		if len(got.Why) == 0 && len(got.Stages) > 0 {
			t.Errorf("%s: no words", c.row)
		}
	}
}

// TestEveryRestartHasARow: there is no group, list and client without one.
func TestEveryRestartHasARow(t *testing.T) {
	seen := map[string]bool{}
	members := []string{"R", "RC", "CR", "C", "C+", "C-R+", "CR*", "RC*", "CR+", "R?", "R?0", "C?", "C?+", "S", "SC"}
	for _, b := range []Broker{ours, stock, {Skein: true}} {
		for _, one := range members {
			for _, other := range members {
				assignor := "R"
				if strings.Contains(one, "C") && !strings.HasPrefix(one, "R") {
					assignor = "C"
				}
				for _, to := range []string{"R", "C", "CR", "RC", "S", "CS", "CRS"} {
					for _, client := range []Client{Skein, Stock} {
						f := group(b, assignor, one+" "+other+" "+one).Restart(Target{Client: client, List: list(to)})
						seen[f.Rows[0]] = true
						if (f.Verdict == Go) != (f.Admitted == Yes && f.Safe == Yes) || len(f.Why) == 0 || f.Admitted == Yes && f.Stages[len(f.Stages)-1].Assignor == "" {
							t.Errorf("%s %s -> %s: %+v", one, other, to, f)
						}
					}
				}
			}
		}
	}
	for _, r := range rows() {
		if !seen[r.id] {
			t.Errorf("no group is of row %s", r.id)
		}
	}
}

// TestTheLastStageIsThatOfAFreshGroup: what a group ends with is decided by the target alone.
func TestTheLastStageIsThatOfAFreshGroup(t *testing.T) {
	want := map[string]string{"CR skein": cs + coop, "CR stock": cs + eager, "RC skein": "range" + eager, "C stock": cs + coop, "C skein": cs + coop, "R skein": "range" + eager}
	for key, end := range want {
		to, client, _ := strings.Cut(key, " ")
		for _, members := range []string{"R", "R R", "RC CR RC", "C-R+ C-R+", "CR CR CR CR CR"} {
			f := group(ours, "R", members).Restart(Target{Client: Client(client), List: list(to)})
			if f.Admitted != Yes {
				continue
			}
			if last := f.Stages[len(f.Stages)-1]; last.Assignor+":"+last.Protocol != end {
				t.Errorf("%s to %s: %+v, want %s", members, key, f.Stages, end)
			}
		}
	}
}

func TestWhatAGroupRuns(t *testing.T) {
	for _, c := range []struct {
		name, assignor, members, protocol string
		held                              []string
		told                              bool
	}{
		{"old code", "R", "R R", Eager, []string{"m1", "m2"}, true},
		{"one holds all back", "R", "R CR CR", Eager, []string{"m1", "m2", "m3"}, true},
		{"Java's default", "R", "RC RC", Eager, []string{"m1", "m2"}, true},
		{"ours, settled", "C", "C-R+ C-R+", Cooperative, []string{}, true},
		{"ours, just climbed", "C", "CR* CR*", Cooperative, []string{}, true},
		{"ours, held by one", "R", "R CR*", Eager, []string{"m1"}, true},
		{"ours, the other order", "R", "RC*", Eager, []string{"m1"}, true},
		{"narrow lists", "C", "C C", Cooperative, []string{}, true},
		{"on the way", "C", "C CR", Mixed, []string{"m2"}, true},
		{"stock, both", "C", "CR CR", Eager, []string{"m1", "m2"}, true},
		{"old code on Kafka", "R", "R?0 R?", Eager, []string{"m1"}, false},
		{"claims on Kafka", "C", "C?+ C?", Cooperative, []string{}, false},
		{"fresh on Kafka", "C", "C? C?", Untold, []string{}, false},
		{"nobody knows", "X", "X", Untold, []string{}, true},
		{"nobody there", "R", "", Untold, []string{}, true},
	} {
		s := group(ours, c.assignor, c.members).Look()
		held := []string{}
		for _, h := range s.HeldBack {
			held = append(held, h.Member)
		}
		if s.Protocol != c.protocol || !reflect.DeepEqual(held, c.held) || s.Told != c.told || len(s.Why) == 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestWordsOfTheCallerCount(t *testing.T) {
	g := group(ours, "X", "X X")
	g.Names = Names{"weird": false}
	if f := g.Restart(Target{Client: Skein, List: list("CX")}); f.text() != "go M1/M16 1:weird"+eager+" 2:"+cs+coop {
		t.Error(f.text())
	}
	if s := g.Look(); s.Protocol != Eager {
		t.Errorf("%+v", s)
	}
}

func TestPathsAreThoseOfTheBroker(t *testing.T) {
	steps := func(b Broker) (n []int) {
		for _, p := range group(b, "S", "S S").Paths() {
			n = append(n, len(p.Steps))
			if !strings.Contains(strings.Join(p.Steps, " "), "sticky]") {
				t.Errorf("%+v: not with the assignor that the group has", p)
			}
		}
		return n
	}
	if got := steps(ours); !slices.Equal(got, []int{1, 2, 1, 2}) {
		t.Errorf("ours: %v", got)
	}
	if got := steps(stock); !slices.Equal(got, []int{1, 2, 2, 2}) {
		t.Errorf("stock: %v", got)
	}
}

func TestVastGroupsAreJudged(t *testing.T) {
	f := group(ours, "R", strings.Repeat("R RC ", 5000)).Restart(Target{Client: Skein, List: list("CR")})
	if last := f.Stages[len(f.Stages)-1]; last != (Stage{10000, cs, Cooperative}) || f.Verdict != Go {
		t.Errorf("%+v", f)
	}
}

func TestDefaultsHaveNames(t *testing.T) {
	for name, want := range map[string]Target{
		"skein": {Client: Skein, List: list("CR")}, "java": {Client: Stock, List: list("RC")}, "old": {Client: Stock, List: list("R")},
		"consumer": {Client: Stock, Consumer: true},
	} {
		if got, ok := Named(name); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, ok := Named("range"); ok {
		t.Error("range is a list, not a name")
	}
}
