package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
)

// follower is a `skein consume --group` that runs beside the test.
type follower struct {
	t    *testing.T
	c    cluster
	stop context.CancelFunc
	code chan int
	out  *printed
	err  *printed
}

// printed is what a command has printed so far.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *printed) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *printed) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// follow starts a member. It is stopped at the end of the test, if it was not before.
func (c cluster) follow(args ...string) *follower {
	c.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{t: c.t, c: c, stop: stop, code: make(chan int, 1), out: &printed{}, err: &printed{}}
	env := Env{
		Stdin: strings.NewReader(""), Stdout: f.out, Stderr: f.err, Now: time.Now, Environ: func() []string { return nil },
		Getenv: func(name string) string { return map[string]string{"SKEIN_BOOTSTRAP": c.address}[name] },
	}
	go func() { f.code <- Run(ctx, env, append([]string{"consume", "--heartbeat-interval", "50ms"}, args...)) }()
	c.t.Cleanup(func() { f.ends() })
	return f
}

// ends interrupts the member and returns its exit code.
func (f *follower) ends() int {
	f.stop()
	return f.waits()
}

func (f *follower) waits() int {
	code := <-f.code
	f.code <- code
	return code
}

// groupLine is a line of either kind.
type groupLine struct {
	groupEvent
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Value     string `json:"value"`
}

func (f *follower) lines() (list []groupLine) {
	f.t.Helper()
	text := f.out.String()
	for line := range strings.Lines(text[:strings.LastIndex(text, "\n")+1]) {
		var l groupLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			f.t.Fatalf("%v: %s", err, line)
		}
		list = append(list, l)
	}
	return list
}

// until waits for a line.
func (f *follower) until(what string, is func(groupLine) bool) groupLine {
	f.t.Helper()
	for f.t.Context().Err() == nil {
		all := f.lines()
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i]
		}
		if len(f.code) > 0 {
			break
		}
		f.c.do("version") // a moment
	}
	f.t.Fatalf("no %s in\n%s%s", what, f.out, f.err)
	return groupLine{}
}

// values are the records, sorted.
func (f *follower) values() (out []string) {
	for _, l := range f.lines() {
		if l.Event == "" {
			out = append(out, l.Value)
		}
	}
	slices.Sort(out)
	return out
}

func isEvent(name string) func(groupLine) bool {
	return func(l groupLine) bool { return l.Event == name }
}

func (c cluster) committed(group string) (sum int64) {
	c.t.Helper()
	var list []groupDescription
	decode(c.t, c.do("group", "describe", group, "--json"), &list)
	for _, p := range list[0].Partitions {
		if p.Committed != nil {
			sum += *p.Committed
		}
	}
	return sum
}

// TestAMemberTellsItsLife: each record and each event is a line, in the order in which things are true.
func TestAMemberTellsItsLife(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.feed("1\n2\n3\n", "produce", "orders", "-p", "0")
	c.feed("4\n5\n", "produce", "orders", "-p", "1")
	f := c.follow("orders", "--group", "app", "--json")
	f.until("fifth record", func(l groupLine) bool { return l.Value == "5" })
	f.until("third record", func(l groupLine) bool { return l.Value == "3" })
	joined := f.until("generation", isEvent("joined"))
	if joined.Generation != 1 || joined.Protocol != "EAGER" || joined.Assignor != "cooperative-sticky" || joined.Leader == nil || !*joined.Leader || joined.Group != "app" || joined.Time.IsZero() {
		t.Errorf("%+v", joined.groupEvent)
	}
	if e := f.until("completion", isEvent("completed")); e.Protocol != "COOPERATIVE" || *e.Added != 2 {
		t.Errorf("%+v", e.groupEvent)
	}
	if e := f.until("assignment", isEvent("assigned")); e.Partitions.String() != "orders:0-1" {
		t.Errorf("%+v", e.groupEvent)
	}
	if code := f.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, f.err)
	}
	var order []string
	for _, l := range f.lines() {
		if slices.Contains([]string{"assigned", "", "committed", "revoked", "closed"}, l.Event) && (len(order) == 0 || order[len(order)-1] != l.Event) {
			order = append(order, l.Event)
		}
	}
	if !slices.Equal(order, []string{"assigned", "", "committed", "revoked", "closed"}) {
		t.Errorf("%q", order)
	}
	if last := f.lines()[len(f.lines())-1]; last.Records == nil || *last.Records != 5 {
		t.Errorf("%+v", last)
	}
	if got := c.committed("app"); got != 5 {
		t.Errorf("%d committed", got)
	}
	c.want(c.do("group", "list"), "app    Empty")
	c.feed(f.out.String(), "produce", "orders", "--input", "json") // its events are passed over
	if got := c.do("consume", "orders", "-e", "--from", "-5", "-p", "0"); got != "1\n2\n3\n1\n2\n" && len(strings.Fields(got)) != 5 {
		t.Errorf("%q", got)
	}
}

// TestMembersShareAndGoOn: two members split the partitions; when one leaves, the other has them all, and nothing is printed twice.
func TestMembersShareAndGoOn(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "4")
	c.feed("a\nb\nc\nd\n", "produce", "orders", "-p", "0")
	one := c.follow("orders", "--group", "app", "--json")
	one.until("assignment", func(l groupLine) bool { return l.Event == "assigned" && l.Partitions.Len() == 4 })
	two := c.follow("orders", "--group", "app", "--json", "--instance-id", "blue")
	gained := two.until("share", func(l groupLine) bool { return l.Event == "assigned" && l.Partitions.Len() == 2 })
	gave := one.until("share", func(l groupLine) bool { return l.Event == "revoked" })
	if gave.Partitions.String() != gained.Partitions.String() || gave.Time.After(gained.Time) {
		t.Errorf("gave %+v, gained %+v", gave.groupEvent, gained.groupEvent)
	}
	if code := one.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, one.err)
	}
	two.until("rest", func(l groupLine) bool {
		return l.Event == "assigned" && l.Generation > gained.Generation && l.Partitions.Len() == 2
	})
	for p := range 4 {
		c.feed("e\n", "produce", "orders", "-p", string(rune('0'+p)))
	}
	for p := range 4 {
		two.until("e", func(l groupLine) bool { return l.Value == "e" && l.Partition == int32(p) })
	}
	if code := two.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, two.err)
	}
	if got := strings.Join(slices.Concat(one.values(), two.values()), ""); len(got) != 8 || strings.Count(got, "e") != 4 {
		t.Errorf("%q", got)
	}
	c.want(c.do("group", "members", "app", "--verbose"), "blue") // static members do not leave
}

// TestAGroupIsReadInParts: --count commits what it printed and no more.
func TestAGroupIsReadInParts(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.feed("1\n2\n3\n4\n5\n", "produce", "orders", "-p", "0")
	c.feed("6\n7\n8\n9\n", "produce", "orders", "-p", "1")
	var got []string
	for _, n := range []string{"2", "3", "3"} {
		got = append(got, strings.Fields(c.do("consume", "orders", "--group", "app", "--count", n))...)
		if committed := c.committed("app"); committed != int64(len(got)) {
			t.Errorf("%d committed of %q", committed, got)
		}
	}
	got = append(got, strings.Fields(c.do("consume", "orders", "--group", "app", "--exit-at-end"))...)
	slices.Sort(got)
	if strings.Join(got, "") != "123456789" {
		t.Errorf("%q", got)
	}
	if got := c.do("consume", "orders", "--group", "app", "--exit-at-end"); got != "" {
		t.Errorf("%q again", got)
	}
	if got := c.do("consume", "orders", "--group", "late", "--from", "end", "--exit-at-end"); got != "" {
		t.Errorf("%q from the end", got)
	}
	if got := c.do("consume", "orders", "--group", "young", "--from", "-1h", "--count", "9"); len(strings.Fields(got)) != 9 {
		t.Errorf("%q of the last hour", got)
	}
}

// TestExitAtEndWaitsForTheWholeGroup: partitions of others count by what is committed.
func TestExitAtEndWaitsForTheWholeGroup(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	other := c.follow("orders", "--group", "app", "--json", "--commit-interval", "50ms")
	other.until("assignment", isEvent("assigned"))
	c.feed("1\n", "produce", "orders", "-p", "0")
	c.feed("2\n", "produce", "orders", "-p", "1")
	c.do("consume", "orders", "--group", "app", "--exit-at-end")
	if got := c.committed("app"); got != 2 {
		t.Errorf("%d committed", got)
	}
}

// TestAShortSessionAlone: the heartbeats follow the session, so that a broker that allows it lets the member in; one that does not says so.
func TestAShortSessionAlone(t *testing.T) {
	c := startClusterWith(t, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "500"}})
	c.do("topic", "create", "orders")
	c.feed("a\n", "produce", "orders")
	c.want(c.do("consume", "orders", "--group", "app", "--session-timeout", "1s", "--exit-at-end"), "a\n")
	c = startGroupCluster(t)
	c.do("topic", "create", "orders")
	c.want(c.fail(1, "", "consume", "orders", "--group", "app", "--session-timeout", "1s", "--exit-at-end"), "INVALID_SESSION_TIMEOUT")
}

// TestRefusedMembersAreToldBothLists: error 23.
func TestRefusedMembersAreToldBothLists(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders")
	c.member("app", "orders", "old", 0, kgo.Balancers(kgo.RoundRobinBalancer()))
	c.settled("app", 1)
	out := c.fail(1, "", "consume", "orders", "--group", "app", "--strict-assignors")
	c.want(out, "INCONSISTENT_GROUP_PROTOCOL", "it offers [cooperative-sticky, range], and the group runs roundrobin", "offers [roundrobin]", "skein group upgrade-check app")
	c.member("app", "orders", "old too", 0, kgo.Balancers(kgo.RoundRobinBalancer()))
	c.settled("app", 2)
	c.want(c.fail(1, "", "consume", "orders", "--group", "app", "--strict-assignors"), " offer [roundrobin]")

	f := c.follow("orders", "--group", "app", "--json") // adopts it
	if e := f.until("adoption", isEvent("adopted")); e.Assignor != "roundrobin" {
		t.Errorf("%+v", e.groupEvent)
	}
	if e := f.until("completion", isEvent("completed")); e.Protocol != "EAGER" || e.Assignor != "roundrobin" {
		t.Errorf("%+v", e.groupEvent)
	}
}

func TestFencedMembersSayWho(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders")
	one := c.follow("orders", "--group", "app", "--instance-id", "blue")
	c.settled("app", 1)
	two := c.follow("orders", "--group", "app", "--instance-id", "blue", "--json")
	two.until("generation", isEvent("joined"))
	if code := one.waits(); code != 1 || !strings.Contains(one.err.String(), `"blue"`) {
		t.Errorf("exit %d: %s", code, one.err)
	}
}

func TestGroupFlagsThatCannotBe(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders")
	for flags, want := range map[string]string{
		"--assignors range":                       "about a member of a group",
		"--group app --partition 0":               "drop one of them",
		"--group app --from 7":                    "reset-offsets",
		"--group app --from -7":                   "reset-offsets",
		"--group app --assignors cooperative":     `did you mean "cooperative-sticky"?`,
		"--group app --assignors nonsense":        "there is no assignor",
		"--group app --assignors range,range":     "range",
		"--group app --heartbeat-interval 1h":     "Heartbeat",
		"--group app --instance-id a/b":           "group.instance.id",
		"--group app --static-protocol --count 0": "at least 1",
	} {
		c.want(c.fail(2, "", append([]string{"consume", "orders"}, strings.Fields(flags)...)...), want)
	}
	c.want(c.fail(1, "", "consume", "ordres", "--group", "app"), `did you mean "orders"?`)
}

// TestAMemberSpeaksToPeople: without --json, events are notices.
func TestAMemberSpeaksToPeople(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.feed("1\n", "produce", "orders")
	s := c.shell("")
	if code := s.run(t.Context(), "consume", "orders", "--group", "app", "--count", "1"); code != 0 || s.stdout.String() != "1\n" {
		t.Errorf("exit %d: %q", code, s.stdout.String())
	}
	c.want(s.stderr.String(), "skein: member ", "of the group app, generation 1: cooperative-sticky, COOPERATIVE", "skein: assigned: orders:0-1", "skein: revoked: orders:0-1", "left the group app after 1 record")
}
