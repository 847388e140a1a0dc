package group

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// R-K19: what is remembered of markers is bounded. A guard that is older than all that is remembered is refused, one that
// is younger is good, also when the producer itself is not remembered.
func TestGuardsWhenMarkersAreForgotten(t *testing.T) {
	w := newWorld(t, offsetSettings())
	old := w.guard("g", producer(1, 0))
	token := old
	for id := range int64(3 * rememberedEndings) {
		if id == 3*rememberedEndings-10 {
			token = w.guard("g", producer(2, 0))
		}
		w.apply(machine.Record{Producer: producer(100+id, 0), Marker: &machine.Marker{Commit: true}})
	}
	if n := len(w.m.producers.recent) + len(w.m.producers.older); n > 2*rememberedEndings {
		t.Errorf("%d endings are remembered", n)
	}
	send := func(id int64, token GuardToken) int16 {
		out := w.m.Step(w.now, 1, TxnCommit{Request: txnOf(producer(id, 0), "g", "t", 0, 1), Token: token})
		return out.Replies[0].Value.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}
	last := int64(100 + 3*rememberedEndings - 1)
	expect(t, "an old guard", send(1, old), kerr.TransactionAbortable.Code)
	expect(t, "a young guard", send(2, token), 0)
	expect(t, "a young guard of one whose marker came since", send(last, token), kerr.TransactionAbortable.Code)
	expect(t, "one whose marker came before", send(last-20, token), 0)
	expect(t, "one whose marker was forgotten", send(100, token), 0)
	expect(t, "no guard", send(2, GuardToken{}), kerr.NotCoordinator.Code)
}

// R-D15: a transactional commit is the same record as a plain one; the producer is the batch's.
func TestTxnRecordBytes(t *testing.T) {
	w := newWorld(t, offsetSettings())
	r := txnOf(producer(7, 2), "group", "topic", 3, 42)
	r.Topics[0].Partitions[0].LeaderEpoch, r.Topics[0].Partitions[0].Metadata = 7, kmsg.StringPtr("md")
	w.ask(TxnCommit{Request: r, Token: w.guard("group", producer(7, 2))})
	got := w.last[len(w.last)-1]
	expect(t, "producer", got.Producer, producer(7, 2))
	expect(t, "key", hex.EncodeToString(got.Key), "0001"+"000567726f7570"+"0005746f706963"+"00000003")
	expect(t, "value", hex.EncodeToString(got.Value), "0004"+"000000000000002a"+"00000007"+"036d64"+"0000018bcfe56800"+"00")
}

// The group's name must fit in a record.
func TestTxnGroupNameThatFitsInNoRecord(t *testing.T) {
	w := newWorld(t, offsetSettings())
	expect(t, "code", w.txn(producer(7, 0), strings.Repeat("g", 1<<15), "t", 0, 1), kerr.InvalidGroupID.Code)
	expect(t, "code", w.txn(producer(7, 0), strings.Repeat("g", 1<<15-1), "t", 0, 1), 0)
}

// Records that cannot be read are of their transaction nevertheless, and leave nothing behind.
func TestStrangeRecordsInTransactions(t *testing.T) {
	w := newWorld(t, offsetSettings())
	w.apply(machine.Record{Key: []byte{0, 9}, Value: []byte{1}, Producer: producer(7, 3)})
	w.apply(machine.Record{Key: appendOffsetKey(nil, "g", "t", 0), Value: []byte{0, 77}, Producer: producer(7, 3)})
	expect(t, "older epoch", w.txn(producer(7, 2), "g", "t", 0, 1), kerr.InvalidProducerEpoch.Code)
	expect(t, "open", len(w.m.producers.open), 1)
	w.mark(producer(7, 3), true)
	expect(t, "groups", len(w.m.groups), 0)
	expect(t, "open", len(w.m.producers.open), 0)
}

// A tombstone that a transaction has written, which Kafka never does, works at once.
func TestTombstoneInTransaction(t *testing.T) {
	w := newWorld(t, offsetSettings())
	expect(t, "commit", w.commit(commitOf("g", "t", 0, 1)), 0)
	expect(t, "commit", w.txn(producer(7, 0), "g", "t", 0, 2), 0)
	gone := offsetTombstone("g", "t", 0)
	gone.Producer = producer(8, 0)
	w.apply(gone)
	w.mark(producer(7, 0), true)
	w.mark(producer(8, 0), false)
	expect(t, "offset", w.fetch("g", "t", 0).Offset, -1)
}

// Apply keeps nothing of the record's bytes in transactions either.
func TestApplyCopiesWhatTransactionsKeep(t *testing.T) {
	m := New(offsetSettings())
	v := kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: 5, Metadata: "metadata", TopicID: [16]byte{7}}
	r := offsetRecord("group", "topic", 3, &v)
	r.Producer = producer(7, 0)
	m.Apply(r)
	clear(r.Key)
	clear(r.Value)
	m.Apply(machine.Record{Producer: producer(7, 0), Marker: &machine.Marker{Commit: true}})
	if dump := dumpOffsets(m); !strings.Contains(dump, `group topic/3 5 `) || !strings.Contains(dump, `id 0700 metadata "metadata"`) {
		t.Error(dump)
	}
}
