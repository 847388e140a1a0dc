package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/vfs"
)

// inBroker runs a test against a whole broker but for the broker package: catalog, partitions, handlers and a server, over
// files in memory, in a bubble with a clock of its own.
func inBroker(t *testing.T, static map[string]string, test func(b *testBroker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(startData(t, vfs.NewMemory(), static)) })
}

// inBrokerOver is inBroker over a file system of the test's own.
func inBrokerOver(t *testing.T, fs vfs.FS, test func(b *testBroker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(startData(t, fs, nil)) })
}

func startData(t testing.TB, fs vfs.FS, static map[string]string) *testBroker {
	t.Helper()
	return startDataWith(t, fs, static, Deps{})
}

// startDataWith is startData with coordinators.
func startDataWith(t testing.TB, fs vfs.FS, static map[string]string, coordinators Deps) *testBroker {
	t.Helper()
	var table *partition.Table
	c, err := catalog.Open(fs, "catalog", catalog.Options{
		Random: rand.NewChaCha8([32]byte{}),
		Published: func(_, after *catalog.Snapshot) {
			if table != nil {
				table.Apply(after)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	layers := settings.Layers{Static: static}
	config, err := settings.ResolveBroker(layers)
	if err != nil {
		t.Fatal(err)
	}
	broker := func() *settings.Broker { return &config }
	table, err = partition.Open(context.Background(), partition.Options{
		FS: fs, Dir: "data", LeaderEpoch: c.StartCount(),
		Layers: func() settings.Layers { return layers }, Broker: broker, Forget: c.ForgetTopics,
	}, c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- table.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(table.Shutdown(context.Background()), <-ended, c.Close()); err != nil {
			t.Error(err)
		}
	})
	h := New(Deps{
		Catalog: c, NodeID: 1, Static: static, Broker: broker, Now: time.Now, Table: table,
		Groups: coordinators.Groups, Transactions: coordinators.Transactions,
	})
	b := &testBroker{Handler: h, t: t}
	b.serve()
	return b
}

// another is a second connection to the same broker.
func (b *testBroker) another() *testBroker {
	other := &testBroker{Handler: b.Handler, t: b.t}
	other.serve()
	return other
}

// topicID is the id of a topic.
func (b *testBroker) topicID(name string) [16]byte { return b.Table.Topic(name).ID }

// records is a batch with a record for each value.
func records(values ...string) []byte {
	b := record.NewBuilder(0)
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("k"), []byte(v))
	}
	return b.Bytes()
}

// produceTo is a request for one partition. From version 13 on the topic's id stands for its name.
func (b *testBroker) produceTo(version int16, topic string, partition int32, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	if found := b.Table.Topic(topic); found != nil {
		t.TopicID = found.ID
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// produced sends a request for one partition and returns its only result.
func (b *testBroker) produced(req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	b.t.Helper()
	resp := ask[*kmsg.ProduceResponse](b, req.Version, req)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		b.t.Fatalf("%d topics in the answer: %+v", len(resp.Topics), resp)
	}
	return resp.Topics[0].Partitions[0]
}

// wrote produces batches to partition 0 of a topic, which must succeed.
func (b *testBroker) wrote(topic string, partition int32, batches ...[]byte) {
	b.t.Helper()
	for _, batch := range batches {
		if r := b.produced(b.produceTo(9, topic, partition, batch)); r.ErrorCode != 0 {
			b.t.Fatalf("producing to %s: %d %s", topic, r.ErrorCode, said(r.ErrorMessage))
		}
	}
}

// fetchFrom names a partition of a fetch.
type fetchFrom struct {
	topic     string
	partition int32
	offset    int64
}

// fetchOf is a request that does not wait.
func (b *testBroker) fetchOf(version int16, from ...fetchFrom) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxBytes, req.SessionEpoch = version, 1, 1<<20, -1
	for _, f := range from {
		t := kmsg.NewFetchRequestTopic()
		t.Topic = f.topic
		if found := b.Table.Topic(f.topic); found != nil {
			t.TopicID = found.ID
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = f.partition, f.offset, 1<<20
		p.CurrentLeaderEpoch, p.LastFetchedEpoch = -1, -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func (b *testBroker) fetched(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	b.t.Helper()
	return ask[*kmsg.FetchResponse](b, req.Version, req)
}

// only is the only partition of a fetch's answer.
func only(t testing.TB, resp *kmsg.FetchResponse) kmsg.FetchResponseTopicPartition {
	t.Helper()
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Fatalf("want one partition: %+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}

// valuesIn are the values of all records.
func valuesIn(t testing.TB, b []byte) (values []string) {
	t.Helper()
	for batch, err := range record.Batches(b) {
		if err != nil {
			t.Fatal(err)
		}
		err := record.Walk(batch, nil, func(r record.Record) bool {
			values = append(values, string(r.Value))
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// send sends a request whose answer, if any, is left to others.
func (b *testBroker) send(req kmsg.Request) {
	b.t.Helper()
	b.sendBody(req.Key(), req.GetVersion(), req.IsFlexible(), req.AppendTo(nil))
}

func (b *testBroker) sendBody(key, version int16, flexible bool, body []byte) {
	b.t.Helper()
	if _, err := b.conn.Write(frameOf(key, version, flexible, body)); err != nil {
		b.t.Fatal(err)
	}
}
