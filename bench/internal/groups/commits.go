package groups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/bench/internal/wire"
)

// Committers are connections that commit the offset of one partition, each
// for a group of its own that has no members.
type Committers struct {
	callers []caller
}

// NewCommitters connects, and commits once for each group: then the
// coordinators are there.
func NewCommitters(ctx context.Context, addr, topic string, connections int) (*Committers, error) {
	all := &Committers{}
	for i := range connections {
		c, err := wire.Dial(ctx, addr)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.callers = append(all.callers, committer(c, topic, fmt.Sprintf("commits-%s-%d", topic, i)))
		if err := all.callers[i].first(ctx); err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}

func committer(c *wire.Conn, topic, group string) caller {
	req := commitOf(topic, group)
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = offsetCommitVersion
	return caller{
		conn: c,
		resp: resp,
		next: func() kmsg.Request {
			req.Topics[0].Partitions[0].Offset++
			return req
		},
		code: func() error { return codeOfCommit(resp) },
	}
}

func commitOf(topic, group string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = offsetCommitVersion
	req.Group, req.Generation = group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.LeaderEpoch = -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.OffsetCommitRequestTopicPartition{p}
	req.Topics = []kmsg.OffsetCommitRequestTopic{t}
	return req
}

func codeOfCommit(resp *kmsg.OffsetCommitResponse) error {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return errors.New("the answer to a commit names no partition")
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// first commits until the coordinator of the group takes it.
func (c caller) first(ctx context.Context) error {
	group := c.next().(*kmsg.OffsetCommitRequest).Group
	if err := untilReady(ctx, func() error { return find(c.conn, group) }); err != nil {
		return err
	}
	return untilReady(ctx, func() error {
		c.conn.Put(c.next())
		if err := c.conn.Send(); err != nil {
			return err
		}
		return c.answer()
	})
}

// Run commits for length, so many commits in flight on each connection.
func (a *Committers) Run(ctx context.Context, inFlight int, length time.Duration) (commits int, took time.Duration, err error) {
	commits, took, err = repeat(ctx, a.callers, inFlight, length)
	if err != nil {
		return 0, 0, fmt.Errorf("committing offsets: %w", err)
	}
	return commits, took, nil
}

// Close ends the connections.
func (a *Committers) Close() error {
	var all []error
	for _, c := range a.callers {
		all = append(all, c.conn.Close())
	}
	return errors.Join(all...)
}
