package txn

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
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

// BenchmarkReplay reads back the states of 100,000 transactional ids.
func BenchmarkReplay(b *testing.B) {
	const ids = 100_000
	var c coder
	v := unborn.initialised(newStage(b, testSettings()).now, identity{1, 0}, noEpoch, 0)
	for b.Loop() {
		m := New(testSettings())
		for i := range ids {
			m.Apply(c.record(fmt.Sprintf("id-%d", i), &v))
		}
		if len(m.transactions) != ids {
			b.Fatal(len(m.transactions))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ids), "ns/id")
}
