package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// copyLimit is up to how many bytes of records are read into the response; longer pieces are left as ranges of their
// files, so that they may go from the page cache to the socket without passing through here. So are short ones once
// copyTotal is copied: a client that does not read its answer must not hold more memory for it, however many partitions
// it asks for.
const (
	copyLimit = 16 << 10
	copyTotal = 256 << 10
)

// fetchResult is the answer for one partition. A failed one carries -1 for the offsets.
type fetchResult struct {
	topic         string   // before fetchTopicID
	id            [16]byte // from fetchTopicID on
	index         int32
	code          int16
	highWatermark int64
	lastStable    int64
	start         int64
	aborted       []storage.AbortedTxn
	abortedKnown  bool // false: null, as for read_uncommitted (T23)
	diverging     leaderHint
	divergingEnd  int64 // with diverging.epoch: where the epoch that both know ends
	leader        leaderHint
	records       storage.Slice
}

// fetchFailure is the result of a partition that was not read.
func fetchFailure(code int16) fetchResult {
	return fetchResult{code: code, highWatermark: -1, lastStable: -1, start: -1, diverging: noLeaderHint(), divergingEnd: -1, leader: noLeaderHint()}
}

func (f *fetchResult) sameTopic(g *fetchResult) bool { return f.topic == g.topic && f.id == g.id }

// fetchAnswer encodes a response. Zero it with reset and use it again once the response has been released.
type fetchAnswer struct {
	version   int16
	code      int16
	sessionID int32
	results   []fetchResult
	// endpoint is told to clients that must turn elsewhere, when any result has a leader.
	endpoint server.ListenerInfo

	buf    []byte
	copied int // bytes of records in buf
	cuts   []fetchCut
	chunks []server.Chunk
}

// fetchCut is where a range of a file goes between the bytes of the buffer.
type fetchCut struct {
	at    int
	slice storage.Slice
}

func (a *fetchAnswer) reset() {
	clear(a.results)
	clear(a.cuts)
	clear(a.chunks)
	*a = fetchAnswer{results: a.results[:0], cuts: a.cuts[:0], chunks: a.chunks[:0]}
}

// release gives back the files of the results.
func (a *fetchAnswer) release() {
	for i := range a.results {
		a.results[i].records.Release()
		a.results[i].records = storage.Slice{}
	}
}

// size is an upper bound of the bytes that encode puts into its buffer.
func (a *fetchAnswer) size() int {
	size, copies := 64+len(a.endpoint.Host), 0
	for i := range a.results {
		r := &a.results[i]
		size += 128 + len(r.topic) + 20*len(r.aborted)
		if r.records.Len <= copyLimit {
			copies += r.records.Len
		}
	}
	return size + min(copies, copyTotal)
}

// encode builds the response in buf, which should have room for size bytes.
func (a *fetchAnswer) encode(buf []byte) server.Response {
	flexible := a.version >= fetchFlexible
	a.copied = 0
	a.buf = appendInt32(buf, 0) // throttle_time_ms
	if a.version >= fetchSession {
		a.buf = appendInt16(a.buf, a.code)
		a.buf = appendInt32(a.buf, a.sessionID)
	}
	a.buf = appendArray(a.buf, a.countTopics(), flexible)
	for rest := a.results; len(rest) > 0; {
		n := topicRun(rest)
		a.encodeTopic(rest[:n])
		rest = rest[n:]
	}
	a.encodeEndpoints()
	if len(a.cuts) == 0 {
		return server.Response{Body: a.buf, ErrorCode: a.errorCode()}
	}
	return server.Response{Chunks: a.cut(), ErrorCode: a.errorCode()}
}

// topicRun is how many results at the front belong to one topic. Kafka keeps the order of partitions and so names a
// topic as often as it comes up.
func topicRun(results []fetchResult) int {
	n := 1
	for n < len(results) && results[n].sameTopic(&results[0]) {
		n++
	}
	return n
}

func (a *fetchAnswer) countTopics() int {
	n := 0
	for rest := a.results; len(rest) > 0; n++ {
		rest = rest[topicRun(rest):]
	}
	return n
}

func (a *fetchAnswer) encodeTopic(results []fetchResult) {
	flexible := a.version >= fetchFlexible
	if a.version >= fetchTopicID {
		a.buf = append(a.buf, results[0].id[:]...)
	} else {
		a.buf = appendString(a.buf, results[0].topic, flexible)
	}
	a.buf = appendArray(a.buf, len(results), flexible)
	for i := range results {
		a.encodePartition(&results[i])
	}
	a.buf = appendNoTags(a.buf, flexible)
}

// encodePartition appends one result. When its records cannot be read any more it becomes a failure instead.
func (a *fetchAnswer) encodePartition(r *fetchResult) {
	start := len(a.buf)
	a.encodeHead(r)
	if a.encodeRecords(r.records) != nil {
		r.records.Release()
		failed := fetchFailure(a.storageCode())
		failed.topic, failed.id, failed.index = r.topic, r.id, r.index
		*r = failed
		a.buf = a.buf[:start]
		a.encodeHead(r)
		_ = a.encodeRecords(r.records)
	}
	a.encodePartitionTags(r)
}

// storageCode is KAFKA_STORAGE_ERROR, or what clients know in its place.
func (a *fetchAnswer) storageCode() int16 {
	if a.version < fetchStorageError {
		return kerr.NotLeaderForPartition.Code
	}
	return kerr.KafkaStorageError.Code
}

func (a *fetchAnswer) encodeHead(r *fetchResult) {
	b, flexible := a.buf, a.version >= fetchFlexible
	b = appendInt32(b, r.index)
	b = appendInt16(b, r.code)
	b = appendInt64(b, r.highWatermark)
	b = appendInt64(b, r.lastStable)
	if a.version >= fetchLogStart {
		b = appendInt64(b, r.start)
	}
	b = appendAborted(b, r, flexible)
	if a.version >= fetchRack {
		b = appendInt32(b, -1) // preferred_read_replica
	}
	a.buf = b
}

func appendAborted(b []byte, r *fetchResult, flexible bool) []byte {
	if !r.abortedKnown {
		return appendNullArray(b, flexible)
	}
	b = appendArray(b, len(r.aborted), flexible)
	for _, t := range r.aborted {
		b = appendInt64(b, t.ProducerID)
		b = appendInt64(b, t.FirstOffset)
		b = appendNoTags(b, flexible)
	}
	return b
}

// encodeRecords appends the records, which are empty, never null, when there are none (T22).
func (a *fetchAnswer) encodeRecords(s storage.Slice) error {
	if a.version >= fetchFlexible {
		a.buf = appendUvarint(a.buf, uint32(s.Len)+1)
	} else {
		a.buf = appendInt32(a.buf, int32(s.Len))
	}
	switch {
	case s.Len == 0:
		return nil
	case s.Len > copyLimit || a.copied+s.Len > copyTotal:
		a.cuts = append(a.cuts, fetchCut{at: len(a.buf), slice: s})
		return nil
	default:
		return a.copyRecords(s)
	}
}

func (a *fetchAnswer) copyRecords(s storage.Slice) error {
	at := len(a.buf)
	a.buf = grow(a.buf, s.Len)
	_, err := s.ReadAt(a.buf[at:], 0)
	if err == nil {
		a.copied += s.Len
	}
	return err
}

// grow makes b n bytes longer. What the new bytes hold is undefined.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	return append(b, make([]byte, n)...)
}

func (a *fetchAnswer) encodePartitionTags(r *fetchResult) {
	if a.version < fetchFlexible {
		return
	}
	diverges, led := r.diverging.epoch >= 0 || r.divergingEnd >= 0, r.leader != noLeaderHint()
	switch {
	case diverges:
		a.buf = append(a.buf, 1, 0, 4+8+1)
		a.buf = appendInt32(a.buf, r.diverging.epoch)
		a.buf = appendInt64(a.buf, r.divergingEnd)
		a.buf = append(a.buf, 0)
	case led:
		a.buf = appendLeaderTag(a.buf, 1, r.leader)
	default:
		a.buf = append(a.buf, 0)
	}
}

// encodeEndpoints ends the response, with the address of the leader that results were pointed to.
func (a *fetchAnswer) encodeEndpoints() {
	if a.version < fetchFlexible {
		return
	}
	leader := a.leader()
	if a.version < fetchNodeEndpoints || leader < 0 {
		a.buf = append(a.buf, 0)
		return
	}
	node := appendInt32(nil, leader)
	node = appendString(node, a.endpoint.Host, true)
	node = appendInt32(node, a.endpoint.Port)
	node = append(node, 0, 0) // rack is null, no tags
	a.buf = append(a.buf, 1, 0)
	a.buf = appendUvarint(a.buf, uint32(len(node)+1))
	a.buf = append(a.buf, 2) // one element
	a.buf = append(a.buf, node...)
}

// leader is the node that a result points to, or -1.
func (a *fetchAnswer) leader() int32 {
	for i := range a.results {
		if l := a.results[i].leader; l.id >= 0 {
			return l.id
		}
	}
	return -1
}

// cut puts the ranges of files between the bytes of the buffer.
func (a *fetchAnswer) cut() []server.Chunk {
	at := 0
	for _, c := range a.cuts {
		a.chunks = append(a.chunks, server.Chunk{
			Bytes: a.buf[at:c.at],
			File:  server.FileRange{File: c.slice.File, Pos: c.slice.Pos, Len: int64(c.slice.Len)},
		})
		at = c.at
	}
	a.chunks = append(a.chunks, server.Chunk{Bytes: a.buf[at:]})
	return a.chunks
}

// errorCode is what the response is counted under: its own error, else the first of a partition.
func (a *fetchAnswer) errorCode() int16 {
	if a.code != 0 {
		return a.code
	}
	for i := range a.results {
		if c := a.results[i].code; c != 0 {
			return c
		}
	}
	return 0
}
