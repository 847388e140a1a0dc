package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// BenchmarkCommit is one OffsetCommit of one partition through the machine, records applied: the coordinator's own share of
// a commit.
func BenchmarkCommit(b *testing.B) {
	for _, groups := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			w := newWorld(b, offsetSettings())
			requests := make([]*kmsg.OffsetCommitRequest, groups)
			for i := range requests {
				requests[i] = commitOf(fmt.Sprintf("group-%d", i), "orders", int32(i%12), 0)
				requests[i].Topics[0].TopicID = [16]byte{1}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r := requests[i%groups]
				r.Topics[0].Partitions[0].Offset++
				for _, rec := range w.m.Step(w.now, 1, Commit{Request: r}).Records {
					w.m.Apply(rec)
				}
			}
		})
	}
}

// BenchmarkTransaction is the coordinator's own share of a transaction that commits offsets: the guard, TxnOffsetCommit of so
// many partitions, and the marker, with so many others open meanwhile.
func BenchmarkTransaction(b *testing.B) {
	for _, c := range []struct{ partitions, others int }{{1, 0}, {1, 1000}, {100, 0}} {
		b.Run(fmt.Sprintf("partitions=%d,open=%d", c.partitions, c.others), func(b *testing.B) {
			w := newWorld(b, offsetSettings())
			for i := range c.others {
				w.txn(producer(int64(100+i), 0), "group", "orders", int32(i+c.partitions), 0)
			}
			of := producer(7, 0)
			r := txnOf(of, "group", "orders", 0, 0)
			for p := range int32(c.partitions - 1) {
				r.Topics[0].Partitions = append(r.Topics[0].Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: p + 1})
			}
			ended := machine.Record{Producer: of, Marker: &machine.Marker{Commit: true}}
			b.ReportAllocs()
			for b.Loop() {
				r.Topics[0].Partitions[0].Offset++
				token := w.m.Step(w.now, 1, Guard{Group: "group", ProducerID: of.ID}).Replies[0].Value.(GuardToken)
				for _, rec := range w.m.Step(w.now, 1, TxnCommit{Request: r, Token: token}).Records {
					w.m.Apply(rec)
				}
				w.m.Apply(ended)
			}
			if w.m.offsets.pending != int64(c.others) || w.m.offsets.stored != int64(c.partitions) {
				b.Fatalf("%d pending, %d stored", w.m.offsets.pending, w.m.offsets.stored)
			}
		})
	}
}

// BenchmarkReplay reads back a million offsets: a thousand groups on ten topics of a hundred partitions. It reports what one
// offset costs to keep.
func BenchmarkReplay(b *testing.B) {
	const groups, topics, partitions = 1000, 10, 100
	var log []machine.Record
	v := kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: 1 << 40, LeaderEpoch: 3, CommitTimestamp: 1_700_000_000_000, TopicID: [16]byte{1}}
	for g := range groups {
		for t := range topics {
			for p := range partitions {
				log = append(log, offsetRecord(fmt.Sprintf("group-%d", g), fmt.Sprintf("topic-%d", t), int32(p), &v))
			}
		}
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := New(offsetSettings())
		for _, r := range log {
			m.Apply(r)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if m.offsets.stored != int64(len(log)) {
			b.Fatalf("%d offsets of %d", m.offsets.stored, len(log))
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(log)), "bytes/offset")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log)), "ns/offset")
}

// BenchmarkExpiryCheck is the regular check over a million offsets of which none ends: the longest that a commit may have to
// wait for it.
func BenchmarkExpiryCheck(b *testing.B) {
	m := New(offsetSettings())
	v := kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: 1, CommitTimestamp: 1_700_000_000_000}
	for g := range 1000 {
		for p := range 1000 {
			m.Apply(offsetRecord(fmt.Sprintf("group-%d", g), "topic", int32(p), &v))
		}
	}
	for b.Loop() {
		if ending := m.expire(time.UnixMilli(v.CommitTimestamp)); len(ending) > 0 {
			b.Fatalf("%d records", len(ending))
		}
	}
}

// BenchmarkDeleteTopics is what the deletion of so many topics at once costs a machine for each of them, all of which a group has offsets of.
func BenchmarkDeleteTopics(b *testing.B) {
	for _, topics := range []int{1000, 20_000} {
		b.Run(fmt.Sprintf("topics=%d", topics), func(b *testing.B) {
			m := New(offsetSettings())
			names := make([]string, topics)
			for i := range names {
				names[i] = fmt.Sprintf("topic-%05d", i)
				m.Apply(offsetRecord("group", names[i], 0, &kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: 1}))
			}
			for b.Loop() {
				if n := len(m.deleteTopics(names)); n != topics {
					b.Fatalf("%d records", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*topics), "ns/topic")
		})
	}
}
