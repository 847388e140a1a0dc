package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// holeAfter is how long nothing may arrive before we ask whether the rest of a
// partition holds anything at all.
const holeAfter = time.Second

// skipHoles finishes partitions whose last offsets hold no records any more.
//
// The end of a partition is an offset, and compaction may have removed the
// records just before it. The client passes such holes without telling us, so
// that waiting for the last record would never end. When nothing has arrived
// for a moment, we fetch by hand from where we are and look at the headers of
// the batches: they say up to which offset there is nothing.
func (r *reader) skipHoles(ctx context.Context) error {
	var details kadm.TopicDetails
	err := r.cl.Admin(ctx, func(ctx context.Context, admin *kadm.Client) (err error) {
		details, err = admin.ListTopicsWithInternal(ctx, r.topics()...)
		return err
	})
	if err != nil {
		return err
	}
	for at, end := range r.ends {
		reached, err := r.passHole(ctx, details[at.topic], at, end)
		if err := r.obstacle(at, err); err != nil {
			return err
		}
		if reached {
			r.finish(at)
		}
	}
	return ctx.Err()
}

// obstacle decides about an error at a partition's position. One that may pass
// is told and waited for, but only as long as for any answer: the client's own
// fetching would go on for ever, without a word.
func (r *reader) obstacle(at place, err error) error {
	switch {
	case err == nil || retriable(err) && !kerr.IsRetriable(err):
		return nil // the connection's troubles are told by others
	case !retriable(err):
		return r.problem(at, err)
	}
	since, told := r.waiting[at]
	if !told {
		r.waiting[at] = r.now()
		fmt.Fprintf(r.notices, "skein: %v; trying again\n", r.problem(at, err))
		return nil
	}
	if r.now().Sub(since) < r.cl.Timeout() {
		return nil
	}
	return r.problem(at, err)
}

func (r *reader) topics() []string {
	seen := map[string]bool{}
	var out []string
	for at := range r.ends {
		if !seen[at.topic] {
			seen[at.topic] = true
			out = append(out, at.topic)
		}
	}
	return out
}

// retriable errors are left to the client's own fetching, which goes on.
func retriable(err error) bool {
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err) || errors.Is(err, context.DeadlineExceeded)
}

// passHole says whether nothing but holes lies between our position and end.
func (r *reader) passHole(ctx context.Context, topic kadm.TopicDetail, at place, end int64) (bool, error) {
	leader := topic.Partitions[at.partition].Leader
	for position := r.positions[at]; position < end; {
		batches, err := r.fetchRaw(ctx, leader, topic, at, position)
		if err != nil {
			return false, err
		}
		if len(batches) == 0 {
			return true, nil
		}
		next, empty := pastEmpty(batches, position)
		if !empty {
			return false, nil
		}
		position = next
	}
	return true, nil
}

func (r *reader) fetchRaw(ctx context.Context, leader int32, topic kadm.TopicDetail, at place, position int64) ([]byte, error) {
	within, cancel := r.cl.Within(ctx)
	defer cancel()
	resp, err := r.cl.Broker(int(leader)).Request(within, rawFetch(r.level, topic, at, position))
	if err != nil {
		return nil, err
	}
	fetch := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(fetch.ErrorCode); err != nil {
		return nil, err
	}
	if len(fetch.Topics) != 1 || len(fetch.Topics[0].Partitions) != 1 {
		return nil, errors.New("the broker answered for other partitions than the one asked for")
	}
	p := fetch.Topics[0].Partitions[0]
	return p.RecordBatches, kerr.ErrorForCode(p.ErrorCode)
}

func rawFetch(level kgo.IsolationLevel, topic kadm.TopicDetail, at place, position int64) *kmsg.FetchRequest {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.partition, position, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = at.topic, topic.ID
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	if level == kgo.ReadCommitted() {
		req.IsolationLevel = 1
	}
	req.Topics = append(req.Topics, t)
	return req
}

// Offsets of a record batch's header fields, in bytes.
const (
	batchLengthAt    = 8
	batchLastDeltaAt = 23
	batchCountAt     = 57
	batchHeaderSize  = 61
	batchPrefix      = 12 // before what the length counts
)

// pastEmpty walks batches and returns the offset after them, and whether all
// of them are holes for a reader at position. A batch that began before
// position has been read already, as far as it holds records.
func pastEmpty(batches []byte, position int64) (next int64, empty bool) {
	next = position + 1 // progress, whatever the broker sent
	for len(batches) >= batchHeaderSize {
		base := int64(binary.BigEndian.Uint64(batches))
		delta := int64(int32(binary.BigEndian.Uint32(batches[batchLastDeltaAt:])))
		records := int32(binary.BigEndian.Uint32(batches[batchCountAt:]))
		if base >= position && records > 0 {
			return 0, false
		}
		next = max(next, base+delta+1)
		size := batchPrefix + int(int32(binary.BigEndian.Uint32(batches[batchLengthAt:])))
		if size < batchHeaderSize || size > len(batches) {
			break
		}
		batches = batches[size:]
	}
	return next, true
}
