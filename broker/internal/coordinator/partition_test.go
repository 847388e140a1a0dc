package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/vfs"
)

// inBroker runs a test with the partitions of two topics.
func inBroker(t *testing.T, test func(b *broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := openBroker(t, vfs.NewMemory())
		b.run()
		b.create("coordinated", 2, nil)
		b.create("other", 2, nil)
		test(b)
		b.stop(true)
	})
}

// opened is the log of a shard, replayed.
func (b *broker) opened(shard int32, codec record.Codec) *PartitionLog {
	b.t.Helper()
	l := NewPartitionLog(b.table.Topic("coordinated").Partition(shard), LogOptions{Table: b.table, Codec: codec, Now: time.Now})
	b.check(l.Replay(context.Background(), func(machine.Record) error { return nil }))
	return l
}

func records(keys ...string) (all []machine.Record) {
	for _, k := range keys {
		all = append(all, machine.Record{Key: []byte(k), Value: []byte("1")})
	}
	return all
}

// write appends and waits.
func write(l *PartitionLog, own []machine.Record, group ...machine.Write) (err error) {
	err = errors.New("not told")
	l.Append(own, group, func(e error) { err = e })
	synctest.Wait()
	return err
}

func keys(d durable) (all []string) {
	for k := range d {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func (b *broker) expectKeys(topic string, shard int32, want ...string) {
	b.t.Helper()
	if got := keys(b.state(topic, shard)); !slices.Equal(got, want) {
		b.t.Errorf("%s-%d has %v, want %v", topic, shard, got, want)
	}
}

func TestALogIsReplayedBeforeItIsWritten(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.log("coordinated", 0)
		if err := write(l, records("early")); err == nil {
			t.Error("it was written")
		}
		b.expectKeys("coordinated", 0)
	})
}

func TestGroupsOfTransactionsAndMarkers(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		p := machine.Producer{Transactional: true, ID: 7, Epoch: 1}
		b.check(write(l, nil,
			machine.Write{Topic: "coordinated", Partition: 0, Producer: p, Records: records("own")},
			machine.Write{Topic: "other", Partition: 0, Producer: p, Records: records("there")}))
		b.expectKeys("coordinated", 0)
		b.expectKeys("other", 0)
		b.check(write(l, records("ended"),
			machine.Write{Topic: "other", Partition: 0, Producer: p, Marker: &machine.Marker{Commit: true}},
			machine.Write{Topic: "other", Partition: 1, Producer: p, Marker: &machine.Marker{Commit: true}}))
		b.expectKeys("other", 0, "there")
		b.expectKeys("coordinated", 0, "ended") // whose own transaction is still open
		b.check(write(l, nil, machine.Write{Topic: "coordinated", Partition: 0, Producer: p, Marker: &machine.Marker{}}))
		b.check(write(l, records("after")))
		b.expectKeys("coordinated", 0, "after", "ended")
	})
}

// What is for a topic that has been deleted needs nobody's mark.
func TestGroupsPassOverWhatIsGone(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		b.check(write(l, records("a"), machine.Write{Topic: "gone", Records: records("x")}, machine.Write{Topic: "other", Partition: 9, Records: records("x")}))
		b.check(write(l, nil, machine.Write{Topic: "gone", Records: records("x")}))
		b.check(write(l, records("b")))
		b.expectKeys("coordinated", 0, "a", "b")
	})
}

func TestRecordsAreCompressed(t *testing.T) {
	inBroker(t, func(b *broker) {
		for shard, codec := range []record.Codec{record.None, record.Zstd} {
			l := b.opened(int32(shard), codec)
			b.check(write(l, []machine.Record{{Key: []byte("a"), Value: []byte("1 " + strings.Repeat("x", 10_000))}}))
			b.expectKeys("coordinated", int32(shard), "a")
		}
		topic := b.table.Topic("coordinated")
		if plain, small := topic.Partition(0).Size(), topic.Partition(1).Size(); small > plain/10 {
			t.Errorf("%d bytes without and %d with compression", plain, small)
		}
	})
}

// Somebody else has written to the partition: the machine does not know it all any more, so the log says no until it has
// been read again.
func TestALogThatHasMovedIsReadAgain(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		b.check(write(l, records("a")))
		b.check(write(b.opened(0, record.None), records("foreign")))
		for range 2 {
			if err := write(l, records("b")); err == nil {
				t.Error("it was written")
			}
		}
		b.check(l.Replay(context.Background(), func(machine.Record) error { return nil }))
		b.check(write(l, records("b")))
		b.expectKeys("coordinated", 0, "a", "b", "foreign")
	})
}

func TestAPartitionTwiceInAGroupIsRefused(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		if err := write(l, records("a"), machine.Write{Topic: "coordinated", Partition: 0, Records: records("b")}); err == nil {
			t.Error("it was written")
		}
		b.expectKeys("coordinated", 0)
	})
}

func TestALogOfADeletedTopic(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		p := b.table.Topic("coordinated").Partition(0)
		b.delete("coordinated")
		if l.Refusal() == nil || write(l, records("a")) == nil || !p.Deleted() {
			t.Error("it is written")
		}
		if err := NewPartitionLog(p, LogOptions{Now: time.Now}).Replay(context.Background(), nil); err == nil {
			t.Error("it is read")
		}
	})
}

var _ partition.Appended = (*ownAppend)(nil)

// The memory of a large batch is not kept for the small ones that follow.
func TestALargeBatchLeavesNoMemoryBehind(t *testing.T) {
	inBroker(t, func(b *broker) {
		l := b.opened(0, record.None)
		first := l.builder
		b.check(write(l, records("small")))
		if l.builder != first {
			t.Error("the memory of a small batch is not used again")
		}
		b.check(write(l, []machine.Record{{Key: []byte("large"), Value: make([]byte, builderBytes)}}))
		if l.builder == first {
			t.Error("the memory of a large batch is kept")
		}
		b.expectKeys("coordinated", 0, "large", "small")
	})
}

// Nor is that of an append with many records.
func TestALargeFlightLeavesNoMemoryBehind(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("first", add{"a"})
		for range 4 * flightKept {
			h.ask(0, "one of many", add{"a"})
		}
		for synctest.Wait(); h.disk.pending() > 0; synctest.Wait() {
			h.disk.settle(1, nil)
		}
		if len(h.shards[0].free) == 0 {
			t.Error("no flight is used again")
		}
		for _, f := range h.shards[0].free {
			if n := max(cap(f.records), cap(f.replies)); n > flightKept {
				t.Errorf("a flight with room for %d is kept", n)
			}
		}
	})
}
