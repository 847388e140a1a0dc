// Package files shows that what Skein leaves on the disk is Kafka's: Kafka's
// dump tool reads every file of it, and a real Kafka serves it.
package files

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/dataset"
	"github.com/skeinstream/skein/interop/internal/peer"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/stream"
)

func TestMain(m *testing.M) { report.Main(m) }

const partitions = 2

// Topics of the workload. The keyed one is compacted, the trimmed one has lost
// its first records to DeleteRecords.
const (
	mixed   = "mixed"
	keyed   = "keyed"
	trimmed = "trimmed"
	stamped = "stamped"
)

func topicConfigs() map[string]map[string]string {
	return map[string]map[string]string{
		mixed:   {"segment.bytes": "1048576", "index.interval.bytes": "512", "retention.ms": "-1"},
		trimmed: {"segment.bytes": "1048576", "retention.ms": "-1"},
		stamped: {"message.timestamp.type": "LogAppendTime", "compression.type": "zstd"},
		keyed: {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01",
			"min.compaction.lag.ms": "0", "delete.retention.ms": "100"},
	}
}

// workload writes to a Skein that rolls, compacts, deletes and restarts, and
// leaves it running.
func workload(ctx context.Context, t *testing.T) *skein.Broker {
	t.Helper()
	broker, err := skein.Start(t, skein.Options{Settings: map[string]string{"log.cleaner.backoff.ms": "200"}})
	if err != nil {
		t.Fatal(err)
	}
	for topic, configs := range topicConfigs() {
		if err := admin.CreateTopics(ctx, broker.Addr, partitions, configs, topic); err != nil {
			t.Fatal(err)
		}
	}
	writeMixed(ctx, t, broker.Addr)
	writeKeyed(ctx, t, broker.Addr)
	deleteRecords(ctx, t, broker.Addr)
	// After a restart the leader epoch is another, and producers are known from
	// their snapshots.
	if err := broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := broker.Start(ctx); err != nil {
		t.Fatal(err)
	}
	writeMixed(ctx, t, broker.Addr)
	return broker
}

// writeMixed sends awkward records with every codec of two clients.
func writeMixed(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	for _, name := range []string{"franz-go", "sarama"} {
		client, _ := peer.Named(name)
		conn, ok := peer.Open(ctx, t, client)
		if !ok {
			continue
		}
		for i, codec := range peer.Codecs() {
			file := filepath.Join(t.TempDir(), "records")
			if err := stream.WriteAll(file, dataset.Awkward(uint64(i), partitions)); err != nil {
				t.Fatal(err)
			}
			for _, topic := range []string{mixed, trimmed, stamped} {
				if err := conn.Produce(ctx, addr, topic, codec, file); err != nil {
					t.Fatalf("%s with %s: %v", name, codec, err)
				}
			}
		}
	}
}

// writeKeyed writes few keys many times, and waits until the cleaner has
// taken most of it away.
func writeKeyed(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(keyed), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	deadline := time.Now().Add(2 * time.Minute)
	for round := 0; ; round++ {
		var records []*kgo.Record
		for i := range 400 {
			records = append(records, &kgo.Record{Partition: int32(i % partitions), Key: fmt.Append(nil, "key-", i%10), Value: fmt.Append(nil, "value-", round, "-", i)})
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		// Enough rounds for several segments, then until the log is compacted.
		written, left := (round+1)*len(records), recordsLeft(ctx, t, addr, keyed)
		if round >= 5 && left < written/2 {
			t.Logf("%d records written to %s before it was compacted", written, keyed)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cleaner did not compact the topic within two minutes: %d of %d records are left", left, written)
		}
		<-time.After(200 * time.Millisecond) // so that segment.ms rolls
	}
}

// recordsLeft counts what can be read of a topic.
func recordsLeft(ctx context.Context, t *testing.T, addr, topic string) int {
	t.Helper()
	n := 0
	for _, values := range readTopic(ctx, t, addr, topic) {
		n += len(values)
	}
	return n
}

func deleteRecords(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var offsets kadm.Offsets
	for p := range int32(partitions) {
		offsets.AddOffset(trimmed, p, 40, -1)
	}
	if _, err := kadm.NewClient(client).DeleteRecords(ctx, offsets); err != nil {
		t.Fatal(err)
	}
}

// readTopic reads every partition to its end: one line a record.
func readTopic(ctx context.Context, t *testing.T, addr, topic string) map[int32][]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	all, reached := make(map[int32][]string), make(map[int32]bool)
	for len(reached) < partitions {
		poll, cancel := context.WithTimeout(ctx, 30*time.Second)
		fetches := client.PollFetches(poll)
		cancel()
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], fmt.Sprintf("%d %d %q %q %v", r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, r.Headers))
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset >= end.Offset-1 {
				reached[r.Partition] = true
			}
		})
	}
	return all
}
