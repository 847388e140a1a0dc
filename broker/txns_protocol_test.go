package broker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
)

// TestTransactionsFollowEachOtherAtOnce is R-K29, T36 and FR-H8: what comes right behind an end, over the same connection and without
// a pause, never meets CONCURRENT_TRANSACTIONS, whatever the client speaks.
func TestTransactionsFollowEachOtherAtOnce(t *testing.T) {
	for _, old := range []bool{false, true} {
		inBubble(t, nil, func(h *house) {
			h.createTopic("a", 2)
			p := h.producer("id")
			p.w.old = old
			h.must(p.begin())
			want := []string(nil)
			for i := range 100 {
				h.must(p.send(partitionName{"a", int32(i % 2)}, fmt.Sprint(i)))
				h.must(p.commitOffset("g", "a", int64(i)))
				h.must(p.end(i%5 > 0))
				if i%5 > 0 && i%2 == 0 {
					want = append(want, fmt.Sprint(i))
				}
			}
			h.expectCommitted(partitionName{"a", 0}, want...)
			h.expectOffset("g", "a", 99)
		})
	}
}

// askAs sends one request in the version that it has, and returns the answer to it.
func askAs[T kmsg.Response](w *wire, req kmsg.Request) (none T, err error) {
	w.sent = append(w.sent, req)
	w.next++
	if _, err := w.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, w.next)); err != nil {
		return none, err
	}
	resp, err := w.receive()
	if err != nil {
		return none, err
	}
	return resp.(T), nil
}

// produceAs sends one batch in a version.
func (p *txnProducer) produceAs(version int16, to partitionName, sequence int32) error {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = p.producer, p.epoch, sequence, true
	req := produceRequest(&toProduce{topic: to.topic, index: to.index, batch: b.Append(time.Now().UnixMilli(), nil, []byte("v")).Bytes()})
	req.TransactionID, req.Version = &p.id, version
	resp, err := askAs[*kmsg.ProduceResponse](p.w, req)
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// TestPipelinedBatchesOfATransaction: a client sends batch after batch without waiting for answers. The coordinator is asked about
// the first, in the middle of everything else, and all of them come into the log in their order.
func TestPipelinedBatchesOfATransaction(t *testing.T) {
	for _, old := range []bool{false, true} {
		inBubble(t, nil, func(h *house) {
			h.createTopic("a", 2)
			p := h.producer("id")
			p.w.old = old
			h.must(p.begin())
			var want []string
			for round := range 20 {
				for i := range int32(2) {
					if old {
						h.must(p.add(partitionName{"a", i}))
					}
				}
				for n := range 40 {
					at := partitionName{"a", int32(n) % 2}
					value := fmt.Sprint(round, " ", n)
					b := record.NewBuilder(0)
					b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = p.producer, p.epoch, p.sequences[at], true
					req := produceRequest(&toProduce{topic: "a", index: at.index, batch: b.Append(time.Now().UnixMilli(), nil, []byte(value)).Bytes()})
					req.TransactionID = &p.id
					h.must(p.w.send(req))
					if p.sequences[at]++; at.index == 0 {
						want = append(want, value)
					}
				}
				for n := range 40 {
					resp, err := p.w.receive()
					h.must(err)
					if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
						t.Fatalf("old %t, round %d, batch %d: %d", old, round, n, code)
					}
				}
				h.must(p.end(true))
			}
			h.expectCommitted(partitionName{"a", 0}, want...)
		})
	}
}

func wantError(t *testing.T, what string, err error, want *kerr.Error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestBatchesOutsideOfTransactions is R-E12, R-E13 and FR-H3: a batch whose transaction does not have the partition, or is over,
// opens nothing that nobody would end.
func TestBatchesOutsideOfTransactions(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.producer("id")
		h.must(p.begin())
		wantError(t, "v10, not added", p.produceAs(10, at, 0), kerr.InvalidTxnState)
		wantError(t, "v11, not added", p.produceAs(11, at, 0), kerr.TransactionAbortable)
		h.must(p.send(at, "first")) // version 12 adds it
		h.must(p.end(true))
		p.epoch--
		wantError(t, "v12, of the last transaction", p.produceAs(12, at, 1), kerr.InvalidProducerEpoch)
		wantError(t, "v11, of the last transaction", p.produceAs(11, at, 1), kerr.InvalidProducerEpoch)
		p.epoch++
		stranger := *p
		stranger.id = "nobody"
		wantError(t, "an unknown transactional id", stranger.produceAs(12, at, 0), kerr.InvalidProducerIDMapping)
		if values, open := h.committedValues(at); open != 0 || len(values) != 1 {
			t.Errorf("%q, %d open", values, open)
		}
		h.must(p.send(at, "second"))
		h.must(p.end(true))
		h.expectCommitted(at, "first", "second")
	})
}

// TestAdminAbortsATransaction: WriteTxnMarkers ends what a producer has left open in a partition, and what that sends then is
// refused there (R-E15).
func TestAdminAbortsATransaction(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.producer("id").old()
		h.must(p.begin())
		h.must(p.send(at, "lost"))
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		req.Version = 1
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = p.producer, p.epoch, 100
		m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "a", Partitions: []int32{0, 1}}}
		req.Markers = append(req.Markers, m)
		resp, err := askAs[*kmsg.WriteTxnMarkersResponse](h.wire(), req)
		h.must(err)
		if of := resp.Markers[0].Topics[0].Partitions; of[0].ErrorCode != 0 || of[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("%+v", of)
		}
		if _, open := h.committedValues(at); open != 0 {
			t.Errorf("%d open", open)
		}
		h.expectCommitted(at)
	})
}

// TestTransactionsAreListed: what administrators see of transactions that are open and over.
func TestTransactionsAreListed(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 2)
		open, over := h.producer("open"), h.producer("over")
		h.must(open.begin())
		h.must(over.begin())
		h.must(open.send(partitionName{"a", 1}, "v"))
		h.must(over.send(partitionName{"a", 0}, "v"))
		h.must(over.end(false))
		pass(time.Minute / 2)
		for _, test := range []struct {
			state  string
			longer int64
			want   string
		}{{"", -1, "[open over]"}, {"Ongoing", -1, "[open]"}, {"CompleteAbort", -1, "[over]"}, {"Ongoing", 29_000, "[open]"}, {"Ongoing", 31_000, "[]"}} {
			req := kmsg.NewPtrListTransactionsRequest()
			if req.DurationFilterMillis = test.longer; test.state != "" {
				req.StateFilters = []string{test.state}
			}
			resp, err := ask[*kmsg.ListTransactionsResponse](h.wire(), req)
			h.must(err)
			ids := []string{}
			for _, s := range resp.TransactionStates {
				ids = append(ids, s.TransactionalID)
			}
			if fmt.Sprint(ids) != test.want || resp.ErrorCode != 0 {
				t.Errorf("%+v: %v, code %d", test, ids, resp.ErrorCode)
			}
		}
		if d := h.describeTxn("open"); d.State != "Ongoing" || d.ProducerID != open.producer || d.TimeoutMillis != 60_000 || fmt.Sprint(d.Topics[0].Partitions) != "[1]" {
			t.Errorf("%+v", d)
		}
	})
}
