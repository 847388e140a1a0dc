package api

import "github.com/skeinstream/skein/broker/internal/record"

// The Produce request and response by hand: no allocation per topic or partition, the records alias the body.

// First versions of what the fields of Produce depend on.
const (
	produceMin           = 3
	produceMax           = 13
	produceStartOffset   = 5  // log_start_offset in the response
	produceZstd          = 7  // clients may use zstd (KIP-110)
	produceRecordErrors  = 8  // record_errors and error_message in the response
	produceFlexible      = 9  // compact lengths, tagged fields
	produceCurrentLeader = 10 // tags that name the leader, with NOT_LEADER_OR_FOLLOWER alone (KIP-951)
	produceAbortable     = 11 // TRANSACTION_ABORTABLE (KIP-890)
	produceAdds          = 12 // partitions come into the transaction with their first batch (KIP-890)
	produceTopicID       = 13 // ids in place of names (KIP-516)
)

// produceRequest is a decoded request. Its slices share the body's memory and its arrays are used again by the next
// decode.
type produceRequest struct {
	transactionalID []byte // nil when null
	acks            int16
	timeoutMs       int32
	topics          []produceTopic
	partitions      []producePartition // of all topics, in order
}

type produceTopic struct {
	name  []byte   // before produceTopicID
	id    [16]byte // from produceTopicID on
	first int      // its partitions are partitions[first:end]
	end   int
}

type producePartition struct {
	index   int32
	records []byte // nil when null
}

// decode reads a request body. On an error the content is undefined.
func (q *produceRequest) decode(body []byte, version int16) error {
	r := wireReader{rest: body, flexible: version >= produceFlexible}
	q.topics, q.partitions = q.topics[:0], q.partitions[:0]
	q.transactionalID = r.nullableStr()
	q.acks = r.int16()
	q.timeoutMs = r.int32()
	for n := r.array(); n > 0 && !r.bad; n-- {
		q.decodeTopic(&r, version)
	}
	r.tags()
	return r.err()
}

func (q *produceRequest) decodeTopic(r *wireReader, version int16) {
	t := produceTopic{first: len(q.partitions)}
	if version >= produceTopicID {
		t.id = r.uuid()
	} else {
		t.name = r.str()
	}
	for n := min(r.array(), partitionsMax); n > 0 && !r.bad; n-- {
		q.partitions = append(q.partitions, producePartition{index: r.int32(), records: r.nullableBytes()})
		r.tags()
	}
	r.tags()
	t.end = len(q.partitions)
	q.topics = append(q.topics, t)
	r.bad = r.bad || len(q.partitions)+len(q.topics) > partitionsMax
}

// produceResult is the answer for one partition.
type produceResult struct {
	code          int16
	baseOffset    int64
	logAppendTime int64
	startOffset   int64
	message       string
	records       []record.RecordError // what the batch was refused for (KIP-467)
	leader        leaderHint
}

// refused is the result of a partition that took nothing.
func refused(code int16) produceResult {
	return produceResult{code: code, baseOffset: -1, logAppendTime: -1, startOffset: -1, leader: noLeaderHint()}
}

// leaderHint names the leader that a client should turn to, -1 and -1 when there is nothing to say.
type leaderHint struct{ id, epoch int32 }

func noLeaderHint() leaderHint { return leaderHint{-1, -1} }

// appendResponse appends the response to a request: results[i] answers partitions[i].
func (q *produceRequest) appendResponse(b []byte, version int16, results []produceResult, throttleMs int32) []byte {
	flexible := version >= produceFlexible
	b = appendArray(b, len(q.topics), flexible)
	for _, t := range q.topics {
		if version >= produceTopicID {
			b = append(b, t.id[:]...)
		} else {
			b = appendString(b, t.name, flexible)
		}
		b = appendArray(b, t.end-t.first, flexible)
		for i := t.first; i < t.end; i++ {
			b = results[i].append(b, version, q.partitions[i].index)
		}
		b = appendNoTags(b, flexible)
	}
	b = appendInt32(b, throttleMs)
	return appendNoTags(b, flexible)
}

func (r *produceResult) append(b []byte, version int16, partition int32) []byte {
	b = appendInt32(b, partition)
	b = appendInt16(b, r.code)
	b = appendInt64(b, r.baseOffset)
	b = appendInt64(b, r.logAppendTime)
	if version >= produceStartOffset {
		b = appendInt64(b, r.startOffset)
	}
	if version >= produceRecordErrors {
		b = r.appendErrors(b, version >= produceFlexible)
	}
	if version >= produceCurrentLeader && r.leader != noLeaderHint() {
		return appendLeaderTag(b, 0, r.leader)
	}
	return appendNoTags(b, version >= produceFlexible)
}

func (r *produceResult) appendErrors(b []byte, flexible bool) []byte {
	b = appendArray(b, len(r.records), flexible)
	for _, e := range r.records {
		b = appendInt32(b, e.Index)
		b = appendNullable(b, e.Message, flexible)
		b = appendNoTags(b, flexible)
	}
	return appendNullable(b, r.message, flexible)
}

// appendLeaderTag appends a structure's end whose one tagged field is the current leader.
func appendLeaderTag(b []byte, tag byte, l leaderHint) []byte {
	b = append(b, 1, tag, 4+4+1)
	b = appendInt32(b, l.id)
	b = appendInt32(b, l.epoch)
	return append(b, 0)
}

// responseSize is how many bytes the response takes when nothing is refused.
func (q *produceRequest) responseSize() int {
	size := 16 + 40*len(q.partitions)
	for _, t := range q.topics {
		size += 24 + len(t.name)
	}
	return size
}
