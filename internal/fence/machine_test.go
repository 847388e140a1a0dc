package fence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// play is a machine and what came of it, in words.
type play struct {
	t   *testing.T
	m   *Machine
	now time.Time
	log []string
}

func begins(t *testing.T, cfg Config) *play {
	return &play{t: t, m: New(cfg), now: time.Unix(1_700_000_000, 0)}
}

func (p *play) note(out Output) *play {
	for _, id := range out.Fence {
		p.log = append(p.log, "fence "+id)
	}
	for _, d := range out.Done {
		p.log = append(p.log, fmt.Sprintf("%s is fenced after %v", d.ID, d.Took))
	}
	for _, d := range out.GaveUp {
		p.log = append(p.log, fmt.Sprintf("%s is given up after %v", d.ID, d.Took))
	}
	if !out.Wake.IsZero() {
		p.log = append(p.log, fmt.Sprintf("wake in %v", out.Wake.Sub(p.now)))
	}
	return p
}

// roster is "present | missing".
func (p *play) roster(text string) *play {
	present, missing, _ := strings.Cut(text, "|")
	return p.note(p.m.Step(p.now, Roster{strings.Fields(present), strings.Fields(missing)}))
}

func (p *play) answer(id string, a Answer) *play { return p.note(p.m.Step(p.now, Answered{id, a})) }

func (p *play) passes(d time.Duration) *play {
	p.now = p.now.Add(d)
	return p.note(p.m.Tick(p.now))
}

func (p *play) did(want ...string) *play {
	p.t.Helper()
	if got := strings.Join(p.log, "\n"); got != strings.Join(want, "\n") {
		p.t.Fatalf("it did\n%s\ninstead of\n%s", got, strings.Join(want, "\n"))
	}
	p.log = nil
	return p
}

// Once, however often it is missed; and again when it was there in between.
func TestOnce(t *testing.T) {
	p := begins(t, Config{Self: "a"})
	p.roster("a b").did()
	p.roster("a | b").did("fence b")
	p.roster("a | b").did()
	p.answer("b", Fenced).did("b is fenced after 0s")
	p.roster("a | b").did()
	p.roster("a b").did()
	p.roster("a | b").did("fence b").answer("b", Fenced).did("b is fenced after 0s")
}

// What passes is tried again, with pauses that grow, until it has worked.
func TestPassing(t *testing.T) {
	p := begins(t, Config{}).roster("a | b").did("fence b")
	p.answer("b", Passing).did("wake in 20ms")
	p.passes(10 * time.Millisecond).did("wake in 10ms")
	p.passes(10*time.Millisecond).did("fence b").answer("b", Passing).did("wake in 40ms")
	p.passes(40*time.Millisecond).did("fence b").answer("b", Fenced).did("b is fenced after 60ms")
	p.passes(time.Hour).did()
}

// When its transaction has ended by itself there is no more need.
func TestPatience(t *testing.T) {
	p := begins(t, Config{Patience: time.Second}).roster("a | b").did("fence b")
	p.passes(time.Second).did().answer("b", Passing).did("b is given up after 1s")
	p.roster("a | b").passes(time.Hour).did()
	p = begins(t, Config{RetryMin: time.Second, RetryMax: 3 * time.Second, Patience: time.Hour}).roster("a | b")
	for _, wait := range []string{"1s", "2s", "3s", "3s"} {
		p.did("fence b").answer("b", Passing).did("wake in " + wait).passes(3 * time.Second)
	}
	for range 100 {
		p.log = nil
		p.answer("b", Passing).did("wake in 3s").passes(3 * time.Second)
	}
}

func TestRefused(t *testing.T) {
	p := begins(t, Config{}).roster("a | b").did("fence b")
	p.answer("b", Refused).did("b is given up after 0s").roster("a | b").did()
}

// Who comes back is left alone: it has another transaction by now.
func TestReturns(t *testing.T) {
	p := begins(t, Config{}).roster("a | b").did("fence b").answer("b", Passing).did("wake in 20ms")
	p.roster("a b").did().passes(time.Minute).did()
	p.roster("a | b").did("fence b").roster("a b").did() // while it is under way
	p.answer("b", Passing).did().passes(time.Minute).did()
	p.roster("a | b").did("fence b").roster("a b").roster("a | b").did() // and has gone again
	p.answer("b", Passing).did("wake in 20ms")
	p.answer("c", Fenced).answer("b", Fenced).did("wake in 20ms", "wake in 20ms") // nobody was asked for that
}

// The machine itself lives, whatever the roster says; and who is in both lists does, too.
func TestNeverTheLiving(t *testing.T) {
	begins(t, Config{Self: "a"}).roster("b | a b").did()
}

// A whole part of a group that is gone does not come down on the broker at once.
func TestAtOnce(t *testing.T) {
	p := begins(t, Config{AtOnce: 2}).roster("a | b c d e").did("fence b", "fence c")
	p.answer("c", Passing).did("fence d")
	p.answer("b", Fenced).did("fence e", "b is fenced after 0s")
	p.answer("d", Fenced).did("d is fenced after 0s", "wake in 20ms")
	p.passes(20 * time.Millisecond).did("fence c")
}

func TestNames(t *testing.T) {
	secret := make([]byte, Secret)
	if got, want := Name("g", secret), "g-"+strings.Repeat("00", Secret); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, other := range [][]byte{nil, {}, {0}, {named}, secret[1:], append(secret, 0), append([]byte{named}, secret...), []byte("payments-1"), []byte("payments-1-and-on")} {
		if got := Name("g", other); got != "" {
			t.Errorf("%q is the name of %q", got, other)
		}
	}
}

// What is published of an id is found again, or is nobody's: no length of a name has it taken for a secret, or for another name.
func TestNamesThatWereChosen(t *testing.T) {
	for n := 1; n <= 63; n++ {
		id := Named("g", strings.Repeat("n", n))
		if got := Name("g", Publish("g", id)); got != id {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	for _, id := range []string{"", "g", "g-", "h-n", "gn", "n", "g-n\x00", "g-" + strings.Repeat("n", 64)} {
		if p := Publish("g", id); len(p) != 1 || Name("g", p) != "" {
			t.Errorf("%q: %x, which is %q", id, p, Name("g", p))
		}
	}
}

// TestAnyOrder: whatever rosters and answers come in, nobody is fenced who was present in the last roster, nor twice at a time, nor again after it was
// fenced unless it was present in between; and whoever is missed and never comes back is fenced, or given up.
func TestAnyOrder(t *testing.T) {
	ids := []string{"b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		c := checked{T: t, m: New(Config{Self: "a", AtOnce: 2, Patience: 2 * time.Second}), now: time.Unix(0, 0), under: map[string]bool{}, over: map[string]bool{}, needed: map[string]bool{}}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				c.roster(ids)
			case 1:
				c.answer(rapid.SampledFrom([]Answer{Fenced, Passing, Refused}).Draw(t, "answer"))
			default:
				c.now = c.now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * time.Millisecond)
				c.check(c.m.Tick(c.now))
			}
		}
		for range 100 {
			c.answer(Passing)
			c.now = c.now.Add(100 * time.Millisecond)
			c.check(c.m.Tick(c.now))
		}
		for _, id := range c.missing {
			if !c.over[id] {
				t.Fatalf("%s is missed for ever", id)
			}
		}
	})
}

type checked struct {
	*rapid.T
	m                *Machine
	now              time.Time
	present, missing []string
	// under way, over, and missed since it was last present
	under, over, needed map[string]bool
}

func (c *checked) roster(ids []string) {
	c.present, c.missing = []string{"a"}, nil
	for _, id := range ids {
		switch rapid.IntRange(0, 2).Draw(c.T, id) {
		case 0:
			c.present = append(c.present, id)
			delete(c.over, id)
			c.needed[id] = false
		case 1:
			c.missing = append(c.missing, id)
			c.needed[id] = true
		default: // nobody knows it any more
			delete(c.over, id)
		}
	}
	c.check(c.m.Step(c.now, Roster{c.present, c.missing}))
}

func (c *checked) answer(a Answer) {
	for _, id := range []string{"b", "c", "d", "e"} {
		if c.under[id] {
			delete(c.under, id)
			c.check(c.m.Step(c.now, Answered{id, a}))
			return
		}
	}
}

func (c *checked) check(out Output) {
	for _, id := range out.Fence {
		if slices.Contains(c.present, id) || c.under[id] || c.over[id] {
			c.Fatalf("%s is fenced: present %v, under way %t, over %t", id, c.present, c.under[id], c.over[id])
		}
		c.under[id] = true
	}
	if len(c.under) > 2 {
		c.Fatalf("%d at once", len(c.under))
	}
	for _, d := range append(out.Done, out.GaveUp...) {
		c.over[d.ID] = c.needed[d.ID]
	}
}
