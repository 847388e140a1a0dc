package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// ruin is the disk of a broker that has ended without a word, and what it had acknowledged.
type ruin struct {
	disk  *vfs.Memory
	acked map[string][]record.Batch // by partition
	next  map[string]int64
	ids   map[string][16]byte
}

func ruinSettings() map[string]string { return map[string]string{"auto.create.topics.enable": "false"} }

// newRuin fills a few topics by way of the write-ahead log. It runs inside a bubble.
func newRuin(t *testing.T, powerCut bool) *ruin {
	t.Helper()
	memory := vfs.NewMemory()
	r := &ruin{acked: map[string][]record.Batch{}, next: map[string]int64{}, ids: map[string][16]byte{}}
	r.with(t, memory, func(b *Broker, w *wire) {
		for _, name := range []string{"a", "b", "c"} {
			if err := w.createTopic(name, 2); err != nil {
				t.Fatal(err)
			}
			r.ids[name] = b.catalog.Snapshot().Topic(name).ID
		}
		for i := range 30 {
			name, index := string(rune('a'+i%3)), int32(i/3%2)
			batch := keyedBatch(newDice(uint64(i)), -1, 0, 1+i%4)
			if i%10 == 9 {
				if _, err := ask[*kmsg.InitProducerIDResponse](w, kmsg.NewPtrInitProducerIDRequest()); err != nil {
					t.Fatal(err)
				}
			}
			base := mustProduce(t, w, name, index, slices.Clone(batch))
			key := fmt.Sprintf("%s-%d", name, index)
			r.acked[key] = append(r.acked[key], batch)
			r.next[key] = base + int64(batch.Header().Count)
		}
		r.disk = memory.KillClone()
		if powerCut {
			r.disk = memory.CrashClone(5)
		}
	})
	return r
}

func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 9)) }

// with opens a broker on a disk for as long as fn runs.
func (r *ruin) with(t *testing.T, disk vfs.FS, fn func(*Broker, *wire)) {
	t.Helper()
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: ruinSettings(), files: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}()
	w, err := dial(b)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	fn(b, w)
}

func mustProduce(t *testing.T, w *wire, name string, index int32, batch record.Batch) int64 {
	t.Helper()
	p := &toProduce{topic: name, index: index, batch: batch}
	resp, err := ask[*kmsg.ProduceResponse](w, produceRequest(p))
	if err == nil {
		err = errors.Join(p.take(resp), failed(p.code))
	}
	if err != nil {
		t.Fatalf("producing to %s-%d: %v %s", name, index, err, p.message)
	}
	return p.base
}

// examined is what CheckLogs, or RepairLogs, says.
func examined(t *testing.T, disk vfs.FS, repair bool) (all map[string]LogReport) {
	t.Helper()
	all = map[string]LogReport{}
	if err := examineOn(context.Background(), disk, dataDir, repair, func(r LogReport) { all[r.Partition] = r }); err != nil {
		t.Fatal(err)
	}
	return all
}

// starts reports whether a broker starts on a copy of the disk.
func starts(disk *vfs.Memory) bool {
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: ruinSettings(), files: disk.KillClone()})
	if err == nil {
		err = b.Shutdown(context.Background())
		synctest.Wait()
	}
	return err == nil
}

func flipBit(t *testing.T, disk *vfs.Memory, name string, at int64) {
	t.Helper()
	f, err := disk.OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	b[0] ^= 1
	_, writeErr := f.WriteAt(b, at)
	if err := errors.Join(err, writeErr, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// lost is how many of the acknowledged batches a broker on the disk does not serve; everything else must be as it was. It
// produces to every partition: an offset that was given before is given again only where again says so.
func (r *ruin) lost(t *testing.T, disk vfs.FS, again bool) (lost int) {
	t.Helper()
	r.with(t, disk, func(b *Broker, w *wire) {
		for name, id := range r.ids {
			if topic := b.catalog.Snapshot().Topic(name); topic == nil || topic.ID != id || topic.Partitions != 2 {
				t.Fatalf("topic %s is %+v", name, topic)
			}
		}
		for key, want := range r.acked {
			name, index := key[:1], int32(key[2]-'0')
			got, err := (&survivor{wire: w}).read(name, index)
			if err != nil {
				t.Fatalf("reading %s: %v (%v)", key, err, b.table.Topic(name).Partition(index).Offline())
			}
			found := map[uint32]bool{}
			for _, batch := range got.batches {
				if err := batch.Verify(); err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				found[batch.Header().CRC] = true
			}
			for _, batch := range want {
				if !found[batch.Header().CRC] {
					lost++
				}
			}
			if base := mustProduce(t, w, name, index, keyedBatch(newDice(99), -1, 0, 1)); base < r.next[key] && !again {
				t.Errorf("%s: offset %d is given a second time", key, base)
			}
		}
	})
	return lost
}

// A bit flips in the write-ahead log: after a kill the segments have everything, after a power cut no more than the damaged
// batch is lost.
func TestABrokerStartsAgainWithARepairedWriteAheadLog(t *testing.T) {
	for _, powerCut := range []bool{false, true} {
		damaged := 0
		walk(t, powerCut, filepath.Join("wal", "0000000000000001.wal"), 41*stride, func(r *ruin, disk *vfs.Memory, at int64) {
			damaged++
			found := examined(t, disk, false)[WriteAheadLog]
			if len(found.Damage) == 0 || !found.Offline || found.Repaired {
				t.Errorf("byte %d: found %+v", at, found)
			}
			for name, x := range examined(t, disk, true) {
				if x.Err != nil || x.Offline || x.Lost {
					t.Errorf("byte %d: %s: %+v", at, name, x)
				}
			}
			most := 0
			if powerCut {
				most = 1
			}
			again := powerCut && strings.Contains(strings.Join(found.Notes, "\n"), "nobody can tell the partition")
			if lost := r.lost(t, disk, again); lost > most {
				t.Errorf("byte %d, power cut %v: %d batches are lost", at, powerCut, lost)
			}
		})
		if damaged < 50/stride {
			t.Errorf("only %d flips were damage", damaged)
		}
	}
}

// walk damages one byte after another of a file, and calls fn where no broker starts any more.
func walk(t *testing.T, powerCut bool, file string, step int64, fn func(r *ruin, disk *vfs.Memory, at int64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, powerCut)
		at := int64(0)
		defer func() {
			if t.Failed() {
				t.Logf("power cut %v, byte %d of %s", powerCut, at, file)
			}
		}()
		info, err := r.disk.Stat(filepath.Join(dataDir, file))
		if err != nil {
			t.Fatal(err)
		}
		for ; at < info.Size && !t.Failed(); at += step {
			disk := r.disk.KillClone()
			flipBit(t, disk, filepath.Join(dataDir, file), at)
			if !starts(disk) {
				fn(r, disk, at)
			}
		}
	})
}

// A bit flips in the catalog: no record is lost, and the topic whose making is lost is known again from its directories.
func TestABrokerStartsAgainWithARepairedCatalog(t *testing.T) {
	damaged, adopted := 0, 0
	walk(t, false, filepath.Join(catalogDir, "catalog.log"), 7, func(r *ruin, disk *vfs.Memory, at int64) {
		found := examined(t, disk, false)[Catalog]
		if at >= 12 && at < 16 {
			if found.Err == nil {
				t.Error("a file of another version is taken for a damaged one")
			}
			return
		}
		damaged++
		if len(found.Damage) == 0 || !found.Offline {
			t.Errorf("byte %d: found %+v", at, found)
		}
		if strings.Contains(strings.Join(found.Notes, "\n"), "known again") {
			adopted++
		}
		for name, x := range examined(t, disk, true) {
			if x.Err != nil || x.Offline || x.Lost {
				t.Errorf("byte %d: %s: %+v", at, name, x)
			}
		}
		if lost := r.lost(t, disk, false); lost > 0 {
			t.Errorf("byte %d: %d batches are lost", at, lost)
		}
	})
	if damaged < 20 || adopted == 0 {
		t.Errorf("%d flips were damage, %d took a topic", damaged, adopted)
	}
}

// Nothing of a topic that was made known again is deleted before somebody has set how long it is to be kept.
func TestATopicThatIsKnownAgainKeepsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, false)
		for _, name := range []string{"catalog.log", "catalog.snapshot"} {
			_ = r.disk.Remove(filepath.Join(dataDir, catalogDir, name))
		}
		if err := vfs.WriteFile(r.disk, filepath.Join(dataDir, catalogDir, "catalog.snapshot"), []byte("nothing")); err != nil {
			t.Fatal(err)
		}
		if got := examined(t, r.disk, true)[Catalog]; !got.Repaired {
			t.Fatalf("%+v", got)
		}
		r.with(t, r.disk, func(b *Broker, _ *wire) {
			for name := range r.ids {
				if got := b.catalog.Snapshot().Topic(name).Configs["retention.ms"]; got != "-1" {
					t.Errorf("retention.ms of %s is %q", name, got)
				}
			}
		})
		if lost := r.lost(t, r.disk, false); lost > 0 {
			t.Errorf("%d batches are lost", lost)
		}
	})
}

// Nobody knows what was durable once the recovery points are gone: a start would read the logs and cut them at the first
// damage, so a repair keeps what stands behind it before it lets go of the file.
func TestABrokerStartsAgainWithoutItsCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuin(t, false)
		r.with(t, r.disk, func(*Broker, *wire) { synctest.Wait() }) // ends cleanly: the write-ahead log has nothing any more
		for _, name := range []string{"recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"} {
			if err := vfs.WriteFile(r.disk, filepath.Join(dataDir, name), []byte("0\n7\nnonsense")); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.disk.Remove(filepath.Join(dataDir, ".kafka_cleanshutdown")); err != nil {
			t.Fatal(err)
		}
		flipBit(t, r.disk, filepath.Join(dataDir, "a-0", "00000000000000000000.log"), 65) // in the first batch
		if starts(r.disk) {
			t.Fatal("a broker starts")
		}
		found := examined(t, r.disk, false)
		if got := found[Checkpoints]; !got.Offline || len(got.Damage) != 3 || len(got.Notes) != 3 {
			t.Errorf("found %+v", got)
		}
		if !found["a-0"].Lost || found["b-0"].Lost {
			t.Errorf("found %+v and %+v", found["a-0"], found["b-0"])
		}
		for name, x := range examined(t, r.disk, true) {
			if x.Err != nil || x.Offline || x.Lost {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if lost := r.lost(t, r.disk, false); lost != 1 {
			t.Errorf("%d batches are lost, want the damaged one", lost)
		}
	})
}
