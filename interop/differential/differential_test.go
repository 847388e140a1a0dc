package differential

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "replay the case with this seed only")
	freshFlag   = flag.Bool("fresh", false, "begin with a seed that was never used, not with 1")
	forFlag     = flag.Duration("for", 40*time.Second, "how long to go on drawing cases")
	stepsFlag   = flag.Int("steps", 25, "steps a case")
	findingsMax = flag.Int("findings", 12, "end after so many different findings")
)

func TestMain(m *testing.M) { report.Main(m) }

// quiet keeps both brokers from deleting or compacting by their own clocks, and gives the
// topics of coordinators alike.
func quiet() map[string]string {
	return map[string]string{
		"log.retention.check.interval.ms": "3600000", "log.cleaner.backoff.ms": "3600000",
		"offsets.topic.num.partitions": fmt.Sprint(offsetsPartitions), "transaction.state.log.num.partitions": "4",
	}
}

func startPair(t *testing.T) *pair {
	t.Helper()
	return startPairWith(t, nil)
}

// startPairWith starts both brokers with more settings.
func startPairWith(t *testing.T, more map[string]string) *pair {
	t.Helper()
	settings := quiet()
	maps.Copy(settings, more)
	kafkaSettings := maps.Clone(settings)
	kafkaSettings["log.initial.task.delay.ms"] = "3600000"
	kafkaSettings["group.coordinator.append.linger.ms"] = "0"
	k := target.Kafka(t, kafka.Options{Settings: kafkaSettings})
	if os.Getenv(target.Env) == "kafka" {
		settings = kafkaSettings
	}
	broker := target.Start(t, settings)
	var allowed []allowance
	if broker.IsSkein() {
		allowed = wanted()
	}
	p, err := newPair(k.Addr, broker.Addr, allowed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	for _, s := range []*side{p.kafka, p.target} {
		if err := s.warmUp(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestEveryAllowedDifferenceIsDocumented ties the list to the page that users
// read.
func TestEveryAllowedDifferenceIsDocumented(t *testing.T) {
	dir, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range wanted() {
		if a.reason == "" || !strings.Contains(string(page), a.reason) {
			t.Errorf("docs/differences.md has no line with %q", a.reason)
		}
	}
}

// TestRequests asks fixed questions, and then draws cases until its time is up: by
// default the same ones each time, so that a change that did no harm is not told
// that it did; with -fresh new ones. A failing case prints its seed; -seed=N
// replays it.
func TestRequests(t *testing.T) {
	p := startPair(t)
	t.Run("fixed", func(t *testing.T) { fixedRequests(t, p) })
	p.steps = 0
	t.Run("random", func(t *testing.T) { randomRequests(t, p) })
}

func randomRequests(t *testing.T, p *pair) {
	cases := p.draw(t, *forFlag, p.drawCase)
	report.Note(t, report.Shown, "differential", "%d steps in %d random cases answered as Kafka %s answers", p.steps, cases, kafka.V4)
}

// draw draws cases for so long, and tells how many.
func (p *pair) draw(t *testing.T, patience time.Duration, one func(seed uint64) (*finding, error)) int {
	seed := uint64(1)
	if *freshFlag {
		seed = uint64(time.Now().UnixNano()) >> 10
	}
	t.Logf("first seed %d", seed)
	end := time.Now().Add(patience)
	p.found = make(map[string]bool)
	if *answersFlag {
		p.trace = t.Logf
	}
	cases := 0
	for time.Now().Before(end) && len(p.found) < *findingsMax {
		if *seedFlag != 0 {
			seed, end = *seedFlag, time.Now()
		}
		cases++
		f, err := one(seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if f != nil && !p.found[f.signature()] {
			p.found[f.signature()] = true
			t.Errorf("seed %d: the answers differ\n%s", seed, f.script())
		}
		seed++
	}
	return cases
}

// drawCase runs the case of one seed, and makes it small when it differs.
func (p *pair) drawCase(seed uint64) (*finding, error) {
	now := time.Now().UnixMilli()
	return p.drawn(seed, func(run int) (string, []step) {
		prefix := fmt.Sprintf("d%x-%x-%d-", os.Getpid(), seed, run)
		return prefix, newWorld(seed, prefix, p.ranges(), now).steps(*stepsFlag)
	})
}

// drawn runs what one seed gives; each run has names of its own.
func (p *pair) drawn(seed uint64, all func(run int) (prefix string, steps []step)) (*finding, error) {
	total, run := 0, 0
	remake := func(keep []bool) (string, []step) {
		run++
		prefix, steps := all(run)
		total = len(steps)
		if keep == nil {
			return prefix, steps
		}
		var kept []step
		for i, s := range steps {
			if keep[i] {
				kept = append(kept, s)
			}
		}
		return prefix, kept
	}
	f, err := p.runCase(remake(nil))
	if err != nil || f == nil || p.found[f.signature()] {
		return f, err
	}
	return p.minimise(f, remake, total, 10*time.Second), nil
}
