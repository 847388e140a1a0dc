package transaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// answers gives each act an answer, in turn; what is not named is answered well.
type answers map[Act][]Answer

// plays makes a call and lists the acts that it asks for.
func plays(m *Machine, call func() error, given answers) (acts []string, err error) {
	if err := call(); err != nil {
		return nil, err
	}
	for {
		s := m.Step()
		if s.Act == Return {
			return acts, s.Err
		}
		acts = append(acts, words(s))
		a := Answer{ID: 7, Epoch: 1, Version: s.Version}
		if queue := given[s.Act]; len(queue) > 0 {
			a, given[s.Act] = queue[0], queue[1:]
		}
		m.Answer(a)
	}
}

func words(s Step) string {
	names := []string{"return", "load", "open", "drain", "discard", "add-offsets", "commit-offsets", "end", "end-by-hand", "look", "fence", "renew", "pause"}
	w := names[s.Act]
	if s.Act == End || s.Act == EndByHand {
		w += map[bool]string{true: "(commit)", false: "(abort)"}[s.Commit]
	}
	if s.Version > 0 {
		w += fmt.Sprintf(" v%d", s.Version)
	}
	return w
}

func begun(t *testing.T, implicit bool, records int, offsets bool) *Machine {
	t.Helper()
	m := New()
	if _, err := plays(m, m.Begin, answers{Load: {{ID: 7, Epoch: 1, Implicit: implicit}}}); err != nil {
		t.Fatal(err)
	}
	for range records {
		if err := m.Send(); err != nil {
			t.Fatal(err)
		}
	}
	if offsets {
		g := Group{Name: "g", Generation: 3, Member: "m", Offsets: map[Partition]Offset{{Topic: "in"}: {At: 5}}}
		if err := m.Offsets(g); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// R-F2: what is sent, in which order, and that nothing is sent for nothing.
func TestWhatACommitSends(t *testing.T) {
	for _, c := range []struct {
		implicit bool
		records  int
		offsets  bool
		want     string
	}{
		{false, 0, false, "drain, end(commit)"},
		{false, 1, false, "drain, load, end(commit)"},
		{false, 1, true, "drain, load, add-offsets, commit-offsets v4, end(commit)"},
		{true, 1, true, "drain, load, commit-offsets v5, end(commit)"},
		{false, 0, true, "drain, load, add-offsets, commit-offsets v4, end-by-hand(commit) v4, end(commit)"},
		{true, 0, true, "drain, load, add-offsets, commit-offsets v4, end-by-hand(commit) v4, end(commit)"},
	} {
		m := begun(t, c.implicit, c.records, c.offsets)
		acts, err := plays(m, m.Commit, answers{})
		if got := strings.Join(acts, ", "); got != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// R-F1: from each state, what may be called.
func TestWhatMayBeCalled(t *testing.T) {
	lost := Answer{Err: errors.New("gone"), Over: true}
	states := map[string]func() *Machine{
		"ready": func() *Machine { m := New(); m.id = 7; return m },
		"open":  func() *Machine { return begun(t, true, 1, true) },
		"spoilt": func() *Machine {
			m := begun(t, true, 1, true)
			m.Failed(kerr.TopicAuthorizationFailed)
			return m
		},
		"undecided": func() *Machine {
			m := begun(t, true, 1, true)
			_, _ = plays(m, m.Commit, answers{End: {lost}})
			return m
		},
		"aborting": func() *Machine {
			m := begun(t, true, 1, true)
			_, _ = plays(m, m.Abort, answers{Discard: {lost}})
			return m
		},
		"ended": func() *Machine {
			m := begun(t, true, 1, true)
			_, _ = plays(m, m.Commit, answers{End: {{Err: kerr.ProducerFenced}}})
			return m
		},
		"fatal": func() *Machine {
			m := begun(t, true, 1, true)
			m.Failed(kerr.ClusterAuthorizationFailed)
			return m
		},
	}
	calls := map[string]func(*Machine) error{
		"Begin":  func(m *Machine) error { return m.Begin() },
		"Send":   func(m *Machine) error { return m.Send() },
		"Commit": func(m *Machine) error { return m.Commit() },
		"Abort":  func(m *Machine) error { return m.Abort() },
		"Offsets": func(m *Machine) error {
			return m.Offsets(Group{Name: "g", Unfenced: true, Offsets: map[Partition]Offset{{Topic: "in"}: {}}})
		},
	}
	want := map[string]map[string]Class{
		"ready":     {"Begin": 0, "Send": Illegal, "Commit": Illegal, "Abort": 0, "Offsets": Illegal},
		"open":      {"Begin": Illegal, "Send": 0, "Commit": 0, "Abort": 0, "Offsets": 0},
		"spoilt":    {"Begin": Illegal, "Send": AbortAndContinue, "Commit": AbortAndContinue, "Abort": 0, "Offsets": AbortAndContinue},
		"undecided": {"Begin": Illegal, "Send": Illegal, "Commit": 0, "Abort": Illegal, "Offsets": Illegal},
		"aborting":  {"Begin": Illegal, "Send": Illegal, "Commit": Illegal, "Abort": 0, "Offsets": Illegal},
		"ended":     {"Begin": Illegal, "Send": AbortAndContinue, "Commit": AbortAndContinue, "Abort": 0, "Offsets": AbortAndContinue},
		"fatal":     {"Begin": Fatal, "Send": Fatal, "Commit": Fatal, "Abort": Fatal, "Offsets": Fatal},
	}
	for state, make := range states {
		for name, call := range calls {
			var got Class
			err := call(make())
			if e, failed := errors.AsType[*Error](err); failed {
				got = e.Class
			}
			if got != want[state][name] {
				t.Errorf("%s when %s: %v, not %v (%v)", name, state, got, want[state][name], err)
			}
		}
	}
}

// What a record was refused for does not stop what a call is doing: it is told by the call.
func TestARecordFailsWhileCommitWaits(t *testing.T) {
	for err, class := range map[error]Class{kerr.MessageTooLarge: AbortAndContinue, kerr.InvalidTxnState: Fatal} {
		m := begun(t, true, 1, false)
		if err := m.Commit(); err != nil || m.Step().Act != Drain {
			t.Fatalf("it does %+v, %v", m.Step(), err)
		}
		m.Failed(err)
		m.Answer(Answer{})
		got, _ := errors.AsType[*Error](m.Step().Err)
		if m.Step().Act != Return || got.Class != class || !errors.Is(got, err) {
			t.Errorf("after %v: %+v", err, m.Step())
		}
	}
}

// Pauses grow to a second, and what was answered before the caller has gone is told.
func TestPauses(t *testing.T) {
	m := begun(t, false, 1, true)
	if err := m.Commit(); err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	for len(pauses) < 9 {
		switch s := m.Step(); s.Act {
		case AddOffsets:
			m.Answer(Answer{Err: kerr.ConcurrentTransactions})
		case Pause:
			pauses = append(pauses, s.Wait)
			m.Answer(Answer{})
		default:
			m.Answer(Answer{ID: 7, Epoch: 1})
		}
	}
	if pauses[0] != 20*time.Millisecond || pauses[8] != time.Second || !slices.IsSorted(pauses) {
		t.Errorf("it pauses for %v", pauses)
	}
	m.Answer(Answer{Err: errors.New("no more time"), Over: true})
	if err := m.Step().Err; !errors.Is(err, kerr.ConcurrentTransactions) || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("it says %v", err)
	}
}

// Every error says what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  *Error
		says string
	}{
		{&Error{"committing", Retriable, cause}, "committing: cause: call it again"},
		{&Error{"committing", AbortAndContinue, cause}, "committing: cause: abort, go back to the committed offsets, and begin another transaction"},
		{&Error{"committing", Fatal, cause}, "committing: cause: close this producer, make another, and go back to the committed offsets"},
		{&Error{"committing", Fatal, ErrFenced}, "give each its own; else close this producer, make another, and go back to the committed offsets"},
		{&Error{"committing", Illegal, errNotOpen}, "committing: no transaction is open: Begin one first"},
		{&Error{"committing", AbortAndContinue, ErrGroupMoved}, "send the offsets again with the group metadata of now and commit again, else abort"},
		{&Error{"beginning", Fatal, ErrCannotFence}, "upgrade the brokers to Kafka 2.5"},
	} {
		if got := c.err.Error(); !strings.Contains(got, c.says) {
			t.Errorf("%q does not say %q", got, c.says)
		}
	}
	for class, word := range map[Class]string{Retriable: "retriable", AbortAndContinue: "abort and continue", Fatal: "fatal", Illegal: "illegal", 0: "none"} {
		if class.String() != word {
			t.Errorf("%d is %q", class, class)
		}
	}
}
