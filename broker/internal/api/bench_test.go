package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/txn"
	"github.com/skeinstream/skein/internal/vfs"
)

// benchBroker is a broker over real files and a loopback connection.
type benchBroker struct {
	*testBroker
}

func startBench(b *testing.B, configs map[string]string) *benchBroker {
	b.Helper()
	return startBenchOf(b, 1, configs)
}

func startBenchOf(b *testing.B, partitions int32, configs map[string]string) *benchBroker {
	b.Helper()
	dir := b.TempDir()
	c, err := catalog.Open(vfs.Disk(), dir+"/catalog", catalog.Options{Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := catalogtest.CreateTopic(context.Background(), c, catalog.Topic{Name: "t", Partitions: partitions, Configs: configs}); err != nil {
		b.Fatal(err)
	}
	config, err := settings.ResolveBroker(settings.Layers{})
	if err != nil {
		b.Fatal(err)
	}
	broker := func() *settings.Broker { return &config }
	table, err := partition.Open(context.Background(), partition.Options{FS: vfs.Disk(), Dir: dir + "/data", Broker: broker}, c.Snapshot())
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- table.Run(context.Background()) }()
	t := &testBroker{Handler: New(Deps{Catalog: c, NodeID: 1, Broker: broker, Now: time.Now, Table: table}), t: b}
	s := server.New(server.Config{}, t.Handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, testListener) }()
	if t.conn, err = net.Dial("tcp", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = t.conn.Close()
		if err := errors.Join(s.Shutdown(context.Background()), <-served, table.Shutdown(context.Background()), <-ended, c.Close()); err != nil {
			b.Error(err)
		}
	})
	return &benchBroker{testBroker: t}
}

// requests writes n copies of a request and reads n answers, so many in flight.
func (b *benchBroker) requests(t *testing.B, req kmsg.Request, n, inFlight int) {
	frame := frameOf(req.Key(), req.GetVersion(), true, req.AppendTo(nil))
	b.frames(t, n, inFlight, func(int) []byte { return frame })
}

// frames is requests with a frame for each.
func (b *benchBroker) frames(t *testing.B, n, inFlight int, frame func(i int) []byte) {
	free := make(chan struct{}, inFlight)
	go func() {
		for i := range n {
			free <- struct{}{}
			if _, err := b.conn.Write(frame(i)); err != nil {
				return
			}
		}
	}()
	head, rest := make([]byte, 4), make([]byte, 64<<10)
	for range n {
		if _, err := io.ReadFull(b.conn, head); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b.conn, rest[:binary.BigEndian.Uint32(head)]); err != nil {
			t.Fatal(err)
		}
		<-free
	}
}

func benchProduce(b *testing.B, mode string, inFlight int) {
	broker := startBench(b, map[string]string{"skein.durability": mode})
	req := broker.produceTo(9, "t", 0, records(string(make([]byte, 100))))
	b.ReportAllocs()
	b.ResetTimer()
	broker.requests(b, req, b.N, inFlight)
}

func BenchmarkProduceOS(b *testing.B)          { benchProduce(b, "os", 64) }
func BenchmarkProduceAlways(b *testing.B)      { benchProduce(b, "always", 64) }
func BenchmarkProduceAlwaysAlone(b *testing.B) { benchProduce(b, "always", 1) }

// BenchmarkProduceSequenced is an idempotent producer, and one in a transaction that is open where it writes.
func BenchmarkProduceSequenced(b *testing.B) {
	for _, transactional := range []bool{false, true} {
		b.Run(fmt.Sprintf("transactional=%t", transactional), func(b *testing.B) {
			broker := startBench(b, map[string]string{"skein.durability": "os"})
			asked := always(txn.Added{})
			broker.Transactions = asked
			frames := make([][]byte, b.N)
			for i := range frames {
				batch := record.NewBuilder(0)
				batch.Transactional, batch.ProducerID, batch.BaseSequence = transactional, 7, int32(i)
				batch.ProducerEpoch = 0
				req := broker.produceTo(12, "t", 0, batch.Append(time.Now().UnixMilli(), nil, make([]byte, 100)).Bytes())
				if transactional {
					req.TransactionID = pointer("id")
				}
				frames[i] = frameOf(0, 12, true, req.AppendTo(nil))
			}
			b.ReportAllocs()
			b.ResetTimer()
			broker.frames(b, b.N, 64, func(i int) []byte { return frames[i] })
			if n := len(asked.inputs()); n > 1 {
				b.Errorf("the coordinator was asked %d times", n)
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	broker := startBench(b, map[string]string{"skein.durability": "os"})
	broker.wrote("t", 0, records(string(make([]byte, 1000))))
	req := broker.fetchOf(12, fetchFrom{"t", 0, 0})
	b.ReportAllocs()
	b.ResetTimer()
	broker.requests(b, req, b.N, 64)
}

// BenchmarkFetchSession is a consumer of many partitions: each round, one of them gets a batch while the fetch waits.
func BenchmarkFetchSession(b *testing.B) {
	const partitions = 1000
	broker := startBenchOf(b, partitions, map[string]string{"skein.durability": "os"})
	req := broker.fetchOf(12)
	for i := range int32(partitions) {
		req.Topics = append(req.Topics, broker.fetchOf(12, fetchFrom{"t", i, 0}).Topics...)
	}
	req.SessionEpoch, req.MaxBytes = 0, 1<<20
	session := broker.fetched(req)
	req = broker.fetchOf(12)
	req.SessionID, req.MaxWaitMillis = session.SessionID, 10_000
	batch := records("v")
	waiting := make(chan struct{})
	go func() {
		for i := range b.N {
			<-waiting
			done := make(appendDone)
			a := partition.Append{Records: slices.Clone(batch), Done: done}
			broker.Table.Topic("t").Partition(int32(i % partitions)).Append(&a)
			<-done
		}
	}()
	next := make([]int64, partitions)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		req.SessionEpoch = int32(i%1_000_000) + 1
		waiting <- struct{}{}
		resp := broker.fetched(req)
		req.Topics = req.Topics[:0]
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				next[p.Partition] = p.HighWatermark
				req.Topics = append(req.Topics, broker.fetchOf(12, fetchFrom{"t", p.Partition, p.HighWatermark}).Topics...)
			}
		}
	}
}

type appendDone chan struct{}

func (d appendDone) Appended(*partition.Append) { close(d) }
