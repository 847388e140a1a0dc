package broker

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// filesBelow is every file below a directory.
func filesBelow(t *testing.T, fs vfs.FS, dir string) (all []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := fs.Stat(path); err == nil && info.Dir {
			all = append(all, filesBelow(t, fs, path)...)
		} else if err == nil && info.Size > 0 {
			all = append(all, path)
		}
	}
	return all
}

// damageAnything flips bits in any files, but for those that say of what version a file is.
func damageAnything(t *testing.T, disk *vfs.Memory, dice *rand.Rand) (what []string) {
	t.Helper()
	files := filesBelow(t, disk, dataDir)
	for range 1 + dice.IntN(5) {
		name := files[dice.IntN(len(files))]
		info, err := disk.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		at := dice.Int64N(info.Size)
		if filepath.Base(filepath.Dir(name)) == catalogDir && at < 16 {
			at = 0 // not the version
		}
		flipBit(t, disk, name, at)
		what = append(what, fmt.Sprintf("%s %d", name, at))
	}
	return what
}

// Whatever is damaged: a broker starts after the repair, and serves what it was sent, in order, and nothing else.
func TestABrokerStartsAgainAfterAnyRepair(t *testing.T) {
	repairsWhatever(t, 60, 11, func(t *testing.T, _ *ruin, disk *vfs.Memory, dice *rand.Rand, _ uint64) []string {
		return damageAnything(t, disk, dice)
	})
}

// repairsWhatever damages a directory in as many ways as there are seeds, after a kill and after a power cut, and repairs it: then
// nothing is left to repair, and a broker serves what it had. What a seed means depends on the salt.
func repairsWhatever(t *testing.T, seeds, salt uint64, damage func(*testing.T, *ruin, *vfs.Memory, *rand.Rand, uint64) []string) {
	t.Helper()
	if underRace {
		seeds = 6
	}
	for _, powerCut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuin(t, powerCut)
			for seed := range seeds {
				disk, dice := r.disk.KillClone(), rand.New(rand.NewPCG(seed, salt))
				when := fmt.Sprintf("seed %d, power cut %v, %q", seed, powerCut, damage(t, r, disk, dice, seed))
				for _, repair := range []bool{true, false} {
					for name, x := range examined(t, disk, repair) {
						if x.Err != nil || x.Offline || x.Lost {
							t.Errorf("%s, repairing %v: %s: %+v", when, repair, name, x)
						}
					}
				}
				r.servesOnlyWhatItHad(t, disk, when)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// servesOnlyWhatItHad compares what a broker serves of each partition with what was acknowledged.
func (r *ruin) servesOnlyWhatItHad(t *testing.T, disk vfs.FS, when string) {
	t.Helper()
	r.with(t, disk, func(b *Broker, w *wire) {
		for key, had := range r.acked {
			name, index := key[:1], int32(key[2]-'0')
			topic := b.catalog.Snapshot().Topic(name)
			if topic == nil || topic.Partitions <= index {
				continue // it was lost with the power
			}
			got, err := (&survivor{wire: w}).read(name, index)
			if err != nil {
				t.Errorf("%s: reading %s: %v (%v)", when, key, err, b.table.Topic(name).Partition(index).Offline())
				return
			}
			at := 0
			for _, batch := range got.batches {
				next := slices.IndexFunc(had[at:], func(h record.Batch) bool { return h.Header().CRC == batch.Header().CRC })
				if next < 0 || batch.Verify() != nil {
					t.Errorf("%s: %s serves at %d what was never sent, or not there", when, key, batch.Header().BaseOffset)
					return
				}
				at += next + 1
			}
		}
	})
}
