package txn

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// BenchmarkTransaction is an AddPartitionsToTxn and an EndTxn through the machine, records applied: the coordinator's own
// share of a transaction.
func BenchmarkTransaction(b *testing.B) {
	for _, partitions := range []int{1, 10, 100} {
		for _, version := range []int16{4, 5} {
			b.Run(fmt.Sprintf("partitions=%d/v=%d", partitions, version), func(b *testing.B) { benchmarkTransaction(b, partitions, version) })
		}
	}
}

func benchmarkTransaction(b *testing.B, partitions int, version int16) {
	st := &runner{m: New(testSettings()), now: newStage(b, testSettings()).now}
	id := "bench"
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionalID, r.TransactionTimeoutMillis = &id, 60_000
	st.step(Init{Ends: Ends{NewProducerID: 1}, Request: r})
	add := Add{Caller: Caller{Version: 3, Connection: 1}, TransactionalID: id, ProducerID: 1}
	for p := range partitions {
		add.Partitions = append(add.Partitions, Partition{"orders", int32(p)})
	}
	end := End{Caller: Caller{Version: version, Connection: 1}, Ends: Ends{NewProducerID: noProducerID}, TransactionalID: id, ProducerID: 1, Commit: true}
	fresh := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		if added := st.step(add).(Added); added.Code != 0 {
			b.Fatal(added)
		}
		fresh++
		end.NewProducerID = fresh
		ended := st.step(end).(Ended)
		if ended.Code != 0 {
			b.Fatal(ended)
		}
		add.ProducerID, add.Epoch = ended.ProducerID, ended.Epoch
		end.ProducerID, end.Epoch = ended.ProducerID, ended.Epoch
	}
}

// BenchmarkReplay reads back the states of 100,000 transactional ids. It reports what one costs to keep.
func BenchmarkReplay(b *testing.B) {
	const ids = 100_000
	var c coder
	v := unborn.initialised(newStage(b, testSettings()).now, identity{1, 0}, noEpoch, 0)
	log := make([]machine.Record, ids)
	for i := range log {
		log[i] = c.record(fmt.Sprintf("transactional-id-%d", i), &v)
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := New(testSettings())
		for _, r := range log {
			m.Apply(r)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if len(m.transactions) != ids {
			b.Fatal(len(m.transactions))
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/ids, "bytes/id")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ids), "ns/id")
}

// BenchmarkExpiryCheck is the regular check over 100,000 transactional ids of which none ends: the longest that a request may have
// to wait for it.
func BenchmarkExpiryCheck(b *testing.B) {
	var c coder
	m, now := New(testSettings()), newStage(b, testSettings()).now
	v := unborn.initialised(now, identity{1, 0}, noEpoch, 0)
	for i := range 100_000 {
		m.Apply(c.record(fmt.Sprintf("transactional-id-%d", i), &v))
	}
	m.now = now
	for b.Loop() {
		m.expire()
	}
	if o := m.finish(); len(o.Records) > 0 {
		b.Fatalf("%d records", len(o.Records))
	}
}
