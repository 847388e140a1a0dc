//go:build synctests

package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What was fetched at once is worked off batch by batch, while the next fetch is under way. Nothing more is taken out of franz-go before it is: so
// memory is bounded by what it fetches.
func TestTheNextFetchDoesNotWaitForTheWork(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 20)
		w.writes("t", 1, 20)
		var sent requests
		cfg := w.config()
		cfg.MaxPollRecords, cfg.Cluster.Options = 3, []kgo.Opt{kgo.WithHooks(&sent)}
		a := w.idler("a", cfg, "t")
		read := a.polled().Len()
		before := sent.counts[kmsg.Fetch].Load()
		pass(10 * fetchMaxWait)
		beside := a.held.NumRecords() > 0 && a.kafka.BufferedFetchRecords() > 0 // it was under way already when they were counted
		if sent.counts[kmsg.Fetch].Load() == before && !beside {
			t.Error("nothing is fetched while a batch is worked on")
		}
		w.writes("t", 0, 20)
		pass(10 * fetchMaxWait)
		before = sent.counts[kmsg.Fetch].Load()
		pass(10 * fetchMaxWait)
		if n := sent.counts[kmsg.Fetch].Load() - before; n > 0 {
			t.Errorf("it has fetched on %d times, though nobody has taken what there is", n)
		}
		for read < 60 {
			b := a.polled()
			if read += b.Len(); b.Len() > 3 {
				t.Errorf("a batch of %d records", b.Len())
			}
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 40, 1: 20})
	})
}

// What is held of a partition is bounded by one fetch, however often another one is sought: what franz-go has of it besides is fetched again, in
// order, and none of it is lost.
func TestSeeksHoldNoMoreAndMore(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 20)
		w.writes("t", 1, 200)
		cfg := w.config()
		var sent requests
		cfg.MaxPollRecords, cfg.Cluster.Options = 1, []kgo.Opt{kgo.FetchMaxPartitionBytes(512), kgo.WithHooks(&sent)}
		r := w.idler("a", cfg, "t")
		next, most := int64(0), 0
		for next < 200 {
			for record := range r.polled().Records() {
				if record.Partition != 1 {
					continue
				}
				if record.Offset != next {
					t.Errorf("after %d comes %d", next-1, record.Offset)
				}
				next = record.Offset + 1
			}
			w.ok(r.Seek(tp("t", 0), 0))
			pass(fetchMaxWait)
			most = max(most, r.held.NumRecords())
		}
		if most > 20 { // one fetch is some 10 of each
			t.Errorf("%d records were held", most)
		}
		if sent.counts[kmsg.OffsetForLeaderEpoch].Load() == 0 { // KIP-320
			t.Error("nobody has asked whether what was fetched is there still")
		}
		r.close()
	})
}

// What is held of a partition is handed out before what comes after it, though it was paused when the held was looked at last.
func TestWhatIsHeldComesFirst(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.config()
		cfg.MaxPollRecords = 2
		r := w.reader(cfg, tp("t", 0))
		pass(fetchMaxWait)
		come := func(first, n int64) kgo.Fetches {
			return fetchOf("t", kgo.FetchPartition{Records: recordsOf(first, n)})
		}
		r.Pause(tp("t", 0))
		if b, _ := r.accept(come(0, 3)); b.Len() > 0 {
			t.Errorf("%d records of a partition that is paused", b.Len())
		}
		r.Resume(tp("t", 0))
		b, _ := r.accept(come(3, 3))
		next := int64(0)
		for ; b.Len() > 0; b, _ = r.accept(nil) {
			for record := range b.Records() {
				if record.Offset != next {
					t.Errorf("after %d comes %d", next-1, record.Offset)
				}
				next = record.Offset + 1
			}
		}
		if next != 6 {
			t.Errorf("it ends before %d", next)
		}
		r.ends()
	})
}

// What franz-go says of a partition, it may say once. It is not forgotten while records of others are worked on, and these are read from elsewhere.
func TestErrorsBehindABatchAreNotForgotten(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		cfg := w.config()
		cfg.MaxPollRecords = 1
		r := w.reader(cfg, tp("t", 0), tp("t", 1))
		pass(fetchMaxWait)
		refused := kgo.FetchPartition{Partition: 1, Err: kerr.TopicAuthorizationFailed}
		if b, _ := r.accept(fetchOf("t", kgo.FetchPartition{Records: recordsOf(0, 3)}, refused)); b.Len() != 1 {
			t.Errorf("%d records", b.Len())
		}
		w.ok(r.Seek(tp("t", 0), 0))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := r.Poll(ctx); !errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Errorf("polling: %v", err)
		}
		r.ends()
	})
}

// Many partitions that are paused are held as one list, in the order in which they came; a batch that is full cuts it anywhere.
func TestWhatIsLeftKeepsItsOrder(t *testing.T) {
	part := func(p int32, first, n int64) kgo.FetchPartition {
		return kgo.FetchPartition{Partition: p, Records: recordsOf(first, n)}
	}
	table := &table{partitions: map[TopicPartition]*partition{}}
	for p := range int32(3) {
		table.partitions[tp("t", p)] = &partition{TopicPartition: tp("t", p), placed: true, paused: p < 2}
	}
	fetches := append(fetchOf("t", part(0, 0, 1), part(1, 0, 2), part(2, 0, 3)), fetchOf("t", part(1, 2, 1), part(2, 3, 4))...)
	b, left, _ := table.accept(fetches, 2)
	if b.Len() != 2 || left.NumRecords() != 9 || len(left[0].Topics[0].Partitions) != 2 {
		t.Fatalf("%d records, left are %d in %d lists: %v", b.Len(), left.NumRecords(), len(left), left)
	}
	for p := range int32(2) {
		table.partitions[tp("t", p)].paused = false
	}
	next := map[int32]int64{2: 2}
	for len(left) > 0 {
		if b, left, _ = table.accept(left, 2); b.Len() != 2 && len(left) > 0 {
			t.Fatalf("a batch of %d records", b.Len())
		}
		for r := range b.Records() {
			if r.Offset != next[r.Partition] {
				t.Errorf("of partition %d came %d, not %d", r.Partition, r.Offset, next[r.Partition])
			}
			next[r.Partition] = r.Offset + 1
		}
	}
	if next[0] != 1 || next[1] != 3 || next[2] != 7 {
		t.Errorf("they end before %v", next)
	}
}

// The ends of transactions are no records: a batch of nothing else would have Poll wait, though there are records behind it.
func TestEndsOfTransactionsFillNoBatch(t *testing.T) {
	table := &table{partitions: map[TopicPartition]*partition{tp("t", 0): {TopicPartition: tp("t", 0), placed: true}}}
	records := recordsOf(0, 7)
	for _, i := range []int{0, 1, 2, 4, 6} {
		records[i].Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Control: true})
	}
	b, left, _ := table.accept(fetchOf("t", kgo.FetchPartition{Records: records}), 1)
	if at := table.partitions[tp("t", 0)].position.at; b.Len() != 1 || at != 4 || b.Partitions[0].Records[0].Offset != 3 {
		t.Errorf("%d records, up to %d", b.Len(), at)
	}
	_ = append(b.Partitions[0].Records, new(Record)) // which is the user's right
	b, left, _ = table.accept(left, -1)
	if at := table.partitions[tp("t", 0)].position.at; b.Len() != 1 || at != 7 || b.Partitions[0].Records[0].Offset != 5 || len(left) > 0 {
		t.Errorf("%d records, up to %d, left is %v", b.Len(), at, left)
	}
}

func fetchOf(topic string, partitions ...kgo.FetchPartition) kgo.Fetches {
	for i := range partitions {
		for _, r := range partitions[i].Records {
			r.Topic, r.Partition = topic, partitions[i].Partition
		}
	}
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: topic, Partitions: partitions}}}}
}

func recordsOf(first, n int64) (list []*Record) {
	for i := range n {
		list = append(list, &Record{Offset: first + i})
	}
	return list
}
