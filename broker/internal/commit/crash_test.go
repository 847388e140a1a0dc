package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// small makes every road, roll, recycling and round limit happen within a few writes.
func small() Config {
	return Config{DirectBytes: 1000, RoundBytes: 3000, FileBytes: 4096, CheckpointBytes: 16384, SyncsMax: 1}
}

// workload is a seeded sequence of appends. It remembers everything that was ever sent.
type workload struct {
	*cluster
	dice   *rand.Rand
	sent   map[string]bool // "partition/base/content"
	groups map[string][]*part
	serial *int
}

func newWorkload(cl *cluster, seed uint64) *workload {
	return &workload{cluster: cl, dice: rand.New(rand.NewPCG(seed, 1)), sent: map[string]bool{}, groups: map[string][]*part{}, serial: new(int)}
}

func (w *workload) content(size int) string {
	*w.serial++
	return fmt.Sprintf("%d:%s", *w.serial, strings.Repeat("x", size))
}

func sentKey(p *part, base int64, content string) string {
	return fmt.Sprint(p.name, "/", base, "/", content)
}

// burst enqueues some writes and groups without waiting for them.
func (w *workload) burst() {
	for range 1 + w.dice.IntN(6) {
		p := w.parts[w.dice.IntN(len(w.parts))]
		switch w.dice.IntN(6) {
		case 0: // enough for road B
			w.append(p, w.content(1000+w.dice.IntN(600)))
		case 1, 2:
			members := []*part{}
			for _, i := range w.dice.Perm(len(w.parts))[:2+w.dice.IntN(len(w.parts)-1)] {
				members = append(members, w.parts[i])
			}
			content := w.content(w.dice.IntN(400))
			for _, m := range members {
				w.sent[sentKey(m, m.next, content)] = true
			}
			w.groups[content] = members
			appendGroup(w.c, content, members...)
		default:
			w.append(p, w.content(w.dice.IntN(300)))
		}
	}
}

func (w *workload) append(p *part, content string) {
	w.sent[sentKey(p, p.next, content)] = true
	p.append(content, int64(1+w.dice.IntN(3)))
}

// step is a burst, the rounds it needs, and now and then what the housekeeper does.
func (w *workload) step() error {
	w.burst()
	if err := w.drain(); err != nil {
		return err
	}
	switch w.dice.IntN(6) {
	case 0:
		return w.checkpoint()
	case 1:
		return w.c.wal.prepare(context.Background())
	}
	return nil
}

// verify recovers an image and checks it against what had been acknowledged when it was taken.
func (w *workload) verify(image *vfs.Memory, acked []map[int64]string, when string) *workload {
	w.t.Helper()
	cl := openCluster(w.t, image, len(w.parts), small())
	cl.expectAcked(acked, when)
	for _, p := range cl.parts {
		for base, content := range p.contents {
			if !w.sent[sentKey(p, base, content)] {
				w.t.Fatalf("%s: %s has %.20q at offset %d, which nobody sent", when, p.name, content, base)
			}
		}
	}
	for content, members := range w.groups {
		found := 0
		for _, m := range members {
			for _, c := range cl.parts[m.key.Partition].contents {
				if c == content {
					found++
				}
			}
		}
		if found != 0 && found != len(members) {
			w.t.Fatalf("%s: %d of %d members of the group %.20q", when, found, len(members), content)
		}
	}
	again := openCluster(w.t, image.CrashClone(1), len(w.parts), small())
	again.expectAcked(cl.acked(), when+", and another power cut after the recovery")
	return &workload{cluster: cl, dice: w.dice, sent: w.sent, groups: w.groups, serial: w.serial}
}

// verifyAt takes and checks the three kinds of images of this moment.
func (w *workload) verifyAt(memory *vfs.Memory, seed uint64, when string) {
	w.t.Helper()
	acked := w.acked() // before the images: what is acknowledged later need not be there
	w.verify(memory.CrashClone(seed), acked, "power cut "+when)
	w.verify(memory.CrashCloneTorn(seed), acked, "torn power cut "+when)
	w.verify(memory.KillClone(), acked, "kill "+when)
}

func seeds(t *testing.T, n int) int {
	if testing.Short() {
		return max(1, n/8)
	}
	return n
}

func TestEveryCrashOfAWorkloadKeepsWhatWasAcknowledged(t *testing.T) {
	for seed := range uint64(seeds(t, 6)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			memory := vfs.NewMemory()
			faults := vfs.NewFaults(memory)
			w := newWorkload(openCluster(t, faults, 4, small()), seed)
			faults.BeforeMutation(func(n int, op vfs.Op, name string) {
				if n%stride == 0 {
					w.verifyAt(memory, seed<<32|uint64(n), fmt.Sprintf("before mutation %d of %s", n, name))
				}
			})
			for range 20 {
				check(t, w.step())
			}
			if faults.Mutations() < 100 {
				t.Fatal("too little happened:", faults.Mutations())
			}
		})
	}
}

// TestCrashesOfRecoveriesKeepWhatWasAcknowledged crashes again and again, also in the middle of recoveries.
func TestCrashesOfRecoveriesKeepWhatWasAcknowledged(t *testing.T) {
	for seed := range uint64(seeds(t, 20)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			memory := vfs.NewMemory()
			w := newWorkload(openCluster(t, memory, 3, small()), seed)
			for life := range 12 {
				for range 1 + w.dice.IntN(4) {
					check(t, w.step())
				}
				acked := w.acked()
				image := memory.CrashClone(seed<<32 | uint64(life))
				if w.dice.IntN(3) == 0 {
					image = memory.KillClone()
				}
				// A recovery that is itself cut off, and then one that is not.
				half := image.KillClone()
				w.verify(half, acked, "first recovery")
				memory = half.CrashClone(seed<<32 | uint64(life))
				w.verify(memory.KillClone(), acked, "recovery after a crash of a recovery")
				w = w.verify(memory, acked, "recovery that goes on")
			}
		})
	}
}

func TestCrashesAmongWriteErrorsKeepWhatWasAcknowledged(t *testing.T) {
	failures := 0
	for seed := range uint64(seeds(t, 10)) {
		memory := vfs.NewMemory()
		faults := vfs.NewFaults(memory)
		w := newWorkload(openCluster(t, faults, 3, small()), seed)
		faults.BeforeMutation(func(n int, _ vfs.Op, name string) {
			if n%(3*stride) == 0 {
				w.verifyAt(memory, seed<<32|uint64(n), fmt.Sprintf("seed %d before mutation %d of %s", seed, n, name))
			}
		})
		for range 20 {
			name := []string{"*.wal", "seg-0", "seg-1", "*"}[w.dice.IntN(4)]
			remove := faults.Fail(vfs.Rule{
				Op: vfs.OpWrite, Name: name, Skip: w.dice.IntN(8), Times: 1 + w.dice.IntN(4), Err: syscall.ENOSPC, Short: w.dice.IntN(2000),
			})
			if err := w.step(); errors.Is(err, ErrFatal) {
				t.Fatal(err)
			}
			remove()
			check(t, w.c.retryStuck())
			for _, p := range w.parts {
				for _, err := range p.takeFailures() {
					failures++
					if !errors.Is(err, ErrNotWritten) || !errors.Is(err, syscall.ENOSPC) {
						t.Fatal("seed", seed, err)
					}
				}
				if p.open != 0 {
					t.Fatal("seed", seed, p.name, p.open, "writes without an answer")
				}
			}
		}
		w.verifyAt(memory, seed, "at the end")
	}
	if failures == 0 {
		t.Fatal("no write ever failed")
	}
}

// TestFailedSyncFailsEveryWaiter: a waiter that hears of success would take an unsynced record for safe.
func TestFailedSyncFailsEveryWaiter(t *testing.T) {
	for seed := range uint64(seeds(t, 6)) {
		for skip := range 12 {
			memory := vfs.NewMemory()
			faults := vfs.NewFaults(memory)
			w := newWorkload(openCluster(t, faults, 3, small()), seed)
			faults.Fail(vfs.Rule{Op: vfs.OpSync, Skip: skip, Times: 1, Err: syscall.EIO}) // a second try would "succeed"
			var err error
			for err == nil {
				w.burst()
				w.burst()
				before := w.acked()
				if _, err = w.c.step(); err != nil {
					w.c.die(err)
					w.expectNoneOf(before)
				}
			}
			w.expectDead(err)
			w.verifyAt(memory, seed, "after a failed sync")
		}
	}
}

// expectNoneOf fails when the round that failed has answered anyone with success.
func (w *workload) expectNoneOf(before []map[int64]string) {
	w.t.Helper()
	for i, acked := range w.acked() {
		if len(acked) != len(before[i]) {
			w.t.Fatal("writes succeeded in a round whose sync failed")
		}
	}
}

// expectDead checks that everybody got one and the same error, and that nothing is taken any more.
func (w *workload) expectDead(err error) {
	w.t.Helper()
	if !errors.Is(err, ErrFatal) || !errors.Is(err, syscall.EIO) {
		w.t.Fatal(err)
	}
	failed := 0
	for _, p := range w.parts {
		if p.open != 0 {
			w.t.Fatal(p.name, p.open, "writes without an answer")
		}
		for _, f := range p.takeFailures() {
			failed++
			if f != err {
				w.t.Fatalf("one waiter got %v, another %v", err, f)
			}
		}
		if p.append("late", 1) != nil {
			w.t.Fatal("a dead committer took a write")
		}
	}
	if failed == 0 {
		w.t.Fatal("nobody waited")
	}
}
