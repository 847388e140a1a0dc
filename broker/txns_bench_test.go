package broker

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkTransaction is transactions of so many producers with one record each, on a disk: what a client waits for is the
// record and the end.
func BenchmarkTransaction(b *testing.B) {
	for _, old := range []bool{false, true} {
		for _, producers := range []int{1, 8} {
			b.Run(fmt.Sprintf("old=%t/producers=%d", old, producers), func(b *testing.B) { transactionBenchmark(b, old, producers, false) })
		}
	}
	b.Run("offsets/producers=8", func(b *testing.B) { transactionBenchmark(b, false, 8, true) })
}

func transactionBenchmark(b *testing.B, old bool, producers int, offsets bool) {
	br, err := Open(context.Background(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Shutdown(context.Background()) }()
	setup, err := dial(br)
	if err != nil {
		b.Fatal(err)
	}
	defer setup.close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: int32(producers), ReplicationFactor: 1}}
	if _, err := ask[*kmsg.CreateTopicsResponse](setup, req); err != nil {
		b.Fatal(err)
	}
	all := make([]*txnProducer, producers)
	for i := range all {
		w, err := dial(br)
		if err != nil {
			b.Fatal(err)
		}
		defer w.close()
		all[i] = &txnProducer{w: w, id: fmt.Sprint("id ", i)}
		w.old = old
		if err := retrying(all[i].begin); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var work sync.WaitGroup
	for i, p := range all {
		work.Go(func() {
			for n := i; n < b.N; n += producers {
				if err := p.send(partitionName{"t", int32(i)}, "value"); err != nil {
					b.Error(err)
					return
				}
				if offsets {
					if err := retrying(func() error { return p.commitOffset(fmt.Sprint("group ", i), "t", int64(n)) }); err != nil {
						b.Error(err)
						return
					}
				}
				if err := p.end(true); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
}
