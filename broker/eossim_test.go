package broker

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/broker/internal/eossim"
	"github.com/skeinstream/skein/internal/vfs"
)

const (
	eossimSeeds     = 120
	eossimSeedsRace = 8
	eossimTries     = 5 // of a seed that is replayed
)

// simulate runs one seed, with some settings off.
func simulate(t *testing.T, seed uint64, off ...string) (r *eossim.Result) {
	defer runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector's workers would change the order of goroutines
	synctest.Test(t, func(*testing.T) {
		r = eossim.Run(seed, func(files vfs.FS, settings map[string]string, random io.Reader) (eossim.Broker, error) {
			for _, name := range off {
				settings[name] = "false"
			}
			return Open(context.Background(), Config{Dir: dataDir, Settings: settings, files: files, random: random})
		})
	})
	return r
}

// alone lets goroutines run one at a time, in an order that hardly changes from run to run, unless SKEIN_SIM_PROCS says that so
// many may run at once.
func alone(t *testing.T) {
	procs := envNumber("SKEIN_SIM_PROCS", 1)
	if underRace {
		procs = uint64(runtime.GOMAXPROCS(0))
	}
	was := runtime.GOMAXPROCS(int(procs))
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

func envNumber(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// TestExactlyOnce is the simulation of exactly-once: producers, groups and readers of all protocols over a broken network,
// brokers that crash and clients that are replaced, judged by what clients see. SKEIN_SIM_SEEDS=n runs n seeds, from
// SKEIN_SIM_FROM on; SKEIN_SIM_SEED=n replays one, and SKEIN_SIM_TRACE=file writes down what the clients did in each try.
func TestExactlyOnce(t *testing.T) {
	alone(t)
	if seed, err := strconv.ParseUint(os.Getenv("SKEIN_SIM_SEED"), 10, 64); err == nil {
		replay(t, seed)
		return
	}
	seeds := uint64(eossimSeeds)
	if underRace {
		seeds = eossimSeedsRace
	}
	from := envNumber("SKEIN_SIM_FROM", 0)
	var seen simulated
	for n := range envNumber("SKEIN_SIM_SEEDS", seeds) {
		r := simulate(t, from+n)
		seen.add(r)
		if report(t, r); t.Failed() {
			break
		}
	}
	t.Log(seen.String())
}

// report tells of a seed that failed, and how to see it again.
func report(t *testing.T, r *eossim.Result) {
	t.Helper()
	if !r.Failed() {
		return
	}
	for i, v := range r.Violations {
		if i == 10 {
			t.Errorf("and %d more", len(r.Violations)-i)
			break
		}
		t.Error(v)
	}
	for _, p := range r.Problems {
		t.Error(p)
	}
	t.Errorf("seed %d, history %s: SKEIN_SIM_SEED=%d go test ./broker -run 'TestExactlyOnce$' replays it", r.Seed, r.Hash, r.Seed)
}

// replay runs a seed until it fails, since the scheduler decides a little, too.
func replay(t *testing.T, seed uint64) {
	for try := range eossimTries {
		r := simulate(t, seed)
		t.Logf("seed %d, try %d: history %s, %d crashes", seed, try, r.Hash, r.Crashes)
		if name := os.Getenv("SKEIN_SIM_TRACE"); name != "" {
			write(t, fmt.Sprintf("%s.%d", name, try), r)
		}
		report(t, r)
		if t.Failed() {
			return
		}
	}
}

// write writes down what the clients of a run did.
func write(t *testing.T, name string, r *eossim.Result) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	r.Print(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// simulated is what some runs were about.
type simulated struct {
	runs, crashes, fences, accepted, reads   int
	outcomes                                 [5]int
	records, visible, offsets, stableFetches int
}

func (s *simulated) add(r *eossim.Result) {
	h := r.History
	s.runs, s.crashes, s.fences, s.accepted = s.runs+1, s.crashes+r.Crashes, s.fences+len(h.Fences), s.accepted+len(h.Accepted)
	s.reads, s.stableFetches = s.reads+len(h.Reads), s.stableFetches+len(h.Fetched)
	for _, t := range h.Txns {
		s.outcomes[t.Outcome]++
		s.records, s.offsets = s.records+len(t.Writes), s.offsets+len(t.Offsets)
	}
	for _, l := range h.Final.Logs {
		s.visible += len(l.Committed)
	}
}

func (s *simulated) String() string {
	return fmt.Sprintf("%d runs, %d crashes, %d fences; transactions: %d open, %d asked to commit, %d committed, %d aborted, %d refused; %d records, %d offsets, %d requests accepted; %d fetches, %d of offsets, %d records count",
		s.runs, s.crashes, s.fences, s.outcomes[0], s.outcomes[1], s.outcomes[2], s.outcomes[3], s.outcomes[4], s.records, s.offsets, s.accepted, s.reads, s.stableFetches, s.visible)
}

// TestExactlyOnceReplays: two runs of one seed tell the same history, but for what a busy machine does to the scheduler.
func TestExactlyOnceReplays(t *testing.T) {
	if underRace {
		t.Skip("the race detector changes the order of goroutines")
	}
	alone(t)
	for seed := range uint64(5) {
		hashes := map[string]bool{}
		again := false
		for try := 0; try < eossimTries && !again; try++ {
			r := simulate(t, seed)
			again = hashes[r.Hash]
			hashes[r.Hash] = true
		}
		if !again {
			t.Errorf("seed %d tells another history each time: %v", seed, hashes)
		}
	}
}

// TestExactlyOnceNeedsItsProtections: without the protections that can be switched off, clients before KIP-890 do not have
// exactly-once, and the simulation finds that out: requests of a transaction that is over tear the next one or leave one open.
func TestExactlyOnceNeedsItsProtections(t *testing.T) {
	if underRace {
		t.Skip("the simulation looks for races there")
	}
	alone(t)
	for _, name := range []string{"skein.transaction.refuse.late.requests", "transaction.partition.verification.enable"} {
		const seeds = 200
		seed := uint64(0)
		for seed < seeds && len(simulate(t, seed, name).Violations) == 0 {
			seed++
		}
		if seed == seeds {
			t.Errorf("without %s all is well in %d seeds", name, seeds)
			continue
		}
		t.Logf("without %s seed %d fails", name, seed)
	}
}
