package eossim

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tally is what many runs were about.
type tally struct {
	mu sync.Mutex
	Counts
}

func (t *tally) add(c Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range [][2]*int{
		{&t.Effects, &c.Effects}, {&t.Letters, &c.Letters}, {&t.Generations, &c.Generations}, {&t.Committed, &c.Committed}, {&t.Aborted, &c.Aborted},
		{&t.Unknown, &c.Unknown}, {&t.Moved, &c.Moved}, {&t.Lost, &c.Lost}, {&t.Refused, &c.Refused}, {&t.Late, &c.Late},
		{&t.Fenced, &c.Fenced}, {&t.Died, &c.Died},
	} {
		*p[0] += *p[1]
	}
}

// sweep runs seeds one after the other, two at a time. What fails is shrunk and shown.
func sweep(t *testing.T, plan func(uint64) *Script, from, count uint64, progress func(done uint64)) *tally {
	var (
		all    tally
		next   atomic.Uint64
		failed atomic.Int64
		both   sync.WaitGroup
	)
	for range 2 {
		both.Go(func() {
			for n := next.Add(1) - 1; n < count && failed.Load() < 3; n = next.Add(1) - 1 {
				s := plan(from + n)
				r := Run(s, false)
				if len(r.Violations) > 0 {
					failed.Add(1)
					show(t, s, r)
				}
				all.add(r.Counts)
				progress(n + 1)
			}
		})
	}
	both.Wait()
	return &all
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
		return 100
	case testing.Short():
		return 300
	}
	return 1500
}

// Whatever happens, each input has its effect once. SKEIN_SIM_SEEDS asks for more seeds, SKEIN_SIM_FROM for others: what is reached
// is told as it goes, so that one can go on from there.
func TestExactlyOnce(t *testing.T) {
	count, from := seeds(), uint64(1)
	if text := os.Getenv("SKEIN_SIM_FROM"); text != "" {
		from = number(t, text)
	}
	long := os.Getenv("SKEIN_SIM_SEEDS")
	if long != "" {
		count = number(t, long)
	}
	began := time.Now()
	all := sweep(t, Plan, from, count, func(done uint64) {
		if long != "" && done%1000 == 0 {
			fmt.Fprintf(os.Stderr, "%d seeds in %v; go on with SKEIN_SIM_FROM=%d\n", done, time.Since(began).Round(time.Second), from+done)
		}
	})
	t.Logf("%+v", all.Counts)
	if c := all.Counts; count >= 1500 && (c.Letters == 0 || c.Aborted == 0 || c.Unknown == 0 || c.Moved == 0 || c.Lost == 0 || c.Late == 0 || c.Fenced == 0) {
		t.Error("no run came through one of these")
	}
}

// Members die for good, also those that lead, with transactions open that nobody but a survivor ends: readers wait for no longer than it takes the
// group to go on without them (R-F8).
func TestDeaths(t *testing.T) {
	all := sweep(t, Deaths, 1, seeds()/5, func(uint64) {})
	t.Logf("%+v", all.Counts)
	if all.Died < int(seeds()/100) {
		t.Errorf("only %d had a transaction open", all.Died)
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
	for seed := range uint64(30) {
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
