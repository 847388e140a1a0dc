package simulation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// A request ends once, by an answer or an error, and some arrive more than once, or never.
func TestRequestsEndOnce(t *testing.T) {
	c := NewClock(false)
	n := &Network{Clock: c, Dice: NewDice(1, "network"), Lost: 200, Twice: 200, LateOnes: 200}
	l := n.Live()
	const requests = 500
	var arrived, ended [requests]int
	answers := 0
	for i := range requests {
		n.Send(l, 5*time.Second, func(_ time.Duration, answer func(any)) {
			arrived[i]++
			answer(i)
		}, func(resp any, err error) {
			ended[i]++
			switch {
			case err == nil && resp == any(i):
				answers++
			case !errors.Is(err, ErrNoAnswer):
				t.Errorf("request %d ends with %v, %v", i, resp, err)
			}
		})
	}
	for c.Next() {
	}
	if i := slices.IndexFunc(ended[:], func(n int) bool { return n != 1 }); i >= 0 {
		t.Errorf("request %d ends %d times", i, ended[i])
	}
	if answers == 0 || answers == requests || !slices.Contains(arrived[:], 0) || !slices.Contains(arrived[:], 2) {
		t.Errorf("%d of %d are answered, %v", answers, requests, arrived)
	}
}

// When it is calm every request is answered.
func TestCalm(t *testing.T) {
	c := NewClock(false)
	n := &Network{Clock: c, Dice: NewDice(1, "network"), Lost: 1000, Twice: 1000, LateOnes: 1000, Calm: true}
	l := n.Live()
	answered := 0
	for range 100 {
		n.Send(l, 5*time.Second, func(_ time.Duration, answer func(any)) { answer(nil) }, func(_ any, err error) {
			if err == nil {
				answered++
			}
		})
	}
	for c.Next() {
	}
	if answered != 100 {
		t.Errorf("%d of 100 are answered", answered)
	}
}

// A process that stands still does all of it later, in order; one that has ended does nothing.
func TestLives(t *testing.T) {
	c := NewClock(false)
	n := &Network{Clock: c, Dice: NewDice(1, "network")}
	var done []string
	say := func(what string) func() { return func() { done = append(done, what) } }
	a, b := n.Live(), n.Live()
	a.Later(time.Second, say("one"))
	a.Later(2*time.Second, say("two"))
	a.Freeze(3*time.Second, say("thaws"))
	a.Later(4*time.Second, say("four"))
	b.Later(time.Second, say("never"))
	b.Later(500*time.Millisecond, b.End)
	for c.Next() {
	}
	if want := []string{"thaws", "one", "two", "four"}; !slices.Equal(done, want) {
		t.Errorf("%v, want %v", done, want)
	}
	if b.Lives() || !b.Died().Equal(c.Start.Add(500*time.Millisecond)) {
		t.Error("it lives on")
	}
}

// counter is a machine that counts its inputs.
type counter struct{ n byte }

func (m *counter) Step(_ time.Time, caller machine.Token, in any) machine.Output {
	out := machine.Output{Replies: []machine.Reply{{To: caller, Value: int(m.n) + 1}}}
	out.Records = []machine.Record{{Key: []byte{m.n + 1}}}
	if in == "marked" {
		out.Group = []machine.Write{{Topic: "t"}}
	}
	return out
}

func (m *counter) Tick(time.Time) machine.Output   { return machine.Output{} }
func (m *counter) Apply(r machine.Record)          { m.n = r.Key[0] }
func (m *counter) Loaded(time.Time) machine.Output { return machine.Output{} }

func counting(c *Clock, durable *[]byte, lend func([]machine.Write) func(bool)) *Coordinator {
	d := NewDice(1, "disk")
	m := &Coordinator{
		Clock: c, Dice: d, Disk: NewDisk(c, d), New: func() machine.Machine { return &counter{} }, Lend: lend,
		Durable: func(r machine.Record) { *durable = append(*durable, r.Key[0]) },
	}
	m.Begin()
	return m
}

// What a coordinator has decided is told when it is durable, and lost with the coordinator before; the next one goes on behind what was told.
func TestCoordinatorsForgetWhatIsNotDurable(t *testing.T) {
	c := NewClock(false)
	n := &Network{Clock: c, Dice: NewDice(1, "network")}
	l := n.Live()
	var durable []byte
	var told []int
	var lent []bool
	m := counting(c, &durable, func([]machine.Write) func(bool) { return func(written bool) { lent = append(lent, written) } })
	ask := func(in any) { m.Ask(l, in, func(value any) { told = append(told, value.(int)) }) }
	ask(nil)
	c.After(time.Second, func() {
		ask("marked")
		if !m.Fail() || m.Fail() {
			t.Error("it fails once")
		}
	})
	c.After(10*time.Second, func() { ask("marked") })
	for c.Next() {
	}
	if want := []int{1, 2}; !slices.Equal(told, want) || !slices.Equal(durable, []byte{1, 2}) {
		t.Errorf("told %v, want %v; durable are %v", told, want, durable)
	}
	if want := []bool{false, true}; !slices.Equal(lent, want) {
		t.Errorf("lent batches were written %v, want %v", lent, want)
	}
}

// Who is held hears nothing, and then all of it.
func TestHold(t *testing.T) {
	c := NewClock(false)
	var durable []byte
	m := counting(c, &durable, nil)
	m.Hold()
	for range 3 {
		m.Ask(nil, nil, func(any) {})
	}
	c.After(time.Second, func() {
		if len(durable) > 0 {
			t.Errorf("%v while it is held", durable)
		}
		m.Append(machine.Record{Key: []byte{7}})
		m.Release()
	})
	for c.Next() {
	}
	if want := []byte{7, 8, 9, 10}; !slices.Equal(durable, want) {
		t.Errorf("durable are %v, want %v", durable, want)
	}
}

// Shrink leaves what is needed.
func TestShrink(t *testing.T) {
	smaller := func(s []int) (list [][]int) {
		for i := range s {
			list = append(list, slices.Delete(slices.Clone(s), i, i+1))
		}
		return list
	}
	got := Shrink([]int{1, 2, 3, 4, 5}, smaller, func(s []int) bool { return slices.Contains(s, 2) && slices.Contains(s, 5) })
	if !slices.Equal(got, []int{2, 5}) {
		t.Errorf("%v", got)
	}
}
