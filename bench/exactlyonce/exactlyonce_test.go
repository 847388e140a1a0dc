package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/bench/exactlyonce/worker"
	"github.com/skeinstream/skein/bench/internal/program"
)

// The test program, too, is a worker when it is called so.
func TestMain(m *testing.M) {
	if !program.Child(workVerb, worker.Run) {
		os.Exit(m.Run())
	}
}

// A run with next to no load on Skein gives every column of the Go clients a
// number; what the numbers are is none of a test's business, but for those that
// no machine changes.
func TestSmallRun(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	name := filepath.Join(t.TempDir(), "result.json")
	o, err := parseOptions([]string{"-brokers", "skein", "-clients", "Skein|franz-go", "-rounds", "1", "-workers", "2", "-json", name, "-dir", t.TempDir()}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.noisy, o.interval = true, 20*time.Millisecond
	o.size = size{records: 30_000, rate: 500, latency: 300 * time.Millisecond, partitions: 6, fleet: 300 * time.Millisecond}
	var out, progress bytes.Buffer
	if err := measure(t.Context(), o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var lines []sample
	if err := json.Unmarshal(text, &lines); err != nil {
		t.Fatal(err)
	}
	found := map[key][]float64{}
	for _, l := range lines {
		found[key{l.Broker, l.Client, l.Workers, l.Column}] = l.Samples
	}
	fetched := 0.0 // a client may have fetched all of so few records before they are measured, but not each of them
	for _, c := range copiers() {
		if !o.clients.MatchString(c.name) {
			continue
		}
		got := found[key{"skein", c.name, 1, fetches}]
		if len(got) != 1 {
			t.Fatalf("%s of %s is %v", fetches, c.name, got)
		}
		fetched += got[0]
		for _, column := range []string{rateOf, produces, latency50, latency99} {
			if got := found[key{"skein", c.name, 1, column}]; len(got) != 1 || got[0] <= 0 {
				t.Errorf("%s of %s is %v", column, c.name, got)
			}
		}
	}
	if fetched <= 0 {
		t.Error("nobody has fetched")
	}
	for _, c := range fleetClients() {
		if !o.clients.MatchString(c.name) {
			continue
		}
		want := 2.0
		if c.mode == worker.PerPartition {
			want = float64(o.size.partitions)
		}
		if got := found[key{"skein", c.name, 2, producers}]; len(got) != 1 || got[0] != want {
			t.Errorf("2 workers of %s have %v producers, want %v", c.name, got, want)
		}
		for _, column := range []string{offsetsOf, endings, requests, connections, resident, copiedRate} {
			if got := found[key{"skein", c.name, 2, column}]; len(got) != 1 || got[0] <= 0 {
				t.Errorf("%s of %s is %v", column, c.name, got)
			}
		}
	}
	if !strings.Contains(out.String(), "a record, as those of "+oursPartition) || t.Failed() {
		t.Errorf("%s\n%s", out.String(), progress.String())
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-brokers", "kfake"}, {"-only", "("}, {"-clients", "("}, {"-rounds", "0"}, {"-workers", "0"}, {"-workers", "two"}, {"-interval", "0"}, {"surplus"}} {
		if _, err := parseOptions(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

// Each bar is missed by what it forbids and by nothing else.
func TestBars(t *testing.T) {
	for name, c := range map[string]struct {
		missed int
		change func(f *findings)
	}{
		"none":               {0, func(*findings) {}},
		"dear":               {1, func(f *findings) { f.add(key{"skein", oursPlain, 1, rateOf}, 200) }},
		"slower than others": {1, func(f *findings) { f.add(key{"skein", franzSession().name, 1, rateOf}, 300) }},
		"too many producers": {1, func(f *findings) { f.add(key{"skein", ours, 4, producers}, 12) }},
		"too many requests":  {1, func(f *findings) { f.add(key{"skein", ours, 4, perThousand}, 900) }},
		"elsewhere":          {0, func(f *findings) { f.add(key{"kafka", ours, 4, producers}, 12) }},
	} {
		f := &findings{}
		f.add(key{"skein", ours, 1, rateOf}, 100)
		f.add(key{"skein", oursPlain, 1, rateOf}, 110)
		f.add(key{"skein", franzSession().name, 1, rateOf}, 90)
		f.add(key{"skein", ours, 4, producers}, 4)
		f.add(key{"skein", ours, 4, perThousand}, 80)
		f.add(key{"skein", perPartitionPeer, 4, perThousand}, 400)
		c.change(f)
		missed := 0
		for _, v := range f.verdicts("skein", []int{4}) {
			if !v.met {
				missed++
			}
		}
		if missed != c.missed {
			t.Errorf("%s: %d bars are missed, want %d: %v", name, missed, c.missed, f.verdicts("skein", []int{4}))
		}
	}
}
