package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/fetchsession"
	"github.com/skeinstream/skein/broker/internal/partition"
)

// fetchHit is a partition that the answer has more of than its offsets: records or a failure.
type fetchHit struct {
	of     *fetchsession.Partition
	result fetchResult
	// unknown says that there is no such partition. Kafka lists those behind the others and with no aborted transactions
	// in place of null.
	unknown bool
}

// read reads every partition of the session in its order and reports whether the fetch can be answered now: there is
// enough, or something to tell that cannot wait (T26), or it shall not wait. Else nothing is kept.
func (f *fetch) read() bool {
	f.hits, f.bounds = f.hits[:0], f.bounds[:0]
	limit := f.bytesWithin(int64(f.handler.Broker().FetchMaxBytes))
	least := f.minBytesWithin(limit)
	bytes, urgent := int64(0), f.maxWaitMs <= 0 || f.over.Load()
	for of := range f.session.All() {
		p, code := f.find(of)
		if code != 0 {
			f.hit(of, fetchFailure(code)).unknown = code != kerr.InconsistentTopicID.Code
			urgent = true
			continue
		}
		got := p.Read(f.options(of, limit, bytes == 0))
		size := int64(got.Records.Len)
		urgent = f.note(of, &got) || urgent
		bytes += size
		limit = max(0, limit-size)
	}
	if urgent || bytes >= least || f.session.Len() == 0 {
		return true
	}
	f.dropHits()
	return false
}

// note keeps what a partition gave, if it is more than its offsets, and reports whether the fetch must not wait: for an
// error; for records that more of the same partition could not join, as at the end of a segment; in a session, for
// what the client has not been told.
func (f *fetch) note(of *fetchsession.Partition, got *partition.ReadResult) (urgent bool) {
	bound := got.HighWatermark
	if f.isolation == readCommitted {
		bound = got.LastStable
	}
	f.bounds = append(f.bounds, bound)
	if got.Records.Len > 0 {
		f.hit(of, f.result(got))
		return got.Records.End < bound
	}
	if got.Code != 0 || got.Diverging {
		f.hit(of, f.result(got))
		return true
	}
	return f.session.Incremental() && of.Owes(got.Start)
}

func (f *fetch) hit(of *fetchsession.Partition, r fetchResult) *fetchHit {
	f.hits = append(f.hits, fetchHit{of: of, result: r})
	return &f.hits[len(f.hits)-1]
}

func (f *fetch) dropHits() {
	for i := range f.hits {
		f.hits[i].result.records.Release()
	}
	clear(f.hits)
	f.hits = f.hits[:0]
}

// options is what to ask a partition for when there is room for limit bytes. The first batch of the first partition that
// has any may be larger than every limit (T21).
func (f *fetch) options(of *fetchsession.Partition, limit int64, first bool) partition.ReadOptions {
	return partition.ReadOptions{
		Offset:           of.Offset,
		MaxBytes:         int(min(limit, int64(of.MaxBytes))),
		MinOne:           first,
		Committed:        f.isolation == readCommitted,
		LeaderEpoch:      of.LeaderEpoch,
		LastFetchedEpoch: of.LastFetchedEpoch,
		Follower:         f.replicaID >= 0,
	}
}

// find finds the partition that the session means.
func (f *fetch) find(of *fetchsession.Partition) (*partition.Partition, int16) {
	if p, ok := of.Handle.(*partition.Partition); ok && !p.Deleted() {
		return p, 0
	}
	topic, code := f.findTopic(of)
	if code != 0 {
		return nil, code
	}
	p := topic.Partition(of.Index)
	if p == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	of.Handle = p
	return p, 0
}

func (f *fetch) findTopic(of *fetchsession.Partition) (*partition.Topic, int16) {
	table := f.handler.Table
	if !f.head.ByID {
		if topic := table.Topic(of.Topic); topic != nil {
			return topic, 0
		}
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	switch topic := table.TopicByID(of.ID); {
	case topic != nil:
		of.Name = topic.Name
		return topic, 0
	case of.Name == "":
		return nil, kerr.UnknownTopicID.Code
	case table.Topic(of.Name) != nil:
		return nil, kerr.InconsistentTopicID.Code // deleted and made again (T13)
	default:
		return nil, kerr.UnknownTopicOrPartition.Code
	}
}

// result turns what a partition gave into what is answered.
func (f *fetch) result(got *partition.ReadResult) fetchResult {
	if got.Code != 0 {
		return f.failure(got.Code)
	}
	r := fetchResult{
		highWatermark: got.HighWatermark, lastStable: got.LastStable, start: got.Start,
		aborted: got.Aborted, abortedKnown: f.isolation == readCommitted && !got.Diverging,
		diverging: noLeaderHint(), divergingEnd: -1, leader: noLeaderHint(),
		records: got.Records,
	}
	if got.Diverging {
		r.diverging.epoch, r.divergingEnd = got.DivergingEpoch, got.DivergingEnd
	}
	return r
}

func (f *fetch) failure(code int16) fetchResult {
	if code == kerr.KafkaStorageError.Code {
		code = f.answer.storageCode()
	}
	r := fetchFailure(code)
	if f.request.Version >= fetchNodeEndpoints && (code == kerr.NotLeaderForPartition.Code || code == kerr.FencedLeaderEpoch.Code) {
		r.leader = leaderHint{f.handler.NodeID, f.handler.leaderEpoch()}
	}
	return r
}

// collect puts the results into the answer, in the session's order and the unknown partitions last. In an incremental
// session only those that have something to say.
func (f *fetch) collect(incremental bool) {
	hits := f.hits
	for of := range f.session.All() {
		if len(hits) == 0 || hits[0].of != of {
			f.tellQuiet(of, incremental)
			continue
		}
		if hit := &hits[0]; !hit.unknown {
			f.tell(of, &hit.result, incremental)
		}
		hits = hits[1:]
	}
	for i := range f.hits {
		if hit := &f.hits[i]; hit.unknown {
			hit.result.abortedKnown = true
			f.tell(hit.of, &hit.result, incremental)
		}
	}
}

// tellQuiet puts in a partition without records. It has been read before, so it is there, and mostly it stands as told.
func (f *fetch) tellQuiet(of *fetchsession.Partition, incremental bool) {
	p, code := f.find(of)
	if code != 0 {
		r := f.failure(code)
		f.tell(of, &r, incremental)
		return
	}
	highWatermark, start := p.HighWatermark(), p.StartOffset()
	if incremental && of.Told(highWatermark, start) {
		return
	}
	r := f.result(&partition.ReadResult{HighWatermark: highWatermark, LastStable: p.LastStableOffset(), Start: start})
	f.tell(of, &r, incremental)
}

func (f *fetch) tell(of *fetchsession.Partition, r *fetchResult, incremental bool) {
	news := f.session.Report(of, fetchsession.Result{
		HighWatermark: r.highWatermark,
		Start:         r.start,
		Records:       r.records.Len > 0,
		Failed:        r.code != 0 || r.divergingEnd >= 0,
	})
	if !news && incremental {
		return
	}
	r.topic, r.id, r.index = of.Topic, of.ID, of.Index
	f.answer.results = append(f.answer.results, *r)
}
