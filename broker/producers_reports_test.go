package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
)

// Field reports about idempotent producers, and about what a partition remembers of producers (FR-H…).

// idempotent is a producer without transactions that does what it is told.
type idempotent struct {
	w  *wire
	id int64
}

func (h *house) idempotent() *idempotent {
	h.t.Helper()
	w := h.wire()
	req := kmsg.NewPtrInitProducerIDRequest()
	resp, err := ask[*kmsg.InitProducerIDResponse](w, req)
	h.must(err)
	h.must(failed(resp.ErrorCode))
	return &idempotent{w, resp.ProducerID}
}

// send appends one record with a sequence, and tells its offset.
func (p *idempotent) send(version int16, to partitionName, sequence int32) (int64, error) {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = p.id, 0, sequence
	req := produceRequest(&toProduce{topic: to.topic, index: to.index, batch: b.Append(time.Now().UnixMilli(), nil, []byte("v")).Bytes()})
	req.Version = version
	resp, err := askAs[*kmsg.ProduceResponse](p.w, req)
	if err != nil {
		return 0, err
	}
	r := resp.Topics[0].Partitions[0]
	return r.BaseOffset, failed(r.ErrorCode)
}

// TestIdleProducersGoOn is FR-H11 and R-K26: a producer whose state has expired, or whose records were all deleted, goes on with the
// sequence that it is at.
func TestIdleProducersGoOn(t *testing.T) {
	inBubble(t, map[string]string{"producer.id.expiration.ms": "5000"}, func(h *house) {
		h.createTopic("a", 1)
		at, p := partitionName{"a", 0}, h.idempotent()
		send := func(sequence int32, want int64) {
			t.Helper()
			if got, err := p.send(11, at, sequence); err != nil || got != want {
				t.Errorf("sequence %d: offset %d, %v, want %d", sequence, got, err, want)
			}
		}
		send(0, 0)
		send(1, 1)
		pass(30 * time.Minute)
		p.w = h.wire()
		if entries, _ := h.b.partition("a", 0).Producers(); len(entries) != 0 {
			t.Errorf("%d producers are remembered", len(entries))
		}
		send(2, 2)
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "a", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 3}}}}
		_, err := ask[*kmsg.DeleteRecordsResponse](h.wire(), req)
		h.must(err)
		send(3, 3)
		h.restart()
		p.w = h.wire()
		send(4, 4)
		if _, err := p.send(11, at, 9); err != kerr.OutOfOrderSequenceNumber {
			t.Errorf("a gap: %v", err)
		}
	})
}

// TestRepeatedBatchesAreTheSame is FR-H32: a batch that comes again gets the offset that it has, after a restart and after a
// kill too, and is in the log once.
func TestRepeatedBatchesAreTheSame(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at, p := partitionName{"a", 0}, h.idempotent()
		again := func() {
			t.Helper()
			p.w = h.wire()
			for sequence := range int32(5) {
				if got, err := p.send(12, at, sequence); err != nil || got != int64(sequence) {
					t.Errorf("sequence %d: offset %d, %v", sequence, got, err)
				}
			}
			if end := h.b.partition("a", 0).HighWatermark(); end != 5 {
				t.Errorf("the log has %d records", end)
			}
		}
		again()
		again()
		h.restart()
		again()
		h.killed()
		again()
	})
}

// TestAMarkerKeepsItsProducerKnown is FR-H29: the time of the marker counts, not that of the producer's last record.
func TestAMarkerKeepsItsProducerKnown(t *testing.T) {
	settings := map[string]string{"producer.id.expiration.ms": "1200000"} // twice as long as expired ones are looked for
	inBubble(t, settings, func(h *house) {
		h.createTopic("a", 1)
		p := h.begun("id", 15*time.Minute, "v", partitionName{"a", 0})
		pass(14 * time.Minute)
		h.must(p.end(false))
		pass(11 * time.Minute) // 25 since the record
		if entries, _ := h.b.partition("a", 0).Producers(); len(entries) != 1 {
			t.Errorf("%d producers are remembered, want 1", len(entries))
		}
		pass(40 * time.Minute)
		if entries, _ := h.b.partition("a", 0).Producers(); len(entries) != 0 {
			t.Errorf("%d producers are remembered, want none", len(entries))
		}
	})
}
