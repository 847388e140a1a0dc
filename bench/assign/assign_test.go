package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
)

// Scenarios of up to 30,000 partitions are planned here and now, and the plans
// are proven; how long that takes is none of a test's business.
func TestSmallScenariosArePlanned(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenarios() {
		if names[s.name] {
			t.Errorf("two scenarios are called %q", s.name)
		}
		names[s.name] = true
		if strings.Contains(s.name, "000x") || strings.Contains(s.name, "1M") {
			continue
		}
		g := s.make()
		x := skeinPlan(g, how{})
		if x.Err != "" || x.Calls == 0 || x.Allocated < x.Output {
			t.Fatalf("%s: %+v", s.name, x)
		}
		if err := assign.Verify(g.input(), g.plan(x.Owner), assign.Options{}); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

func row2(name string, partitions int, ours, theirs sample) row {
	return row{Scenario: name, Partitions: partitions, Samples: map[string]sample{
		"skein": ours, "skein map": ours, "skein bytes": ours, "map alone": ours, "franz-go": theirs, "franz-go bytes": theirs, "java client": theirs, "java server": theirs, "sarama": theirs,
	}}
}

// Rows in which a peer is ahead come first, and what is below its bar is bold.
func TestRowsWherePeersAreAheadComeFirst(t *testing.T) {
	ms := func(n int) sample {
		return sample{Best: time.Duration(n) * time.Millisecond, First: time.Duration(2*n) * time.Millisecond}
	}
	slow := sample{Err: tooSlow, Best: time.Minute}
	var b bytes.Buffer
	ratioTable(&b, []row{row2("zipf, leave", 200_000, ms(1), slow), row2("equal 10x100, join", 100, ms(2), ms(1)), row2("equal 100x1k, join", 1000, ms(2), ms(4))})
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		"| equal 10x100, join | **0.50 (0.50)** of 1.5 | 0.50 (0.50) | 0.50 (0.50) | **0.50 (0.50)** of 5 | **0.50 (0.50)** of 1 | 0.50 (0.50) |",
		"| zipf, leave | > 60000 (> 30000) | > 60000 (> 30000) | > 60000 (> 30000) | > 60000 (> 30000) | > 60000 (> 30000) | > 60000 (> 30000) |",
		"| equal 100x1k, join | 2.00 (2.00) | 2.00 (2.00) | 2.00 (2.00) | **2.00 (2.00)** of 5 | 2.00 (2.00) | 2.00 (2.00) |",
	} {
		if got := lines[i+4]; got != want {
			t.Errorf("line %d:\ngot  %s\nwant %s", i, got, want)
		}
	}
	if !strings.Contains(b.String(), "\n4 below their bar.\n") {
		t.Errorf("%s", b.String())
	}
}

// Of several runs the samples in the middle count; those that failed do not.
func TestRunsAreMerged(t *testing.T) {
	var names []string
	for i, best := range []time.Duration{5, 1, 3} {
		theirs := sample{Best: best}
		if i == 1 {
			theirs = sample{Err: "no such thing"}
		}
		name := filepath.Join(t.TempDir(), "run.json")
		if err := writeJSON(name, []row{row2("equal 10x100, join", 100, sample{Best: best}, theirs)}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	rows, err := merged(names)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if got := rows[0].Samples["skein"].Best; got != 3 {
		t.Errorf("of 5, 1, 3 the middle is %d", got)
	}
	if got := rows[0].Samples["sarama"]; got.Err != "" || got.Best != 5 {
		t.Errorf("of 5, 3 the upper is %+v", got)
	}
}
