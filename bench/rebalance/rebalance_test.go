package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/bench/internal/program"
	"github.com/skeinstream/skein/bench/internal/stops"
	"github.com/skeinstream/skein/bench/rebalance/member"
)

// The test program, too, is a member when it is called so.
func TestMain(m *testing.M) {
	if !program.Child(memberVerb, member.Run) {
		os.Exit(m.Run())
	}
}

// Small groups of the Go clients on Skein: that it runs, and that it finds what
// must be there whatever the machine does. How long anything takes is none of a
// test's business.
func TestSmallGroups(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	name := filepath.Join(t.TempDir(), "result.json")
	o, err := parseOptions([]string{"-brokers", "skein", "-clients", "^(Skein|franz-go|Sarama)$", "-only", "scale-up",
		"-heartbeat", "200ms", "-json", name, "-lanes", "3", "-traces", t.TempDir()}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.size, o.noWarm = size{few: 1, many: 2, partitions: 4}, true
	var out, progress bytes.Buffer
	if err := measure(t.Context(), o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cells []cell
	if err := json.Unmarshal(text, &cells); err != nil {
		t.Fatal(err)
	}
	if want := len(o.clients); len(cells) != want {
		t.Errorf("%d cells, want %d:\n%s", len(cells), want, out.String())
	}
	for _, x := range cells {
		if x.Changes == 0 || len(x.Moving) == 0 || len(x.Moving) != x.Fewest || x.Moves < x.Fewest || x.Partitions != 4 || x.Skipped > 0 {
			t.Errorf("%s of %s: %+v", x.Scenario, x.Client, x.Summary)
		}
	}
	if !strings.Contains(out.String(), "| franz-go |") {
		t.Error(out.String())
	}
}

func TestWhatMembersSay(t *testing.T) {
	e, err := parse("1500 handled 3 10 12")
	if err != nil || e.At != 1500 || e.Kind != stops.Handled || e.Partitions[0] != 3 || e.First != 10 || e.Last != 12 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := parse("7 revoked 1,2"); err != nil || len(e.Partitions) != 2 || e.Partitions[1] != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	for _, line := range []string{"", "failed", "x handled 1 2 3", "1 handled 1 2", "1 assigned one"} {
		if _, err := parse(line); err == nil {
			t.Errorf("%q is understood", line)
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-brokers", "kfake"}, {"-only", "("}, {"-clients", "("}, {"-rounds", "0"}, {"-lanes", "0"}, {"surplus"}} {
		if _, err := parseOptions(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

func TestGroupIsFairWhenEachPartitionHasOneOwnerAmongTheMembers(t *testing.T) {
	o := newObserver(3)
	own := func(member string, kind stops.Kind, partitions ...int32) {
		o.add(stops.Event{Member: member, Kind: kind, Partitions: partitions})
	}
	both := []string{"a", "b"}
	own("a", stops.Assigned, 0, 1, 2)
	if o.fair(both) || !o.fair([]string{"a"}) {
		t.Error("a has all")
	}
	own("b", stops.Assigned, 2)
	if o.fair(both) {
		t.Error("both have partition 2")
	}
	own("a", stops.Revoked, 2)
	if !o.fair(both) || o.fair([]string{"a"}) {
		t.Error("two and one are fair")
	}
	own("b", stops.Ended)
	if o.fair(both) || o.fair([]string{"a"}) {
		t.Error("nobody has partition 2")
	}
}

// Each bar is missed by what it forbids and by nothing else.
func TestBars(t *testing.T) {
	cells := func(change func(x *cell)) []*cell {
		x := &cell{Broker: "kafka", Client: ours, Scenario: bounce}
		x.Moving, x.Staying = []time.Duration{50 * time.Millisecond}, []time.Duration{time.Millisecond}
		other := &cell{Broker: "kafka", Client: "franz-go", Scenario: bounce}
		other.Moving = []time.Duration{60 * time.Millisecond}
		elsewhere := &cell{Broker: "skein", Client: "franz-go", Scenario: bounce}
		elsewhere.Moving = []time.Duration{time.Millisecond}
		change(x)
		return []*cell{other, elsewhere, x}
	}
	for name, c := range map[string]struct {
		missed int
		change func(x *cell)
	}{
		"none":            {0, func(*cell) {}},
		"stays":           {1, func(x *cell) { x.Staying = append(x.Staying, stops.Noticeable) }},
		"slowest":         {1, func(x *cell) { x.Moving[0] = 70 * time.Millisecond }},
		"read again":      {1, func(x *cell) { x.Reread = 1 }},
		"left out":        {1, func(x *cell) { x.Skipped = 1 }},
		"read after loss": {0, func(x *cell) { x.Reread, x.Scenario = 1, loss }},
		"not compared":    {0, func(x *cell) { x.Moving[0], x.Broker = time.Second, "elsewhere" }},
	} {
		missed := 0
		for _, v := range verdicts(cells(c.change), time.Millisecond) {
			if !v.met {
				missed++
			}
		}
		if missed != c.missed {
			t.Errorf("%s: %d bars are missed, want %d", name, missed, c.missed)
		}
	}
}

// When a killed member was heard of last is chance.
func TestLossesMayDifferByAHeartbeat(t *testing.T) {
	mine, other := &cell{Client: ours, Scenario: loss}, &cell{Client: "franz-go", Scenario: loss}
	mine.Moving, other.Moving = []time.Duration{6400 * time.Millisecond}, []time.Duration{6000 * time.Millisecond}
	for heartbeat, want := range map[time.Duration]bool{400 * time.Millisecond: true, 300 * time.Millisecond: false} {
		met := true
		for _, v := range verdicts([]*cell{mine, other}, heartbeat) {
			met = met && v.met
		}
		if met != want {
			t.Errorf("with heartbeats each %v the bars are met: %v", heartbeat, met)
		}
	}
}
