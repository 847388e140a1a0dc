package broker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

// opened is the error of opening a broker on a disk, which is closed again.
func opened(disk vfs.FS) error {
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: ruinSettings(), files: disk})
	if err == nil {
		err = b.Shutdown(context.Background())
		synctest.Wait()
	}
	return err
}

// A catalog that is gone is damage like any other: a new one beside the partitions of the old would let go of what the
// write-ahead log has of them.
func TestACatalogThatIsGoneIsNotFoundedAnew(t *testing.T) {
	file := filepath.Join(dataDir, catalogDir, "catalog.log")
	for name, take := range map[string]func(*vfs.Memory) error{
		"directory":                          func(disk *vfs.Memory) error { return disk.RemoveAll(filepath.Join(dataDir, catalogDir)) },
		"file":                               func(disk *vfs.Memory) error { return disk.Remove(file) },
		"frames":                             func(disk *vfs.Memory) error { return cutTo(disk, file, 16) },
		"all but a piece of the first frame": func(disk *vfs.Memory) error { return cutTo(disk, file, 40) },
	} {
		for _, powerCut := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRuin(t, powerCut)
				if err := take(r.disk); err != nil {
					t.Fatal(err)
				}
				before := filesBelow(t, r.disk, dataDir)
				if err := opened(r.disk); err == nil || !strings.Contains(err.Error(), "skein log repair") {
					t.Errorf("%s: opening it says %v", name, err)
				}
				if got := examined(t, r.disk, false)[Catalog]; !got.Offline || !got.Lost || len(got.Damage) != 1 {
					t.Errorf("%s: found %+v", name, got)
				}
				if after := filesBelow(t, r.disk, dataDir); !slices.Equal(before, after) {
					t.Errorf("%s: looking has changed %q to %q", name, before, after)
				}
				for part, x := range examined(t, r.disk, true) {
					if x.Err != nil || x.Offline || x.Lost {
						t.Errorf("%s: %s: %+v", name, part, x)
					}
				}
				if powerCut { // it may have taken the directories of new topics, which nobody knows then
					r.servesOnlyWhatItHad(t, r.disk, name)
				} else if lost := r.lost(t, r.disk, false); lost > 0 {
					t.Errorf("%s: %d batches are lost", name, lost)
				}
			})
		}
	}
}

// The write-ahead log of a broker that did not end cleanly may have records that nothing else has.
func TestAWriteAheadLogThatIsGoneIsTold(t *testing.T) {
	for _, clean := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuin(t, false)
			r.with(t, r.disk, func(*Broker, *wire) { synctest.Wait() })
			if !clean {
				if err := r.disk.Remove(filepath.Join(dataDir, ".kafka_cleanshutdown")); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.disk.RemoveAll(filepath.Join(dataDir, "wal")); err != nil {
				t.Fatal(err)
			}
			if starts(r.disk) != clean {
				t.Errorf("clean %v: a broker starts %v", clean, !clean)
			}
			if got := examined(t, r.disk, false)[WriteAheadLog]; got.Offline == clean || len(got.Notes) > 0 == clean {
				t.Errorf("clean %v: found %+v", clean, got)
			}
			if got := examined(t, r.disk, true)[WriteAheadLog]; got.Repaired == clean {
				t.Errorf("clean %v: repaired %+v", clean, got)
			}
			if lost := r.lost(t, r.disk, false); lost > 0 {
				t.Errorf("clean %v: %d batches are lost", clean, lost)
			}
		})
	}
}

func cutTo(disk *vfs.Memory, name string, size int64) error {
	f, err := disk.OpenFile(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// The first start may crash at any moment, and the next one founds the directory all the same.
func TestAFirstStartThatCrashesIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		faults := vfs.NewFaults(memory)
		var crashed []*vfs.Memory
		faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
			crashed = append(crashed, memory.KillClone(), memory.CrashClone(uint64(n)), memory.CrashCloneTorn(uint64(n)))
		})
		if err := opened(faults); err != nil {
			t.Fatal(err)
		}
		for i, disk := range crashed {
			if err := opened(disk); err != nil {
				t.Fatalf("crash %d of %d: %v", i, len(crashed), err)
			}
		}
	})
}

// What belongs to an Apache Kafka broker is left alone: it would lose its checkpoints and the mark of its clean end.
func TestADirectoryOfKafkaIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMemory()
		for name, content := range map[string]string{
			"meta.properties":                  "version=1\ncluster.id=Qm5hbWVkLUJ5LU5vYm9keQ\nnode.id=1\n",
			".kafka_cleanshutdown":             "{\"version\":0}",
			"recovery-point-offset-checkpoint": "0\n1\nt 0 5\n",
			"t-0/partition.metadata":           "version: 0\ntopic_id: GDcWQWlLTu2h6Yzpt-DV1Q",
		} {
			path := filepath.Join(dataDir, name)
			if err := errors.Join(disk.MkdirAll(filepath.Dir(path)), vfs.WriteFile(disk, path, []byte(content))); err != nil {
				t.Fatal(err)
			}
		}
		before := filesBelow(t, disk, dataDir)
		if err := opened(disk); err == nil || !strings.Contains(err.Error(), "Apache Kafka") {
			t.Errorf("opening it says %v", err)
		}
		err := examineOn(t.Context(), disk, dataDir, true, func(r LogReport) { t.Errorf("%+v", r) })
		if err == nil || !strings.Contains(err.Error(), "Apache Kafka") {
			t.Errorf("repairing it says %v", err)
		}
		if after := filesBelow(t, disk, dataDir); !slices.Equal(before, after) {
			t.Errorf("%q became %q", before, after)
		}
	})
}
