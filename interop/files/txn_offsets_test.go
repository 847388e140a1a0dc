package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestTransactionalOffsetsAreKafkas: the same transactions leave the same batches in __consumer_offsets, markers among them,
// and ours are in the log when a broker is started again: a transaction that was open then can still be committed.
func TestTransactionalOffsetsAreKafkas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	settings := map[string]string{"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
	theirs := target.Kafka(t, kafka.Options{Settings: settings})
	want := offsetBatches(ctx, t, transactAll(ctx, t, theirs.Addr))
	ours, err := skein.Start(t, skein.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	p := transactAll(ctx, t, ours.Addr)
	if got := offsetBatches(ctx, t, p); !slices.Equal(got, want) {
		t.Fatalf("we write\n%s\nKafka writes\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := ours.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := ours.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p.addr = ours.Addr
	p.end(ctx, t, true)
	if got := committedOffsets(ctx, t, ours.Addr); got != "0=1 1=4 2=6" {
		t.Errorf("after the restart and the commit: %s", got)
	}
	report.Note(t, report.Shown, "offsets in transactions", "%d batches equal to Kafka's, markers among them; an open transaction outlives a restart", len(want))
}

// transactor is a transactional producer that commits offsets by hand.
type transactor struct {
	addr  string
	topic [16]byte
	id    int64
	epoch int16
}

// transactAll commits a transaction, aborts one in which a plain commit comes, and leaves one open.
func transactAll(ctx context.Context, t *testing.T, addr string) *transactor {
	t.Helper()
	if err := admin.CreateTopics(ctx, addr, 16, nil, offsetTopic); err != nil {
		t.Fatal(err)
	}
	p := &transactor{addr: addr}
	p.begin(ctx, t)
	p.commit(ctx, t, 5, 0, 1, "")
	p.commit(ctx, t, 5, 1, 2, "md")
	p.end(ctx, t, true)
	p.commit(ctx, t, 5, 0, 3, "")
	sendCommit(ctx, t, addr, commitCase{8, 1, 4, -1, "", -1})
	p.end(ctx, t, false)
	p.commit(ctx, t, 6, 2, 6, "ümläut")
	return p
}

// begin initialises the producer, once there is a coordinator.
func (p *transactor) begin(ctx context.Context, t *testing.T) {
	t.Helper()
	client := newClient(t, p.addr, nil)
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, offsetTopic)
	if err != nil {
		t.Fatal(err)
	}
	p.topic = topics[offsetTopic].ID
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionalID, r.TransactionTimeoutMillis, r.ProducerID, r.ProducerEpoch = kmsg.StringPtr("x"), 60_000, -1, -1
	for {
		response, err := r.RequestWith(ctx, client)
		if err == nil && response.ErrorCode == 0 {
			p.id, p.epoch = response.ProducerID, response.ProducerEpoch
			return
		}
		if pause(ctx); ctx.Err() != nil {
			t.Fatalf("no producer: %+v %v", response, err)
		}
	}
}

// commit commits one offset in the transaction. Kafka may be at the markers of the one before.
func (p *transactor) commit(ctx context.Context, t *testing.T, version int16, partition int32, offset int64, metadata string) {
	t.Helper()
	only := kversion.Stable()
	only.SetMaxKeyVersion(kmsg.TxnOffsetCommit.Int16(), version)
	client := newClient(t, p.addr, only)
	defer client.Close()
	r := kmsg.NewPtrTxnOffsetCommitRequest()
	r.TransactionalID, r.Group, r.ProducerID, r.ProducerEpoch = "x", offsetGroup, p.id, p.epoch
	one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	one.Partition, one.Offset, one.Metadata = partition, offset, &metadata
	r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: offsetTopic, TopicID: p.topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{one}}}
	for {
		response, err := r.RequestWith(ctx, client)
		if err != nil || response.Version != version {
			t.Fatalf("version %d: %+v %v", version, response, err)
		}
		err = kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode)
		if err == nil {
			return
		}
		if !kerr.IsRetriable(err) && !errors.Is(err, kerr.ConcurrentTransactions) {
			t.Fatal(err)
		}
		if pause(ctx); ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func (p *transactor) end(ctx context.Context, t *testing.T, commit bool) {
	t.Helper()
	client := newClient(t, p.addr, nil)
	defer client.Close()
	r := kmsg.NewPtrEndTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = "x", p.id, p.epoch, commit
	response, err := r.RequestWith(ctx, client)
	if err != nil || response.ErrorCode != 0 {
		t.Fatalf("EndTxn: %+v %v", response, err)
	}
	p.id, p.epoch = response.ProducerID, response.ProducerEpoch
}

func newClient(t *testing.T, addr string, only *kversion.Versions) *kgo.Client {
	t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(addr)}
	if only != nil {
		opts = append(opts, kgo.MaxVersions(only))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// offsetBatches writes down the batches of __consumer_offsets that have offsets of our group or are markers, without what
// differs between two runs: times, ids, and the coordinator's epoch. Sequences are left out too: Kafka's coordinators write 0 in
// every batch, ours none, and nobody checks them.
func offsetBatches(ctx context.Context, t *testing.T, p *transactor) (lines []string) {
	t.Helper()
	only := kversion.Stable()
	only.SetMaxKeyVersion(kmsg.Fetch.Int16(), 11) // by name
	client := newClient(t, p.addr, only)
	defer client.Close()
	r := kmsg.NewPtrFetchRequest()
	r.MaxWaitMillis, r.MaxBytes = 100, 1<<20
	one := kmsg.NewFetchRequestTopicPartition()
	one.PartitionMaxBytes = 1 << 20
	r.Topics = []kmsg.FetchRequestTopic{{Topic: offsetsTopic, Partitions: []kmsg.FetchRequestTopicPartition{one}}}
	response, err := r.RequestWith(ctx, client)
	if err != nil || response.ErrorCode != 0 || response.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("fetching: %+v %v", response, err)
	}
	const head = 12 // the base offset and the length
	for b := response.Topics[0].Partitions[0].RecordBatches; len(b) > head; {
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		b = b[head+batch.Length:]
		lines = append(lines, batchLines(t, p, &batch)...)
	}
	return lines
}

func batchLines(t *testing.T, p *transactor, batch *kmsg.RecordBatch) (lines []string) {
	t.Helper()
	const control = 0x20
	who := "nobody"
	if batch.ProducerID == p.id {
		who = "p"
	}
	rest := batch.Records
	for range batch.NumRecords {
		var r kmsg.Record
		if err := r.ReadFrom(rest); err != nil {
			t.Fatal(err)
		}
		rest = rest[varintLen(r.Length)+int(r.Length):]
		var k kmsg.OffsetCommitKey
		switch {
		case batch.Attributes&control != 0:
			lines = append(lines, fmt.Sprintf("  marker %x, %d bytes", r.Key, len(r.Value)))
		case r.Key[1] <= 1 && k.ReadFrom(r.Key) == nil && k.Group == offsetGroup:
			lines = append(lines, "  "+masked(t, offsetWrite{key: r.Key, value: r.Value}))
		}
	}
	if lines == nil {
		return nil
	}
	head := fmt.Sprintf("attributes %#x, producer %s, epoch %d, %d records", batch.Attributes, who, batch.ProducerEpoch, batch.NumRecords)
	return append([]string{head}, lines...)
}

// varintLen is how many bytes the length of a record takes.
func varintLen(n int32) int {
	size := 1
	for v := uint32(n<<1) ^ uint32(n>>31); v >= 0x80; v >>= 7 {
		size++
	}
	return size
}

// committedOffsets is what a stable fetch shows, once the transaction is over.
func committedOffsets(ctx context.Context, t *testing.T, addr string) string {
	t.Helper()
	client := newClient(t, addr, nil)
	defer client.Close()
	committed, err := kadm.NewClient(client).FetchOffsets(ctx, offsetGroup)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range committed.Sorted() {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		all = append(all, fmt.Sprintf("%d=%d", o.Partition, o.At))
	}
	return strings.Join(all, " ")
}
