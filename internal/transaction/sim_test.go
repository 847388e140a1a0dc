package transaction

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// shell does what the machine says, on the model.
type shell struct {
	t        *rapid.T
	m        *Machine
	c        *coordinator
	n        *network
	l        *library
	implicit bool
	hurried  bool // callers go before the answer is there, now and then
}

var errOver = errors.New("the caller has gone")

func (s *shell) call(begin func() error) error {
	if err := begin(); err != nil {
		return err
	}
	for range 10_000 {
		step := s.m.Step()
		if step.Act == Return {
			return step.Err
		}
		a := s.act(step)
		if s.hurried && a.Err != nil && rapid.IntRange(0, 3).Draw(s.t, "goes") == 0 {
			a.Err, a.Over = errOver, true
		}
		s.m.Answer(a)
		if s.n.bad {
			s.happens()
		}
	}
	s.t.Fatalf("a call has no end; it asks for %+v", s.m.Step())
	return nil
}

// happens is what happens beside.
func (s *shell) happens() {
	switch rapid.IntRange(0, 11).Draw(s.t, "event") {
	case 0:
		s.n.arrives()
	case 1:
		if rapid.IntRange(0, 3).Draw(s.t, "slow") == 0 {
			s.c.timesOut()
		}
	case 2:
		if s.l.bad == nil && !slices.Contains([]Act{Fence, Renew}, s.m.Step().Act) && rapid.IntRange(0, 9).Draw(s.t, "taken") == 0 {
			s.c.isTaken()
		}
	}
}

func (s *shell) act(step Step) (a Answer) {
	switch step.Act {
	case Load:
		a.Epoch, a.Err = s.l.load()
		a.Implicit = s.implicit
	case Open:
		s.l.inTxn, s.l.produced, s.l.added = true, false, false
	case End:
		a.Err = s.l.end(step.Commit)
	case Renew:
		s.l = newLibrary(s.c, s.n, s.implicit)
	case Pause:
		if s.hurried && rapid.IntRange(0, 9).Draw(s.t, "impatient") == 0 {
			return Answer{Err: errOver, Over: true}
		}
	case Look:
		a.Ongoing, a.Epoch = s.c.phase == ongoing, s.c.epoch
		if s.n.bad && rapid.IntRange(0, 5).Draw(s.t, "blind") == 0 {
			a = Answer{Err: errLost}
		}
	case AddOffsets, CommitOffsets, EndByHand, Fence:
		a = s.byHand(step)
	}
	return a
}

func (s *shell) byHand(step Step) Answer {
	var err error
	a := Answer{Version: explicit}
	if !s.n.sends(func() { err = s.request(step) }) {
		return Answer{Err: errLost}
	}
	if step.Act == CommitOffsets && err != nil {
		a.Refused = []error{err}
		return a
	}
	a.Err = err
	return a
}

func (s *shell) request(step Step) error {
	switch step.Act {
	case AddOffsets:
		return s.c.addOffsets(step.Epoch)
	case CommitOffsets:
		return s.c.commitOffsets(step.Epoch, int(step.Group.Offsets[Partition{Topic: "in"}].At), step.Version)
	case Fence:
		_, err := s.c.initialise(step.Epoch)
		return err
	}
	_, err := s.c.endTxn(step.Epoch, step.Commit, step.Version)
	return err
}

// outcome of a transaction, as the user was told.
type outcome uint8

const (
	isAborted outcome = iota
	isCommitted
	isUnknown
)

// told is a transaction and what has become of it.
type told struct {
	records []int
	offset  int
	outcome outcome
}

// run lives through one transaction, and says whether the producer goes on.
func (s *shell) run(x *told, record *int) bool {
	if err := s.until(s.m.Begin); err != nil {
		return s.dead(err)
	}
	for range rapid.IntRange(0, 2).Draw(s.t, "records") {
		if s.m.Send() != nil {
			break
		}
		*record++
		x.records = append(x.records, *record)
		if err := s.l.produce(*record); err != nil {
			s.m.Failed(err)
		}
		s.happens()
	}
	if rapid.Bool().Draw(s.t, "offsets") {
		*record++
		x.offset = *record
		g := Group{Name: "g", Generation: 1, Member: "m", Offsets: map[Partition]Offset{{Topic: "in"}: {At: int64(x.offset)}}}
		_ = s.m.Offsets(g) // refused after a failure
	}
	if rapid.IntRange(0, 4).Draw(s.t, "abort") == 0 {
		return s.dead(s.until(s.m.Abort))
	}
	return s.commits(x)
}

func (s *shell) commits(x *told) bool {
	err := s.until(s.m.Commit)
	switch e, _ := errors.AsType[*Error](err); {
	case err == nil:
		x.outcome = isCommitted
		return true
	case e.Class == AbortAndContinue:
		return s.dead(s.until(s.m.Abort))
	case errors.Is(err, ErrOutcomeUnknown):
		x.outcome = isUnknown
	}
	return s.dead(err)
}

// until makes a call again as long as it may be.
func (s *shell) until(call func() error) error {
	for n := range 1000 {
		if n > 20 {
			s.n.bad, s.hurried = false, false
		}
		err := s.call(call)
		e, failed := errors.AsType[*Error](err)
		if !failed || e.Class != Retriable {
			return err
		}
	}
	s.t.Fatal("it is tried again without end")
	return nil
}

// dead checks that a producer ends only when another has come, or when it cannot tell what has become of a commit.
func (s *shell) dead(err error) bool {
	if err == nil {
		return true
	}
	unknown := s.c.impatient && errors.Is(err, ErrOutcomeUnknown)
	if e, _ := errors.AsType[*Error](err); e.Class != Fatal || !s.c.outsider && !unknown {
		s.t.Fatalf("without anybody else, %v", err)
	}
	return false
}

// TestTransactionsAreWholeOrNothing: whatever a network does that loses, repeats and delays, and a coordinator that loses its patience, what the user
// is told of a transaction is what becomes of it, of all its records and offsets, and stays so when everything has arrived.
func TestTransactionsAreWholeOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &coordinator{t: t, last: -1, visible: map[int]int{}}
		n := &network{t: t, c: c}
		implicit := rapid.Bool().Draw(t, "KIP-890")
		upgraded := rapid.IntRange(0, 3).Draw(t, "upgraded") == 0 // the library has seen that the cluster has KIP-890 now
		s := &shell{t: t, m: New(), c: c, n: n, l: newLibrary(c, n, implicit), implicit: implicit && !upgraded}
		var all []told
		var record int
		for range rapid.IntRange(1, 8).Draw(t, "transactions") {
			n.bad, s.hurried = rapid.Bool().Draw(t, "bad"), rapid.Bool().Draw(t, "hurried")
			var x told
			goesOn := s.run(&x, &record)
			all = append(all, x)
			if !goesOn {
				break
			}
		}
		c.isLeftAlone()
		for len(n.late) > 0 {
			n.arrives()
		}
		c.timesOut()
		judge(t, c, all)
	})
}

func judge(t *rapid.T, c *coordinator, all []told) {
	offsets := map[int]bool{}
	before := 0
	for _, o := range c.history {
		offsets[o] = true
		if o < before {
			t.Fatalf("the offset went back from %d to %d", before, o)
		}
		before = o
	}
	for i, x := range all {
		seen := 0
		for _, r := range x.records {
			if c.visible[r] > 1 {
				t.Fatalf("transaction %d: record %d is there %d times", i, r, c.visible[r])
			}
			seen += c.visible[r]
		}
		whole := seen == len(x.records) && (x.offset == 0 || offsets[x.offset])
		nothing := seen == 0 && !offsets[x.offset]
		if x.outcome == isCommitted && !whole || x.outcome == isAborted && !nothing || !whole && !nothing {
			t.Fatalf("transaction %d of %d: %+v, but visible are %v, and offsets %v", i, len(all), x, c.visible, c.history)
		}
	}
}
