package broker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

// A start takes a directory with another topic's id for a stranger's, and puts it aside. One bit in the id is no reason.
func TestADirectoryWhoseTopicIDIsDamagedIsStillItsTopics(t *testing.T) {
	const idAt = int64(len("version: 0\ntopic_id: "))
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, false)
		for at := idAt; at < idAt+22; at++ {
			for _, wanting := range []bool{false, true} { // what the write-ahead log has
				disk := r.disk.KillClone()
				if wanting {
					r.with(t, disk, func(*Broker, *wire) { synctest.Wait() })
				}
				flipBit(t, disk, filepath.Join(dataDir, "a-0", "partition.metadata"), at)
				flipBit(t, disk, filepath.Join(dataDir, "a-0", "partition.metadata"), idAt+(at-idAt+1)%22) // and its neighbour
				for name, x := range examined(t, disk, false) {
					if x.Err != nil || x.Offline || x.Lost || len(x.Notes) > 0 {
						t.Errorf("letter %d: %s: %+v", at, name, x)
					}
				}
				if lost := r.lost(t, disk, false); lost > 0 {
					t.Errorf("letter %d: %d batches are lost", at, lost)
				}
				for _, name := range filesBelow(t, disk, dataDir) {
					if strings.Contains(name, "-stray") {
						t.Errorf("letter %d: %s", at, name)
					}
				}
			}
		}
	})
}

// A partition without a directory is as damaged as one without its end: it is told, and its offsets are not given again.
func TestAPartitionWhoseDirectoryIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, false)
		r.with(t, r.disk, func(*Broker, *wire) { synctest.Wait() }) // ends cleanly: the write-ahead log has nothing any more
		if err := r.disk.RemoveAll(filepath.Join(dataDir, "a-0")); err != nil {
			t.Fatal(err)
		}
		note := fmt.Sprintf("offsets 0 to %d are lost", r.next["a-0"]-1)
		if got := examined(t, r.disk, false)["a-0"]; !got.Lost || !got.Offline || !strings.Contains(strings.Join(got.Notes, "\n"), note) {
			t.Errorf("found %+v", got)
		}
		if info, err := r.disk.Stat(filepath.Join(dataDir, "a-0")); err == nil {
			t.Errorf("looking has made %+v", info)
		}
		if got := examined(t, r.disk, true)["a-0"]; !got.Repaired || got.Err != nil || !strings.Contains(strings.Join(got.Notes, "\n"), note) {
			t.Errorf("repaired %+v", got)
		}
		if lost := r.lost(t, r.disk, false); lost != len(r.acked["a-0"]) {
			t.Errorf("%d batches are lost, want the %d of the partition", lost, len(r.acked["a-0"]))
		}
	})
}

// After a clean end nothing is the torn end of a crash, also where the recovery points are gone.
func TestDamageAfterACleanEndIsNoTornEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, false)
		r.with(t, r.disk, func(*Broker, *wire) { synctest.Wait() })
		if err := r.disk.Remove(filepath.Join(dataDir, "recovery-point-offset-checkpoint")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dataDir, "a-0", "00000000000000000000.log")
		info, err := r.disk.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{65, info.Size - 1} { // in the first batch, in the last
			disk := r.disk.KillClone()
			flipBit(t, disk, file, at)
			if got := examined(t, disk, false)["a-0"]; !got.Lost || len(got.Damage) != 1 {
				t.Errorf("byte %d: found %+v", at, got)
			}
			if got := examined(t, disk, true)["a-0"]; !got.Repaired || got.Err != nil {
				t.Errorf("byte %d: repaired %+v", at, got)
			}
			if lost := r.lost(t, disk, at > 65); lost != 1 {
				t.Errorf("byte %d: %d batches are lost, want the damaged one", at, lost)
			}
		}
	})
}

// Directories of one name may name several topics, one of them damaged or put there by somebody: one topic has the name.
func TestALostCatalogWithTwoTopicsOfOneName(t *testing.T) {
	for _, kind := range []struct {
		owner      string // what d-2 says, nothing for its own id with one bit flipped
		partitions int32
	}{
		{"", 3},
		{"@", 3}, // no id at all
		{"GDcWQWlLTu2h6Yzpt-DV1Q", 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuin(t, false)
			r.with(t, r.disk, func(b *Broker, w *wire) {
				if err := w.createTopic("d", 3); err != nil {
					t.Error(err)
				}
				r.ids["d"] = b.catalog.Snapshot().Topic("d").ID
			})
			if err := r.disk.RemoveAll(filepath.Join(dataDir, catalogDir)); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dataDir, "d-2", "partition.metadata")
			if kind.owner != "" {
				if err := vfs.WriteFile(r.disk, file, []byte("version: 0\ntopic_id: "+kind.owner+"\n")); err != nil {
					t.Fatal(err)
				}
			} else {
				flipBit(t, r.disk, file, 30)
			}
			for name, x := range examined(t, r.disk, true) {
				if x.Err != nil || x.Offline || x.Lost {
					t.Errorf("%s: %+v", name, x)
				}
			}
			r.with(t, r.disk, func(b *Broker, _ *wire) {
				if d := b.catalog.Snapshot().Topic("d"); d == nil || d.ID != r.ids["d"] || d.Partitions != kind.partitions {
					t.Errorf("topic d is %+v, want %d partitions", d, kind.partitions)
				}
			})
		})
	}
}
