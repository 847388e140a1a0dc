package eossim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
	"github.com/skeinstream/skein/broker/internal/record"
)

var (
	errFenced = errors.New("fenced")               // the client is to end
	errAbort  = errors.New("the transaction must") // be aborted
)

// protocol is what a transactional client speaks.
type protocol int

const (
	raising protocol = iota // KIP-890 part 2: every transaction has its epoch
	plain                   // before it, with KIP-447 and KIP-360
	ancient                 // before those: offsets are committed without the member, and who is in doubt starts anew
)

func (p protocol) String() string { return [...]string{"raising", "plain", "ancient"}[p] }

func (p protocol) version(key kmsg.Key) int16 {
	switch key {
	case kmsg.Produce:
		return [...]int16{12, 9, 7}[p]
	case kmsg.InitProducerID:
		return [...]int16{5, 4, 1}[p]
	case kmsg.EndTxn:
		return [...]int16{5, 3, 1}[p]
	case kmsg.TxnOffsetCommit:
		return [...]int16{5, 3, 2}[p]
	case kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn:
		return [...]int16{3, 3, 1}[p]
	}
	return -1
}

// producer is a transactional producer. What it does is what clients do, with all the ways in which they go on when they do
// not know.
type producer struct {
	*client
	id       string
	speaks   protocol
	timeout  time.Duration
	producer int64
	epoch    int16
	next     map[history.Partition]int32 // sequence numbers

	txn     *history.Txn
	added   map[history.Partition]bool // partitions of the transaction, for those who add them
	offsets map[string]bool            // groups, likewise
	tried   bool                       // something of it may have come through
	unsure  bool                       // a batch may still come through
}

func (w *world) producer(name string, number int, id string, speaks protocol, timeout time.Duration) *producer {
	p := &producer{client: w.client(name, number), id: id, speaks: speaks, timeout: timeout, producer: -1, epoch: -1}
	p.overtaken = speaks == raising
	return p
}

// initialise makes it the producer of its transactional id. again: it says who it was (KIP-360).
func (p *producer) initialise(again bool) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, int32(p.timeout.Milliseconds())
	if again {
		req.ProducerID, req.ProducerEpoch = p.producer, p.epoch
	}
	resp, _, err := p.insist(req, p.speaks.version(kmsg.InitProducerID), fmt.Sprintf("%s again=%t", p.id, again), func(r kmsg.Response) int16 {
		return r.(*kmsg.InitProducerIDResponse).ErrorCode
	})
	if err != nil {
		return err
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	if r.ErrorCode != 0 {
		if !fences(r.ErrorCode) || !again {
			p.w.problem("%s: initialising %s: %w", p.name, p.id, kerr.ErrorForCode(r.ErrorCode))
		}
		return errFenced
	}
	p.became(r.ProducerID, r.ProducerEpoch)
	return nil
}

// fences says that a code tells a producer that there is another one, or that its time was up.
func fences(code int16) bool {
	switch kerr.ErrorForCode(code) {
	case kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState:
		return true
	}
	return false
}

func (p *producer) became(id int64, epoch int16) {
	if id != p.producer || epoch != p.epoch {
		p.next = map[history.Partition]int32{}
	}
	p.producer, p.epoch, p.unsure = id, epoch, false
	p.w.know(func(h *history.History) {
		h.Fences = append(h.Fences, history.Fence{ID: p.id, Producer: id, Epoch: epoch, Got: p.w.now()})
	})
}

// begin begins a transaction, of which nobody else knows yet.
func (p *producer) begin() {
	t := &history.Txn{ID: p.id, Producer: p.producer, Epoch: p.epoch, Timeout: p.timeout}
	p.txn, p.tried = t, false
	p.added, p.offsets = map[history.Partition]bool{}, map[string]bool{}
	p.w.know(func(h *history.History) {
		t.Number = len(h.Txns)
		h.Txns = append(h.Txns, t)
	})
	p.sent = func() {
		p.w.know(func(*history.History) {
			if t.Began == 0 {
				t.Began = p.w.now()
			}
		})
	}
}

// write is the next record of the transaction.
func (p *producer) write(at history.Partition, key string, order int, source *history.Source) *history.Write {
	w := &history.Write{At: at, Key: key, Order: order, Source: source}
	p.w.know(func(*history.History) {
		w.Value = fmt.Sprintf("%s.%d.%d", p.id, p.txn.Number, len(p.txn.Writes))
		p.txn.Writes = append(p.txn.Writes, w)
	})
	return w
}

// send sends records, of each partition one batch in one request, or each record in a request of its own that does not wait for
// the one before. It comes back when all are acknowledged, or with errAbort.
func (p *producer) send(writes []*history.Write) error {
	if err := p.add(writes); err != nil {
		return err
	}
	p.tried = true
	began, hasty, each := p.w.now(), p.dice.IntN(4) == 0, p.dice.IntN(3) == 0
	batches := p.batches(writes, each)
	for len(batches) > 0 {
		sent := p.w.now()
		codes, err := p.round(batches, each)
		if err != nil {
			return err
		}
		silent := len(codes) < len(batches)
		if batches, err = p.produced(batches, codes, sent); err != nil {
			return err
		}
		if silent && (hasty || sent > began+progress) { // it does not wait to learn what came of it
			p.unsure = true
			return errAbort
		}
		if len(batches) > 0 {
			p.rest(60 * time.Millisecond)
		}
	}
	return nil
}

// round sends batches once and returns the codes of those that were answered. The error is errDead.
func (p *producer) round(batches []*batch, each bool) (map[*batch]int16, error) {
	codes := map[*batch]int16{}
	version := p.speaks.version(kmsg.Produce)
	if !each {
		resp, err := p.call(produceRequest(&p.id, batches), version, p.about(batches), produceCode)
		if err == nil {
			err = p.read(batches, resp, codes)
		}
		return codes, mortal(err)
	}
	var reqs []kmsg.Request
	var about []string
	for _, b := range batches {
		reqs, about = append(reqs, produceRequest(&p.id, []*batch{b})), append(about, p.about([]*batch{b}))
	}
	resps, err := p.flow(reqs, version, about, produceCode)
	for i, resp := range resps {
		if resp != nil && err == nil {
			err = p.read(batches[i:i+1], resp, codes)
		}
	}
	return codes, mortal(err)
}

// read takes the codes out of an answer, which must have one for each batch.
func (p *producer) read(batches []*batch, resp kmsg.Response, codes map[*batch]int16) error {
	for _, b := range batches {
		code, found := b.answer(resp.(*kmsg.ProduceResponse))
		if !found {
			p.w.problem("%s: no answer for %v", p.name, b)
			return errDead
		}
		codes[b] = code
	}
	return nil
}

func (p *producer) about(batches []*batch) string {
	return fmt.Sprintf("%s/%d txn %d %v", p.id, p.epoch, p.txn.Number, batches)
}

// batch is records of one partition on their way.
type batch struct {
	at       history.Partition
	sequence int32
	writes   []*history.Write
	bytes    []byte
}

func (b *batch) String() string { return fmt.Sprintf("%v#%d+%d", b.at, b.sequence, len(b.writes)) }

func (p *producer) batches(writes []*history.Write, each bool) (all []*batch) {
	next := maps.Clone(p.next)
	for _, w := range writes {
		i := slices.IndexFunc(all, func(b *batch) bool { return !each && b.at == w.At })
		if i < 0 {
			i = len(all)
			all = append(all, &batch{at: w.At, sequence: next[w.At]})
		}
		all[i].writes = append(all[i].writes, w)
		next[w.At]++
	}
	for _, b := range all {
		b.encode(p.producer, p.epoch, true)
	}
	return all
}

func (b *batch) encode(producer int64, epoch int16, transactional bool) {
	builder := record.NewBuilder(0)
	builder.ProducerID, builder.ProducerEpoch, builder.BaseSequence, builder.Transactional = producer, epoch, b.sequence, transactional
	for _, w := range b.writes {
		builder.Append(time.Now().UnixMilli(), []byte(w.Key), []byte(w.Value))
	}
	b.bytes = builder.Bytes()
}

func produceRequest(id *string, batches []*batch) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.TransactionID = -1, 30_000, id
	for _, b := range batches {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = b.at.Index, b.bytes
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.Partitions = b.at.Topic, []kmsg.ProduceRequestTopicPartition{part}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// produceCode is the first code that is not 0.
func produceCode(resp kmsg.Response) int16 {
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return p.ErrorCode
			}
		}
	}
	return 0
}

// produced takes the answers to batches and returns those that are to be sent again: also those whose predecessor is.
func (p *producer) produced(batches []*batch, codes map[*batch]int16, sent time.Duration) (again []*batch, err error) {
	for _, b := range batches {
		follows := slices.ContainsFunc(again, func(a *batch) bool { return a.at == b.at })
		switch code, answered := codes[b]; {
		case answered && code == 0:
			p.acknowledged(b, sent)
		case !answered, retriable(code), follows && code == kerr.OutOfOrderSequenceNumber.Code:
			again = append(again, b)
		default: // clients before KIP-360 give up here, the others abort and take a new epoch
			p.unsure = true
			err = errAbort
		}
	}
	return again, err
}

func (b *batch) answer(resp *kmsg.ProduceResponse) (code int16, found bool) {
	for _, t := range resp.Topics {
		for _, r := range t.Partitions {
			if t.Topic == b.at.Topic && r.Partition == b.at.Index {
				return r.ErrorCode, true
			}
		}
	}
	return 0, false
}

func (p *producer) acknowledged(b *batch, sent time.Duration) {
	p.next[b.at] = b.sequence + int32(len(b.writes))
	p.w.know(func(*history.History) {
		for _, w := range b.writes {
			w.Acked = true
		}
	})
	p.accepted("a batch", sent)
}

// accepted notes that a request was served.
func (p *producer) accepted(what string, sent time.Duration) {
	p.w.know(func(h *history.History) {
		h.Accepted = append(h.Accepted, history.Accepted{ID: p.id, Producer: p.producer, Epoch: p.epoch, Sent: sent, What: what})
	})
}
