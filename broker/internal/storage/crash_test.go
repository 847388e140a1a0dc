package storage

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// world is a log under a workload, on a disk whose power may go at any moment, and
// what its owner has persisted about it.
type world struct {
	t      testing.TB
	w      *workload
	memory *vfs.Memory
	faults *vfs.Faults
	log    *Log
	cfg    Config

	history oracle   // everything given to Write, the last perhaps still under way
	saved   Recovery // what the owner persisted; it may lag behind
	point   int64    // what RecoveryPoint of this log has said
	durable int64    // what it has ever said: a crash must not take it
	now     int64
	ops     []string
}

func newWorld(t testing.TB, seed uint64, memory *vfs.Memory, cfg Config) *world {
	return &world{t: t, w: newWorkload(seed), memory: memory, faults: vfs.NewFaults(memory), cfg: cfg, now: 1000}
}

func (w *world) open() {
	w.t.Helper()
	l, _, err := Open(context.Background(), NewFiles(w.faults, 4), dir, w.cfg, w.saved)
	must(w.t, err)
	w.log = l
	w.saved.Clean = false
}

// step does one thing.
func (w *world) step() {
	l := w.log
	w.now += 50
	op := w.w.IntN(24)
	defer func() { w.ops = append(w.ops, fmt.Sprintf("%d:%d", op, w.history.end())) }()
	switch op {
	default:
		table, _ := w.history.producers()
		b := w.w.next(w.history.end(), table)
		w.history = append(w.history, b)
		must(w.t, l.Write(b, w.now))
	case 0, 1, 2:
		must(w.t, l.Sync())
		w.synced()
	case 3:
		w.saved.DurableTo = w.point
	case 4:
		if w.w.IntN(3) == 0 {
			w.saved.StartOffset = min(w.durable, l.StartOffset()+w.w.Int64N(40))
			must(w.t, l.SetStartOffset(w.saved.StartOffset))
		}
	case 5:
		_, err := l.DeleteOldSegments(w.now, w.durable)
		must(w.t, err)
		must(w.t, l.Reap(w.now))
	case 6:
		if w.w.IntN(4) == 0 {
			must(w.t, l.Close())
			w.synced()
			w.saved.DurableTo, w.saved.Clean = w.point, true
			w.open()
		}
	}
}

func (w *world) synced() {
	w.point = w.log.RecoveryPoint()
	w.durable = max(w.durable, w.point)
}

func (w *world) describe() {
	names, _ := w.memory.List(dir)
	w.t.Logf("did %v", w.ops)
	w.t.Logf("saved %+v, point %d, durable %d, end %d, files %v", w.saved, w.point, w.durable, w.history.end(), names)
}

// recover opens the log on a disk as a crash has left it, compares it with what it
// may hold and goes on with it.
func (w *world) recover(disk *vfs.Memory, seed uint64, more int) {
	w.t.Helper()
	after := newWorld(w.t, seed, disk, w.cfg)
	after.saved, after.now = w.saved, w.now
	after.saved.Clean = false
	after.open()
	l := after.log
	if l.EndOffset() < w.durable {
		w.t.Fatalf("the log ends at %d and was durable to %d", l.EndOffset(), w.durable)
	}
	after.point, after.durable = l.RecoveryPoint(), w.durable
	after.history = w.history.upTo(l.EndOffset())
	defer func() {
		if w.t.Failed() {
			after.describe()
		}
	}()
	after.history.check(w.t, l)
	after.w.clock, after.w.epoch = w.w.clock, w.w.epoch+1
	after.w.salt = int(seed % 1000)
	for range more {
		after.step()
	}
	if more > 0 {
		after.history.check(w.t, after.log)
		after.recover(after.memory.CrashCloneTorn(seed), seed+1, 0)
		after.recover(after.memory.CrashClone(seed+2), seed+1, more/3)
	}
}

// crashing runs steps and recovers from a crash before every change of the disk.
func crashing(t *testing.T, seed uint64, steps int, cfg Config) {
	memory, _ := memory(t)
	w := newWorld(t, seed, memory, cfg)
	w.open()
	w.faults.BeforeMutation(func(n int, op vfs.Op, name string) {
		if (n+int(seed))%stride != 0 {
			return
		}
		crash := seed<<20 + uint64(n)*16
		defer func() {
			if t.Failed() {
				w.describe()
				t.Logf("seed %d, crash before change %d: %v of %s", seed, n, op, name)
			}
		}()
		w.recover(memory.KillClone(), crash, 0)
		w.recover(memory.CrashClone(crash+1), crash+1, 12*(n%3))
		w.recover(memory.CrashCloneTorn(crash+2), crash+2, 0)
	})
	for range steps {
		w.step()
	}
	w.history.check(t, w.log)
}

// crashSeeds is how many seeds to try: SKEIN_CRASH_SEEDS of them, or so many as a
// test run has time for.
func crashSeeds(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("SKEIN_CRASH_SEEDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 3
	}
	return usual
}

// TestRecoversFromACrashAtEveryChangeOfTheDisk stops the world before each write, sync, rename and removal.
func TestRecoversFromACrashAtEveryChangeOfTheDisk(t *testing.T) {
	seeds, steps := crashSeeds(12), 60
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			cfg := small()
			cfg.SegmentBytes = []int64{600, 2000, 20_000}[seed%3]
			cfg.IndexInterval = []int64{0, 200, 700}[seed/3%3]
			if seed%4 == 3 {
				cfg.RetentionBytes = 3000
			}
			crashing(t, uint64(seed), steps, cfg)
		})
	}
}
