package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

// A repair that crashes anywhere is repeated, and the broker serves as much as after one that was not interrupted.
func TestARepairThatCrashesIsRepeated(t *testing.T) {
	seeds, every := uint64(6), 1
	if underRace {
		seeds, every = 2, 5
	}
	for _, powerCut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuin(t, powerCut)
			for seed := range seeds {
				disk, dice := r.disk.KillClone(), rand.New(rand.NewPCG(seed, 12))
				what := damageAnything(t, disk, dice)
				settleAll(t, disk, dataDir)
				var mu sync.Mutex
				var crashed []*vfs.Memory
				faults := vfs.NewFaults(disk)
				faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
					mu.Lock()
					defer mu.Unlock()
					crashed = append(crashed, disk.KillClone(), disk.CrashClone(uint64(n)), disk.CrashCloneTorn(uint64(n)))
				})
				if err := examineOn(context.Background(), faults, dataDir, true, func(LogReport) {}); err != nil {
					t.Fatal(err)
				}
				when := fmt.Sprintf("seed %d, power cut %v, %q", seed, powerCut, what)
				want := r.serves(t, disk, when)
				for i := 0; i < len(crashed); i += every {
					again := crashed[i]
					at := fmt.Sprintf("%s, crash %d of %d", when, i, len(crashed))
					for name, x := range examined(t, again, true) {
						if x.Err != nil || x.Offline || x.Lost {
							t.Errorf("%s: %s: %+v", at, name, x)
						}
					}
					if got := r.serves(t, again, at); got < want {
						t.Errorf("%s: %d batches are served, %d without a crash", at, got, want)
					}
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

// settleAll makes everything durable that is there.
func settleAll(t *testing.T, disk *vfs.Memory, dir string) {
	t.Helper()
	names, err := disk.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := disk.Stat(path); err == nil && info.Dir {
			settleAll(t, disk, path)
			continue
		}
		f, err := disk.OpenFile(path)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// serves counts the acknowledged batches that a broker serves.
func (r *ruin) serves(t *testing.T, disk vfs.FS, when string) (n int) {
	t.Helper()
	r.servesOnlyWhatItHad(t, disk, when)
	r.with(t, disk, func(b *Broker, w *wire) {
		for key := range r.acked {
			topic := b.catalog.Snapshot().Topic(key[:1])
			if topic == nil || topic.Partitions <= int32(key[2]-'0') {
				continue
			}
			got, err := (&survivor{wire: w}).read(key[:1], int32(key[2]-'0'))
			if err != nil {
				t.Fatalf("%s: reading %s: %v", when, key, err)
			}
			n += len(got.batches)
		}
	})
	return n
}
