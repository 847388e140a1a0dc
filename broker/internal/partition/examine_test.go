package partition

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// stored is a batch that was acknowledged, and where it is.
type stored struct {
	base, last int64
	file       string
	from, to   int64 // bytes
	spare      bool  // the write-ahead log has it too
}

// history is a disk with a log of several segments: durable ones, one of the direct road, and the rest in the write-ahead
// log. end says how the broker ended.
func history(t *testing.T, end string) (*vfs.Memory, []stored) {
	fs := vfs.NewMemory()
	w := newWorld(t, fs).start()
	p := w.create("t", 1, "segment.ms", "50").Partition(0)
	step := func(b []byte) {
		w.appended(p, b, 0)
		w.settle(20 * time.Millisecond)
	}
	for i := range 7 {
		step(batch(1 + i%3))
	}
	if err := w.committing.Checkpoint(context.Background(), w.syncSegments); err != nil {
		t.Fatal(err)
	}
	step(batchOf(300<<10, 1)) // by the direct road
	for i := range int32(6) {
		step(from(7, 0, 2*i, 2))
	}
	disk := fs
	switch end {
	case "killed":
		disk = fs.KillClone()
		w.kill()
	case "power cut":
		disk = fs.CrashClone(4)
		w.kill()
	default:
		w.stop()
	}
	return disk, inventory(t, fs, disk)
}

// inventory finds the batches in the segments of whole, and which of them the write-ahead log of disk has.
func inventory(t *testing.T, whole, disk vfs.FS) (all []stored) {
	spare := map[int64]bool{}
	if err := commit.Read(disk, filepath.Join(dataDir, walDir), func(f commit.Frame) error {
		if f.Kind == commit.Data {
			spare[f.Base] = true
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	names, err := whole.List(filepath.Join(dataDir, "t-0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		pos := int64(0)
		for b, err := range record.Batches([]byte(content(t, whole, filepath.Join(dataDir, "t-0", name)))) {
			if err != nil {
				t.Fatal(err)
			}
			h := b.Header()
			all = append(all, stored{h.BaseOffset, h.LastOffset(), name, pos, pos + int64(len(b)), spare[h.BaseOffset]})
			pos += int64(len(b))
		}
	}
	return all
}

// examined is what Examine says of the one partition.
func examined(t *testing.T, fs vfs.FS, repair bool) (x Examination) {
	t.Helper()
	n := 0
	known, err := catalog.Examine(fs, dataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Examine(t.Context(), fs, dataDir, known.Snapshot, repair, func(found Examination) { x, n = found, n+1 }); err != nil || n != 1 {
		t.Fatalf("%d logs were examined: %v", n, err)
	}
	return x
}

// TestExamineSaysWhatTheNextStartDoes, and Repair loses nothing but what cannot be read anywhere, wherever a bit flips and
// however the broker has ended.
func TestExamineSaysWhatTheNextStartDoes(t *testing.T) {
	for _, end := range []string{"stopped", "killed", "power cut"} {
		t.Run(end, func(t *testing.T) {
			for seed := uint64(0); seed < 40; seed += stride {
				synctest.Test(t, func(t *testing.T) {
					disk, all := history(t, end)
					dice := rand.New(rand.NewPCG(seed, 5))
					hit := damageOne(t, disk, all, dice, seed)
					compareExamination(t, disk, all, hit)
				})
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// damageOne flips a bit in one of the batches, in its header or anywhere, or cuts the file there. It returns the batches
// that are damaged, as far as the file has them.
func damageOne(t *testing.T, disk *vfs.Memory, all []stored, dice *rand.Rand, seed uint64) (hit []stored) {
	victim := all[dice.IntN(len(all))]
	at := victim.from + dice.Int64N(victim.to-victim.from)
	if seed%2 == 0 {
		at = victim.from + dice.Int64N(record.HeaderSize)
	}
	switch in := at - victim.from; { // no checksum covers these
	case in >= 12 && in < 16: // the leader epoch
		at += 4
	case in < 8 && victim.base == all[len(all)-1].base: // the offset, and nothing comes behind that could contradict
		at += 16
	}
	name := filepath.Join(dataDir, "t-0", victim.file)
	info, err := disk.Stat(name)
	if err != nil || info.Size <= at {
		return nil // the crash has taken it
	}
	if seed%7 > 0 {
		flip(t, disk, name, at)
		return []stored{victim}
	}
	f, err := disk.OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(at); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.file == victim.file && s.to > at {
			hit = append(hit, s)
		}
	}
	return hit
}

func compareExamination(t *testing.T, disk *vfs.Memory, all, hit []stored) {
	before := disk.KillClone()
	x := examined(t, disk, false)
	if x.Err != nil {
		t.Fatal(x.Err)
	}
	if !slices.Equal(files(t, disk), files(t, before)) {
		t.Error("looking has changed something")
	}
	w := newWorld(t, disk.KillClone()).start()
	if offline := w.partition("t").Offline(); (offline != nil) != (x.Offline != nil) {
		t.Errorf("damage %v: Examine says %v, the start %v", hit, x.Offline, offline)
	}
	w.stop()
	repaired := examined(t, disk, true)
	if repaired.Err != nil || repaired.Repaired != (x.Lost || x.Offline != nil) {
		t.Errorf("damage %v, lost %v, offline %v: repaired %v, %v", hit, x.Lost, x.Offline, repaired.Repaired, repaired.Err)
	}
	if again := examined(t, disk, false); again.Lost || again.Offline != nil {
		t.Errorf("damage %v: after the repair lost %v, offline %v: %v", hit, again.Lost, again.Offline, again.Findings.Damage)
	}
	w = newWorld(t, disk).start()
	p := w.partition("t")
	if p.Offline() != nil {
		t.Fatalf("damage %v: %v", hit, p.Offline())
	}
	var want []int64
	for _, s := range all {
		if s.spare || !slices.Contains(hit, s) {
			want = append(want, s.base)
		}
	}
	if got := w.read(p, 0); !slices.Equal(got, want) {
		t.Errorf("damage %v: read %v, want %v", hit, got, want)
	}
	if r := w.appended(p, batch(1), 0); r.BaseOffset < all[len(all)-1].last+1 {
		t.Errorf("damage %v: offset %d is given a second time", hit, r.BaseOffset)
	}
	w.stop()
}

// files is everything on a disk.
func files(t *testing.T, fs vfs.FS) (all []string) {
	var walk func(string)
	walk = func(dir string) {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if info, err := fs.Stat(path); err == nil && info.Dir {
				walk(path)
				continue
			}
			all = append(all, fmt.Sprintf("%s %q", path, content(t, fs, path)))
		}
	}
	walk(dataDir)
	return all
}
