package partition

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// outcome is what became of a group.
type outcome struct {
	mu   sync.Mutex
	told int
	err  error
}

func (o *outcome) done(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told++
	o.err = err
}

func (o *outcome) get() (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told, o.err
}

// group sends one value to each partition, as a group.
func (w *world) group(value string, ps ...*Partition) *outcome {
	var shares []Share
	for _, p := range ps {
		shares = append(shares, Share{Partition: p, Records: built(value), At: Anywhere})
	}
	return w.groupOf(shares...)
}

func (w *world) groupOf(shares ...Share) *outcome {
	o := &outcome{}
	if err := w.AppendGroup(shares, o.done); err != nil {
		o.done(err)
	}
	return o
}

func (w *world) grouped(value string, ps ...*Partition) error {
	w.t.Helper()
	o := w.group(value, ps...)
	synctest.Wait()
	told, err := o.get()
	if told != 1 {
		w.t.Fatalf("told %d times", told)
	}
	return err
}

func TestGroupsReachEveryPartition(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.start().create("a", 2), w.create("b", 1)
		if err := w.grouped("1", a.Partition(1), b.Partition(0), a.Partition(0)); err != nil {
			t.Fatal(err)
		}
		w.appendedAt(a.Partition(0), built("2"), 1, 0)
		if err := w.grouped("3", a.Partition(0), b.Partition(0)); err != nil {
			t.Fatal(err)
		}
		w.expectValues(a.Partition(0), "1", "2", "3")
		w.expectValues(a.Partition(1), "1")
		w.expectValues(b.Partition(0), "1", "3")
		if err := w.grouped("nobody"); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

// When one partition cannot take its share, none does.
func TestGroupsAreRefusedAsAWhole(t *testing.T) {
	inBubble(t, func(w *world) {
		a, gone := w.start().create("a", 1).Partition(0), w.create("gone", 1)
		w.deleteTopic(gone)
		if err := w.grouped("x", a, gone.Partition(0)); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Error(err)
		}
		if err := w.grouped("x", a, a); err == nil {
			t.Error("a partition is in it twice")
		}
		b := w.create("b", 1).Partition(0)
		o := w.groupOf(Share{a, built("x"), 0}, Share{b, built("x"), 5})
		synctest.Wait()
		if told, err := o.get(); told != 1 || err == nil {
			t.Errorf("an offset that is not the end: told %d times: %v", told, err)
		}
		o = &outcome{}
		o = w.groupOf(Share{a, built("x"), 0}, Share{b, []byte("no batch"), 0})
		if told, err := o.get(); told != 1 || err == nil {
			t.Errorf("bytes that are no batch: told %d times: %v", told, err)
		}
		w.expectValues(a)
		w.expectValues(b)
		w.stop()
	})
}

func TestAGroupWhoseWriteFailsIsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		a, b := w.create("a", 1).Partition(0), w.create("b", 1).Partition(0)
		remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		if err := w.grouped("x", a, b); !errors.Is(err, kerr.KafkaStorageError) {
			t.Error(err)
		}
		remove()
		if err := w.grouped("y", a, b); err != nil {
			t.Error(err)
		}
		w.expectValues(a, "y")
		w.expectValues(b, "y")
		w.stop()
	})
}

// A topic that is deleted while the group is on its way does not keep the others waiting.
func TestAPartitionThatGoesMeanwhileDoesNotFailTheGroup(t *testing.T) {
	inBubble(t, func(w *world) {
		a, topic := w.start().create("a", 1).Partition(0), w.create("b", 1)
		for i := range 20 {
			o := w.group(fmt.Sprint(i), a, topic.Partition(0))
			w.deleteTopic(topic)
			synctest.Wait()
			if told, err := o.get(); told != 1 || err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Fatalf("told %d times: %v", told, err)
			}
			topic = w.create("b", 1)
		}
		w.stop()
	})
}

// A partition whose mode is relaxed writes past the log, so it becomes strict for a group, and relaxed again when none has come
// for a while. Nothing overtakes anything.
func TestRelaxedPartitionsAreStrictForAGroup(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.start().create("a", 1, "skein.durability", "os").Partition(0), w.create("b", 1).Partition(0)
		for i := range int64(5) {
			w.appendedAt(a, built("r"), 2*i, 0)
			if err := w.grouped("g", a, b); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				w.settle(holdStrict + time.Millisecond)
				expectMode(t, a, true)
			}
		}
		w.expectValues(a, "r", "g", "r", "g", "r", "g", "r", "g", "r", "g")
		w.restart()
		w.expectValues(w.partition("a"), "r", "g", "r", "g", "r", "g", "r", "g", "r", "g")
		w.stop()
	})
}

func expectMode(t *testing.T, p *Partition, relaxed bool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.relaxed != relaxed || p.changing {
		t.Fatalf("relaxed %v, changing %v; want relaxed %v", p.relaxed, p.changing, relaxed)
	}
}

// Groups that follow each other cost one sync of a segment, not one each, and each lets the partition stay strict for longer.
func TestGroupsInARowMakeAPartitionStrictOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		n := syncs(faults)
		w := newWorld(t, faults).start()
		p := w.create("t", 1, "skein.durability", "os").Partition(0)
		w.appendedAt(p, built("r"), 0, 0)
		for range 10 {
			if err := w.grouped("g", p); err != nil {
				t.Fatal(err)
			}
			w.settle(holdStrict * 3 / 4)
			expectMode(t, p, false)
		}
		if *n != 1 {
			t.Errorf("%d syncs, want 1", *n)
		}
		w.settle(holdStrict)
		expectMode(t, p, true)
		w.stop()
	})
}

// Many write at once, to partitions in both modes, alone and in groups, while the modes change: every answer is right.
func TestGroupsAmongOtherAppends(t *testing.T) {
	inBubble(t, func(w *world) {
		var ps []*Partition
		var topics []*Topic
		w.start()
		for i := range 3 {
			topics = append(topics, w.create(fmt.Sprint("t", i), 1, "skein.durability", []string{"always", "os", "interval"}[i]))
			ps = append(ps, topics[i].Partition(0))
		}
		dice := rand.New(rand.NewPCG(1, 2))
		var all []*outcome
		var plain []*waitFor
		for i := range 400 {
			switch n := dice.IntN(10); {
			case n < 5:
				plain = append(plain, sendAt(ps[dice.IntN(3)], built(fmt.Sprint("p", i)), Anywhere))
			case n < 9:
				order := dice.Perm(3)[:2+dice.IntN(2)]
				var in []*Partition
				for _, j := range order {
					in = append(in, ps[j])
				}
				all = append(all, w.group(fmt.Sprint("g", i), in...))
			default:
				w.configure(topics[dice.IntN(3)], "skein.durability", []string{"always", "os", "interval"}[dice.IntN(3)])
			}
			if dice.IntN(5) == 0 {
				synctest.Wait()
			}
		}
		w.settle(5 * time.Second)
		for _, o := range all {
			if told, err := o.get(); told != 1 || err != nil {
				t.Fatalf("a group was told %d times: %v", told, err)
			}
		}
		for _, f := range plain {
			if f.count() != 1 || f.Result.Code != 0 {
				t.Fatalf("an append was told %d times: %d", f.count(), f.Result.Code)
			}
		}
		before := [][]string{w.values(ps[0]), w.values(ps[1]), w.values(ps[2])}
		w.restart()
		for i := range 3 {
			w.expectValues(w.partition(fmt.Sprint("t", i)), before[i]...)
		}
		w.stop()
	})
}

// A transaction over two partitions that ends in one step.
func TestAGroupOfMarkers(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.start().create("a", 1).Partition(0), w.create("b", 1).Partition(0)
		w.appendedAt(a, ofTransaction(7, 1, "one"), 0, 0)
		w.appendedAt(b, ofTransaction(7, 1, "two"), 0, 0)
		o := w.groupOf(Share{a, marker(record.Commit, 7, 1), 1}, Share{b, marker(record.Commit, 7, 1), Anywhere})
		synctest.Wait()
		if told, err := o.get(); told != 1 || err != nil {
			t.Fatalf("told %d times: %v", told, err)
		}
		w.expectValues(a, "one")
		w.expectValues(b, "two")
		if a.LastStableOffset() != 2 || b.LastStableOffset() != 2 {
			t.Error("last stable offsets:", a.LastStableOffset(), b.LastStableOffset())
		}
		w.stop()
	})
}

// What a relaxed partition has written before a group is durable with it: the log must not go on behind a hole.
func TestAPowerCutLeavesNoHoleBelowAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		w := newWorld(t, memory).start()
		a, b := w.create("a", 1, "skein.durability", "os").Partition(0), w.create("b", 1).Partition(0)
		w.appendedAt(a, built("r"), 0, 0)
		if err := w.grouped("g", a, b); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			after := newWorld(t, memory.CrashClone(seed)).start()
			after.expectValues(after.partition("a"), "r", "g")
			after.expectValues(after.partition("b"), "g")
			after.stop()
		}
		w.stop()
	})
}

// TestAGroupWithAStaleMarker is refused as a whole, and costs nobody anything: the producer's epoch, or the coordinator's, is
// older than what a partition knows (R-K28).
func TestAGroupWithAStaleMarker(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.start().create("a", 1).Partition(0), w.create("b", 1).Partition(0)
		w.appendedAt(a, ofTransaction(7, 1, "one"), 0, 0)
		w.appendedAt(b, ofTransaction(7, 1, "two"), 0, 0)
		w.appendedAt(b, record.ControlMarker(record.Abort, 7, 2, 5, 1), 1, 0)
		for what, stale := range map[string][]byte{"producer": record.ControlMarker(record.Commit, 7, 1, 5, 1), "coordinator": record.ControlMarker(record.Commit, 7, 2, 4, 1)} {
			o := w.groupOf(Share{a, record.ControlMarker(record.Commit, 7, 2, 5, 1), Anywhere}, Share{b, stale, Anywhere})
			synctest.Wait()
			if told, err := o.get(); told != 1 || err == nil {
				t.Errorf("a stale %s: told %d times: %v", what, told, err)
			}
		}
		w.expectValues(a)
		w.expectValues(b)
		if a.LastStableOffset() != 0 || b.LastStableOffset() != 2 {
			t.Errorf("stable up to %d and %d", a.LastStableOffset(), b.LastStableOffset())
		}
		o := w.groupOf(Share{a, record.ControlMarker(record.Commit, 7, 2, 5, 1), 1}, Share{b, record.ControlMarker(record.Commit, 7, 2, 5, 1), 2})
		synctest.Wait()
		if _, err := o.get(); err != nil || a.LastStableOffset() != 2 || b.LastStableOffset() != 3 {
			t.Errorf("stable up to %d and %d: %v", a.LastStableOffset(), b.LastStableOffset(), err)
		}
		w.expectValues(a, "one")
		w.stop()
	})
}
