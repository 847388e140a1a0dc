package groupsim

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/simulation"
)

// sweep runs seeds one after the other, two at a time, and says which rows they came through. What fails is shrunk and shown.
func sweep(t *testing.T, from, count uint64, progress func(done uint64)) map[string]int {
	var (
		mu     sync.Mutex
		rows   = map[string]int{}
		next   atomic.Uint64
		failed atomic.Int64
		work   sync.WaitGroup
	)
	for range 2 {
		work.Go(func() {
			for n := next.Add(1) - 1; n < count && failed.Load() < 3; n = next.Add(1) - 1 {
				s := Plan(from + n)
				r := Run(s, false)
				if len(r.Violations) > 0 {
					failed.Add(1)
					show(t, s, r)
				}
				mu.Lock()
				r.Count(rows)
				progress(n + 1)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return rows
}

// show makes a failing script as short as it gets, and prints it with what happens in it.
func show(t *testing.T, s *Script, r *Result) {
	kind := r.Violations[0].Kind
	small := Shrink(s, func(c *Script) bool {
		v := Run(c, false).Violations
		return len(v) > 0 && v[0].Kind == kind
	})
	t.Errorf("seed %d: %v\nput this into testdata to play it again:\n\n%s\n%s", s.Seed, r.Violations[0], small, Run(small, true).Trace)
}

// seeds is how many there are where nobody asks for more.
func seeds() uint64 {
	switch {
	case raced:
		return 150
	case testing.Short():
		return 300
	}
	return 3000
}

// Nothing that must hold is broken, whatever happens to a group, and every row of R-C.3 comes up. SKEIN_SIM_SEEDS asks for more
// seeds, SKEIN_SIM_FROM for others: what is reached is told as it goes, so that one can go on from there.
func TestGroups(t *testing.T) {
	count, from := seeds(), uint64(1)
	if text := os.Getenv("SKEIN_SIM_FROM"); text != "" {
		from = number(t, text)
	}
	long := os.Getenv("SKEIN_SIM_SEEDS")
	if long != "" {
		count = number(t, long)
	}
	began := time.Now()
	rows := sweep(t, from, count, func(done uint64) {
		if long != "" && done%1000 == 0 {
			t.Logf("%d seeds in %v; go on with SKEIN_SIM_FROM=%d", done, time.Since(began).Round(time.Second), from+done)
		}
	})
	t.Logf("rows: %v", rows)
	if missed := Missed(rows); len(missed) > 0 && count >= 3000 { // fewer may leave a rare one out; each has a script, too
		t.Errorf("no run came through %v", missed)
	}
}

func number(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Two runs of one script are the same to the last message, and so is one of the script as text.
func TestReplay(t *testing.T) {
	for seed := range uint64(40) {
		s := Plan(seed)
		again, err := Parse(s.String())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := Run(s, true), Run(again, true); a.Trace != b.Trace {
			t.Fatalf("seed %d is not the same again", seed)
		}
	}
}

// Who is bounced in peace commits what it has done, and nothing is read twice: neither by old members nor by ours, on either
// broker, whatever the protocol. But who is closed in the middle of a round has lost what it owns (R-B17).
func TestCleanBouncesReadNothingTwice(t *testing.T) {
	clean := 0
	for seed := range uint64(60) {
		p := &planner{d: simulation.NewDice(seed, "clean"), s: &Script{Script: simulation.Script{Seed: seed, Broker: []string{"skein", "kafka"}[seed%2], Topics: []simulation.Topic{{Name: "t", Partitions: 6}}}}}
		[]func(*planner){upgrades, twoBounces, orders}[seed%3](p)
		for i := range p.s.Lines {
			if w := p.s.Lines[i].Words; w[0] == "kill" {
				w[0] = "bounce"
			}
		}
		p.s.Lines = slices.DeleteFunc(p.s.Lines, func(l simulation.Line) bool { return l.Words[0] == "failover" })
		p.s.Calm = p.now
		r := Run(p.s, false)
		if r.Lost > 0 {
			continue
		}
		clean++
		if r.Twice > 0 || len(r.Violations) > 0 || r.Processed == 0 {
			t.Errorf("%d of %d records are read again, %v\n%s\n%s", r.Twice, r.Processed, r.Violations, p.s, Run(p.s, true).Trace)
			return
		}
	}
	if clean < 30 {
		t.Errorf("only %d of 60 runs tell anything", clean)
	}
}

// TestSeed shows the run of SKEIN_SIM_SEED.
func TestSeed(t *testing.T) {
	text := os.Getenv("SKEIN_SIM_SEED")
	if text == "" {
		t.Skip("SKEIN_SIM_SEED names no seed")
	}
	s := Plan(number(t, text))
	r := Run(s, true)
	t.Logf("%s\n%s", s, r.Trace)
	if len(r.Violations) > 0 {
		t.Error(r.Violations[0])
	}
}
