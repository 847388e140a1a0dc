package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestDamageIsAnsweredAsByKafka: bytes in an older segment that are no batch are found by no start, and by whoever reads
// them, on both.
func TestDamageIsAnsweredAsByKafka(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	want := []string{"0: CORRUPT_MESSAGE", "1: NONE, records"}
	ours, err := skein.Start(t, skein.Options{})
	if err != nil {
		t.Fatal(err)
	}
	writeThree(ctx, t, ours.Addr)
	if err := ours.Stop(); err != nil {
		t.Fatal(err)
	}
	damageFirst(t, ours.DataDir)
	if err := ours.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := answers(ctx, t, ours.Addr); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Skein answers %q, want %q", got, want)
	}
	if log := ours.Log(); strings.Count(log, "skein log repair") != 1 {
		t.Errorf("the broker says:\n%s", log)
	}
	dir := filepath.Join(t.TempDir(), "data")
	theirs := target.Kafka(t, kafka.Options{DataDir: dir})
	writeThree(ctx, t, theirs.Addr)
	if err := theirs.Stop(); err != nil {
		t.Fatal(err)
	}
	damageFirst(t, dir)
	theirs = target.Kafka(t, kafka.Options{DataDir: dir})
	if got := answers(ctx, t, theirs.Addr); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Kafka answers %q, want %q", got, want)
	}
}

// writeThree leaves three segments of one batch each.
func writeThree(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	if err := admin.CreateTopics(ctx, addr, 1, map[string]string{"segment.bytes": "1048576"}, "damaged"); err != nil {
		t.Fatal(err)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: "damaged", Value: make([]byte, 700_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// damageFirst makes the length of the first batch too small for any.
func damageFirst(t *testing.T, dataDir string) {
	t.Helper()
	name := filepath.Join(dataDir, "damaged-0", "00000000000000000000.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[8:], []byte{0, 0, 0, 1})
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// answers are what fetches of the first two offsets get, the first of them twice.
func answers(ctx context.Context, t *testing.T, addr string) (all []string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, offset := range []int64{0, 0, 1} {
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.Partitions = "damaged", append(topic.Partitions, p)
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes, req.SessionEpoch, req.MaxWaitMillis = 1<<20, -1, 100
		req.Topics = append(req.Topics, topic)
		resp, err := fetchDamaged(ctx, c, req)
		if err != nil {
			t.Fatal(err)
		}
		got := resp.Topics[0].Partitions[0]
		text := fmt.Sprintf("%d: %s", offset, codeName(got.ErrorCode))
		if len(got.RecordBatches) > 0 {
			text += ", records"
		}
		if len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	return all
}

// fetchDamaged asks the broker itself, by name and by id as the version wants it.
func fetchDamaged(ctx context.Context, c *kgo.Client, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	meta, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, topic := range meta.Topics {
		if topic.Topic != nil && *topic.Topic == "damaged" {
			req.Topics[0].TopicID = topic.TopicID
		}
	}
	resp, err := c.Broker(int(meta.Brokers[0].NodeID)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.FetchResponse), nil
}

func codeName(code int16) string {
	if err, ok := kerr.ErrorForCode(code).(*kerr.Error); ok {
		return err.Message
	}
	return "NONE"
}
