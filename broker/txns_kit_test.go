package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/txn"
)

// txnProducer is a transactional producer that does what it is told.
type txnProducer struct {
	w         *wire
	id        string
	timeout   time.Duration // default: a minute
	producer  int64
	epoch     int16
	sequences map[partitionName]int32 // the next, since the epoch began
}

type partitionName struct {
	topic string
	index int32
}

func (n partitionName) String() string { return fmt.Sprintf("%s-%d", n.topic, n.index) }

// old makes it a client from before KIP-890.
func (p *txnProducer) old() *txnProducer {
	p.w.old = true
	return p
}

func (h *house) producer(id string) *txnProducer { return &txnProducer{w: h.wire(), id: id} }

// begin initialises the producer.
func (p *txnProducer) begin() error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, int32(max(p.timeout, time.Minute).Milliseconds())
	if p.timeout > 0 {
		req.TransactionTimeoutMillis = int32(p.timeout.Milliseconds())
	}
	resp, err := ask[*kmsg.InitProducerIDResponse](p.w, req)
	if err != nil {
		return err
	}
	p.became(resp.ProducerID, resp.ProducerEpoch)
	return failed(resp.ErrorCode)
}

func (p *txnProducer) became(producer int64, epoch int16) {
	if producer != p.producer || epoch != p.epoch || p.sequences == nil {
		p.sequences = map[partitionName]int32{}
	}
	p.producer, p.epoch = producer, epoch
}

// addRequest adds a partition to the transaction, for old clients.
func (p *txnProducer) addRequest(to partitionName) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.producer, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: to.topic, Partitions: []int32{to.index}}}
	return req
}

func (p *txnProducer) add(to partitionName) error {
	resp, err := ask[*kmsg.AddPartitionsToTxnResponse](p.w, p.addRequest(to))
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// batch appends one record to a partition that the transaction has.
func (p *txnProducer) batch(to partitionName, value string) *kmsg.ProduceRequest {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = p.producer, p.epoch, p.sequences[to], true
	req := produceRequest(&toProduce{topic: to.topic, index: to.index, batch: b.Append(time.Now().UnixMilli(), nil, []byte(value)).Bytes()})
	req.TransactionID = &p.id
	return req
}

// send appends one record to a partition.
func (p *txnProducer) send(to partitionName, value string) error {
	if p.w.old {
		if err := p.add(to); err != nil {
			return fmt.Errorf("adding: %w", err)
		}
	}
	resp, err := ask[*kmsg.ProduceResponse](p.w, p.batch(to, value))
	if err != nil {
		return err
	}
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return failed(code)
	}
	p.sequences[to]++
	return nil
}

// addOffsetsRequest adds the offsets of a group to the transaction, for old clients.
func (p *txnProducer) addOffsetsRequest(group string) *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = p.id, group, p.producer, p.epoch
	return req
}

func (p *txnProducer) addOffsets(group string) error {
	resp, err := ask[*kmsg.AddOffsetsToTxnResponse](p.w, p.addOffsetsRequest(group))
	if err != nil {
		return err
	}
	return failed(resp.ErrorCode)
}

// offsetRequest commits an offset of topic's first partition in a transaction that has the offsets of the group.
func (p *txnProducer) offsetRequest(group, topic string, offset int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.id, group, p.producer, p.epoch, -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{
		Offset: offset, LeaderEpoch: 3, Metadata: kmsg.StringPtr(fmt.Sprint("at ", offset)),
	}}}}
	return req
}

// commitOffset commits an offset of topic's first partition within the transaction.
func (p *txnProducer) commitOffset(group, topic string, offset int64) error {
	if p.w.old {
		if err := p.addOffsets(group); err != nil {
			return fmt.Errorf("adding: %w", err)
		}
	}
	resp, err := ask[*kmsg.TxnOffsetCommitResponse](p.w, p.offsetRequest(group, topic, offset))
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

func (p *txnProducer) endRequest(commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.producer, p.epoch, commit
	return req
}

// end ends the transaction.
func (p *txnProducer) end(commit bool) error {
	resp, err := ask[*kmsg.EndTxnResponse](p.w, p.endRequest(commit))
	if err != nil {
		return err
	}
	if resp.ErrorCode == 0 && !p.w.old {
		p.became(resp.ProducerID, resp.ProducerEpoch)
	}
	return failed(resp.ErrorCode)
}

// endWithout ends the transaction as when some partitions take no marker now.
func (p *txnProducer) endWithout(h *house, commit bool, unreachable []txn.Partition) error {
	version := int16(5)
	if p.w.old {
		version = 3
	}
	told := make(chan error, 1)
	in := txn.End{Caller: txn.Caller{Version: version}, TransactionalID: p.id, ProducerID: p.producer, Epoch: p.epoch, Commit: commit}
	e := &ending{txns: h.b.txns, id: p.id, plain: !in.Raises()}
	e.in = func(ends txn.Ends) any {
		in.Ends, in.Unreachable = ends, append(ends.Unreachable, unreachable...)
		return in
	}
	e.done = func(reply any, err error) {
		if err == nil {
			ended := reply.(txn.Ended)
			if err = failed(ended.Code); err == nil {
				p.became(ended.ProducerID, ended.Epoch)
			}
		}
		told <- err
	}
	e.start()
	return <-told
}

// describeTxn is what the coordinator says of a transactional id.
func (h *house) describeTxn(id string) kmsg.DescribeTransactionsResponseTransactionState {
	h.t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	var state kmsg.DescribeTransactionsResponseTransactionState
	err := retrying(func() error {
		resp, err := ask[*kmsg.DescribeTransactionsResponse](h.wire(), req)
		if err != nil {
			return err
		}
		state = resp.TransactionStates[0]
		if state.ErrorCode == kerr.TransactionalIDNotFound.Code {
			return nil
		}
		return failed(state.ErrorCode)
	})
	h.must(err)
	return state
}

// committedValues is the values of a partition's records that count, in the order of their log, and how many transactions
// are open there.
func (h *house) committedValues(at partitionName) (values []string, open int) {
	h.t.Helper()
	pending := map[int64][]string{}
	p := h.b.partition(at.topic, at.index)
	_, err := p.Records(context.Background(), func(r partition.Stored) error {
		producer := r.Batch.ProducerID
		switch {
		case r.Marker != nil:
			if !r.Marker.Abort {
				values = append(values, pending[producer]...)
			}
			delete(pending, producer)
		case r.Batch.Transactional():
			pending[producer] = append(pending[producer], string(r.Value))
		default:
			values = append(values, string(r.Value))
		}
		return nil
	})
	h.must(err)
	if stable := p.LastStableOffset() == p.HighWatermark(); stable != (len(pending) == 0) {
		h.t.Errorf("%s has %d open transactions, and is stable: %t", at, len(pending), stable)
	}
	return values, len(pending)
}

func (h *house) expectCommitted(at partitionName, want ...string) {
	h.t.Helper()
	if got, _ := h.committedValues(at); !slices.Equal(got, want) {
		h.t.Errorf("%s has %v, want %v", at, got, want)
	}
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}
