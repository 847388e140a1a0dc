package api

import "math"

// The Fetch request by hand: nothing is allocated per partition, topic names alias the body.

// First versions of what the fields of Fetch depend on.
const (
	fetchMin            = 4
	fetchMax            = 18
	fetchLogStart       = 5  // log_start_offset
	fetchStorageError   = 6  // before it, KAFKA_STORAGE_ERROR is unknown to clients
	fetchSession        = 7  // sessions (KIP-227)
	fetchLeaderEpoch    = 9  // current_leader_epoch (KIP-320)
	fetchRack           = 11 // rack_id and preferred_read_replica (KIP-392)
	fetchFlexible       = 12 // compact lengths, tagged fields, last_fetched_epoch
	fetchTopicID        = 13 // ids in place of names (KIP-516)
	fetchReplicaState   = 15 // replica_id moves into a tagged field (KIP-903)
	fetchNodeEndpoints  = 16 // current leader and its endpoint with NOT_LEADER and FENCED (KIP-951)
	fetchDirectoryID    = 17 // replica_directory_id, of followers
	fetchReplicaStateID = 1  // tag of replica_state
)

// fetchRequest is a decoded request. Its slices share the body's memory and its arrays are used again by the next
// decode.
type fetchRequest struct {
	replicaID    int32 // -1 for consumers
	maxWaitMs    int32
	minBytes     int32
	maxBytes     int32
	isolation    int8
	sessionID    int32
	sessionEpoch int32
	topics       []fetchTopic
	partitions   []fetchPartition // of all topics, in order
	forgotten    []fetchTopic
	forgets      []int32 // partitions of all forgotten topics, in order
}

// fetchTopic names a topic; its partitions are [first:end] of the array that belongs to its own.
type fetchTopic struct {
	name       []byte   // before fetchTopicID
	id         [16]byte // from fetchTopicID on
	first, end int
}

type fetchPartition struct {
	index            int32
	leaderEpoch      int32 // -1: not known
	offset           int64
	lastFetchedEpoch int32 // -1: none
	maxBytes         int32
}

// decode reads a request body. On an error the content is undefined.
func (q *fetchRequest) decode(body []byte, version int16) error {
	r := wireReader{rest: body, flexible: version >= fetchFlexible}
	q.reset()
	if version < fetchReplicaState {
		q.replicaID = r.int32()
	}
	q.maxWaitMs, q.minBytes, q.maxBytes = r.int32(), r.int32(), r.int32()
	q.isolation = r.int8()
	if version >= fetchSession {
		q.sessionID, q.sessionEpoch = r.int32(), r.int32()
	}
	for n := r.array(); n > 0 && !r.bad; n-- {
		q.decodeTopic(&r, version)
	}
	if version >= fetchSession {
		q.decodeForgotten(&r, version)
	}
	if version >= fetchRack {
		r.str() // there is one replica, so the rack does not matter
	}
	r.eachTag(q.decodeTag(version))
	return r.err()
}

func (q *fetchRequest) reset() {
	q.replicaID, q.sessionID, q.sessionEpoch = -1, 0, -1
	q.topics, q.partitions = q.topics[:0], q.partitions[:0]
	q.forgotten, q.forgets = q.forgotten[:0], q.forgets[:0]
}

// decodeTag reads the replica state. The cluster id (tag 0) is only for the controllers' own log.
func (q *fetchRequest) decodeTag(version int16) func(uint32, *wireReader) {
	if version < fetchReplicaState {
		return nil
	}
	return func(tag uint32, field *wireReader) {
		if tag == fetchReplicaStateID {
			q.replicaID = field.int32()
			field.int64() // replica_epoch
			field.tags()
		}
	}
}

func (t *fetchTopic) decodeName(r *wireReader, version int16) {
	if version >= fetchTopicID {
		t.id = r.uuid()
	} else {
		t.name = r.str()
	}
}

func (q *fetchRequest) decodeTopic(r *wireReader, version int16) {
	t := fetchTopic{first: len(q.partitions)}
	t.decodeName(r, version)
	for n := min(r.array(), partitionsMax); n > 0 && !r.bad; n-- {
		q.partitions = append(q.partitions, decodeFetchPartition(r, version))
	}
	r.tags()
	t.end = len(q.partitions)
	q.topics = append(q.topics, t)
	r.bad = r.bad || len(q.partitions)+len(q.topics) > partitionsMax
}

func decodeFetchPartition(r *wireReader, version int16) fetchPartition {
	p := fetchPartition{index: r.int32(), leaderEpoch: -1, lastFetchedEpoch: -1}
	if version >= fetchLeaderEpoch {
		p.leaderEpoch = r.int32()
	}
	p.offset = r.int64()
	if version >= fetchFlexible {
		p.lastFetchedEpoch = r.int32()
	}
	if version >= fetchLogStart {
		r.int64() // the follower's log start
	}
	p.maxBytes = r.int32()
	r.tags() // a follower's directory and high watermark
	return p
}

func (q *fetchRequest) decodeForgotten(r *wireReader, version int16) {
	for n := r.array(); n > 0 && !r.bad; n-- {
		t := fetchTopic{first: len(q.forgets)}
		t.decodeName(r, version)
		for m := min(r.array(), partitionsMax); m > 0 && !r.bad; m-- {
			q.forgets = append(q.forgets, r.int32())
		}
		r.tags()
		t.end = len(q.forgets)
		q.forgotten = append(q.forgotten, t)
		r.bad = r.bad || len(q.forgets)+len(q.forgotten) > partitionsMax
	}
}

// minBytesWithin is min_bytes, as far as the answer can hold it.
func (q *fetchRequest) minBytesWithin(limit int64) int64 {
	return min(int64(q.minBytes), limit)
}

// bytesWithin is max_bytes under the broker's own limit.
func (q *fetchRequest) bytesWithin(limit int64) int64 {
	return min(int64(q.maxBytes), limit, math.MaxInt32)
}
