package api

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
)

// Produce (key 0): appends batches to partitions.
//
// Version notes:
//   - 0-2 are advertised and refused, by closing the connection, as Kafka 4 does: librdkafka takes their absence for a
//     broker without compression (T3)
//   - 3 is the first with a transactional id and batches of magic 2
//   - 4 tells of KAFKA_STORAGE_ERROR
//   - 5 adds log_start_offset to the response
//   - 7 allows zstd
//   - 8 adds record_errors and error_message (KIP-467)
//   - 9 is flexible
//   - 10 adds the current leader, with NOT_LEADER_OR_FOLLOWER alone (KIP-951): there is one node, so never
//   - 11 tells of TRANSACTION_ABORTABLE (KIP-890)
//   - 12 brings partitions into a transaction with their first batch (KIP-890)
//   - 13 names topics by id (KIP-516)
//
// A request is one answer, given when every partition has one. Requests of a connection append in the order in which they
// came, since this runs on its reader; what waits for the disk is parked in the committer's queue, not in a goroutine.
// acks=1 and acks=all mean the same: what skein.durability says. acks=0 has no answer; an error closes the connection.
//
// What transactional batches need beyond that is in 00_produce_transaction.go.

func produceEntry() entry {
	return entry{key: 0, min: produceMin, max: produceMax, flexible: produceFlexible, serve: (*Handler).produce}
}

// produce is one Produce request under way. Handlers pool it: its slices keep their memory.
type produce struct {
	handler *Handler
	request *server.Request
	produceRequest
	results    []produceResult // of partitions
	appends    []produceAppend
	unverified []int        // of appends: their transactions have to be asked about
	waiting    atomic.Int32 // appends that are not finished, and one for the handler itself
}

// produceAppend is the append to one partition. It answers results[result].
type produceAppend struct {
	partition.Append
	to      *partition.Partition // nil once it is refused
	produce *produce
	result  int
}

// producePool keeps what produce requests need between them.
type producePool struct{ pool sync.Pool }

func (p *producePool) get() *produce {
	if got, ok := p.pool.Get().(*produce); ok {
		return got
	}
	return new(produce)
}

// put takes p back. Records and texts are let go.
func (p *producePool) put(done *produce) {
	clear(done.results)
	clear(done.appends)
	clear(done.partitions)
	clear(done.topics)
	done.handler, done.request, done.transactionalID = nil, nil, nil
	done.unverified = done.unverified[:0]
	p.pool.Put(done)
}

func (h *Handler) produce(_ context.Context, r *server.Request) {
	p := h.data.produces.get()
	p.handler, p.request = h, r
	if err := p.decode(r.Body, r.Version); err != nil {
		r.Fail(malformed("Produce", r.Version, err))
		h.data.produces.put(p)
		return
	}
	p.dropRepeated()
	p.prepare()
	p.start()
}

// prepare makes room for the results. Appends never move once the first is under way.
func (p *produce) prepare() {
	n := len(p.partitions)
	p.results = resized(p.results, n)
	p.appends = resized(p.appends, n)[:0]
	p.waiting.Store(1)
}

// resized returns s with length n, whatever it holds, and room made only when there is too little.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// start decides for every partition whether it is appended to. All of it is decided before the first append, since a
// finished append may be the last.
func (p *produce) start() {
	whole := p.refuseWhole()
	for _, t := range p.topics {
		topic := p.topic(t)
		for i := t.first; i < t.end; i++ {
			p.decide(i, topic, whole)
		}
	}
	if len(p.unverified) > 0 {
		p.verify()
		return
	}
	p.submit()
	p.finished()
}

// submit appends what is not refused.
func (p *produce) submit() {
	p.waiting.Add(int32(len(p.appends)))
	for i := range p.appends {
		if a := &p.appends[i]; a.to != nil {
			a.to.Append(&a.Append)
		} else {
			p.waiting.Add(-1)
		}
	}
}

func (p *produce) topic(t produceTopic) *partition.Topic {
	if p.request.Version >= produceTopicID {
		return p.handler.Table.TopicByID(t.id)
	}
	return p.handler.Table.TopicBytes(t.name)
}

// decide refuses partition i or adds an append for it.
func (p *produce) decide(i int, topic *partition.Topic, whole int16) {
	code := whole
	var found *partition.Partition
	if code == 0 {
		found, code = p.find(topic, p.partitions[i].index)
	}
	if code == 0 {
		code = p.refuse(topic)
	}
	if code != 0 {
		p.results[i] = refused(code)
		return
	}
	p.appends = append(p.appends, produceAppend{produce: p, result: i, to: found})
	a := &p.appends[len(p.appends)-1]
	a.Records, a.ZstdRefused, a.Done = p.partitions[i].records, p.request.Version < produceZstd, a
	if p.transactionalID != nil {
		p.guard(len(p.appends) - 1)
	}
}

func (p *produce) find(topic *partition.Topic, index int32) (*partition.Partition, int16) {
	if topic == nil && p.request.Version >= produceTopicID {
		return nil, kerr.UnknownTopicID.Code
	}
	if topic == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	found := topic.Partition(index)
	if found == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	return found, 0
}

// adminClientID is the only client that Kafka lets write to internal topics.
const adminClientID = "__admin_client"

// refuse is the code that the partition is refused with before its log is asked.
func (p *produce) refuse(topic *partition.Topic) int16 {
	switch {
	case p.acks < -1 || p.acks > 1:
		return kerr.InvalidRequiredAcks.Code
	case topic.Internal && p.request.ClientID != adminClientID:
		return kerr.InvalidTopicException.Code
	default:
		return 0
	}
}

// Appended takes the result of one append.
func (a *produceAppend) Appended(*partition.Append) {
	r, to := &a.Result, &a.produce.results[a.result]
	*to = produceResult{
		code: r.Code, baseOffset: r.BaseOffset, logAppendTime: r.LogAppendTime, startOffset: r.StartOffset,
		message: r.Message, records: r.Records, leader: noLeaderHint(),
	}
	a.produce.finished()
}

// finished counts one part of the request; the last one answers it.
func (p *produce) finished() {
	if p.waiting.Add(-1) > 0 {
		return
	}
	r, pool, code := p.request, &p.handler.data.produces, p.errorCode()
	defer r.Contain() // it may run on the committer's goroutine
	switch {
	case p.acks != 0:
		body := p.appendResponse(r.Buffer(p.responseSize()), r.Version, p.results, 0)
		r.Reply(server.Response{Body: body, ErrorCode: code})
	case code != 0:
		r.Fail(fmt.Errorf("a Produce with acks=0 from client %q was refused with %w", r.ClientID, kerr.ErrorForCode(code)))
	default:
		r.NoReply()
	}
	pool.put(p)
}

// errorCode is the first error of a partition.
func (p *produce) errorCode() int16 {
	for i := range p.results[:len(p.partitions)] {
		if code := p.results[i].code; code != 0 {
			return code
		}
	}
	return 0
}
