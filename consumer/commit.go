package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Commit commits all that has been handed out, as far as the group does not have it yet: the caller is done with it. It waits for the
// commits that were asked for before. ErrRebalanceInProgress says to poll and to commit again; ErrCommitFailed that it is too late.
func (c *Consumer) Commit(ctx context.Context) error {
	return c.commit(ctx, func() Offsets { return c.table.progress(nil, false) })
}

// CommitOffsets commits what it is told, of partitions that are owned: a *NotOwnedError names others, after the rest is committed.
func (c *Consumer) CommitOffsets(ctx context.Context, offsets Offsets) error {
	var others []TopicPartition
	err := c.commit(ctx, func() (mine Offsets) {
		mine, others = c.table.mine(offsets)
		return mine
	})
	if err == nil && len(others) > 0 {
		slices.SortFunc(others, TopicPartition.Compare)
		return &NotOwnedError{others}
	}
	return err
}

// CommitAsync is Commit without waiting. The function, which may be nil, is called by another goroutine, in the order of the calls. It must not wait,
// nor call Commit or Close.
func (c *Consumer) CommitAsync(then func(Offsets, error)) {
	if then == nil {
		then = func(Offsets, error) {}
	}
	c.commits.ask(func() *commitJob {
		g, err := c.committing()
		offsets := c.table.progress(nil, false)
		if err != nil || len(offsets) == 0 {
			return &commitJob{ctx: c.commits.life, done: func(Offsets, error) { then(offsets, err) }, waits: true}
		}
		return &commitJob{ctx: c.commits.life, offsets: offsets, generation: g, done: then}
	})
}

// commit commits in order with others, and waits for it. Whose offsets they are is found out before what they are: a generation that begins
// in between refuses them, instead of taking what may be another's.
func (c *Consumer) commit(ctx context.Context, which func() Offsets) (err error) {
	answer := make(chan error, 1)
	if !c.commits.ask(func() *commitJob {
		var g membership.Generation
		if g, err = c.committing(); err != nil {
			return nil
		}
		offsets := which()
		if len(offsets) == 0 {
			return nil
		}
		return &commitJob{ctx: ctx, offsets: offsets, generation: g, waits: true, done: func(_ Offsets, err error) { answer <- err }}
	}) {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("committing for group %q: %w", c.cfg.Group, ctx.Err())
	}
}

// committing is in whose name. A member that has no generation yet commits nothing: without one, no broker would refuse it (R-B13).
func (c *Consumer) committing() (membership.Generation, error) {
	g, subscribed := c.table.currentGeneration()
	if c.cfg.Group == "" {
		return g, fmt.Errorf("committing: %w", ErrNoGroup)
	}
	if c.commits.life.Err() != nil {
		return g, ErrClosed
	}
	if !subscribed {
		return membership.Generation{ID: -1, Instance: ""}, nil
	}
	if g.ID < 0 {
		return g, ErrRebalanceInProgress
	}
	return g, nil
}

// send sends a commit, and again while the trouble is passing and the generation the same: a commit is never carried over into another.
func (c *Consumer) send(ctx, life context.Context, g membership.Generation, offsets Offsets) (err error) {
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	for tries := range attempts(ctx) {
		var again bool
		if again, err = c.sendOnce(ctx, g, offsets); !again || tries >= goneTries && errors.Is(err, kerr.UnknownTopicOrPartition) {
			return err
		}
		if now, subscribed := c.table.currentGeneration(); subscribed && now != g {
			return ErrRebalanceInProgress
		}
	}
	return fmt.Errorf("committing for group %q: %w", c.cfg.Group, err)
}

// goneTries is how often an offset of a topic is sent that the broker does not know: that is new to it, or deleted.
const goneTries = 4

func (c *Consumer) sendOnce(ctx context.Context, g membership.Generation, offsets Offsets) (again bool, err error) {
	began := time.Now()
	resp, err := c.offsetCommit(g, offsets).RequestWith(ctx, c.kafka)
	if err != nil {
		return passing(err) && ctx.Err() == nil, fmt.Errorf("committing for group %q: %w", c.cfg.Group, err)
	}
	c.stats.committed(time.Since(began))
	accepted, refused := readCommit(resp, offsets)
	c.table.wasCommitted(accepted)
	return c.judge(g, refused)
}

func (c *Consumer) offsetCommit(g membership.Generation, offsets Offsets) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.MemberID = c.cfg.Group, g.ID, g.Member
	if g.Instance != "" {
		req.InstanceID = &g.Instance
	}
	topics := map[string]int{}
	for tp, o := range offsets {
		i, ok := topics[tp.Topic]
		if !ok {
			i = len(req.Topics)
			topics[tp.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = tp.Partition, o.At, o.LeaderEpoch, &o.Metadata
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// readCommit splits the answer by partition. What is not in it is not committed, as far as anybody knows.
func readCommit(resp *kmsg.OffsetCommitResponse, sent Offsets) (accepted Offsets, refused map[TopicPartition]*kerr.Error) {
	accepted, refused = Offsets{}, map[TopicPartition]*kerr.Error{}
	answers := map[TopicPartition]*kerr.Error{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			answers[TopicPartition{Topic: t.Topic, Partition: p.Partition}] = kerr.TypedErrorForCode(p.ErrorCode)
		}
	}
	for tp, o := range sent {
		switch err, answered := answers[tp]; {
		case !answered:
			refused[tp] = kerr.UnknownServerError
		case err != nil:
			refused[tp] = err
		default:
			accepted[tp] = o
		}
	}
	return accepted, refused
}

// judge says what errors of a commit mean (R-B6): some are about the member, and the same for all partitions; some pass; the rest are for the user.
func (c *Consumer) judge(g membership.Generation, refused map[TopicPartition]*kerr.Error) (again bool, err error) {
	lasting := &CommitError{Refused: map[TopicPartition]error{}}
	for tp, e := range refused {
		switch e {
		case kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.FencedInstanceID:
			return false, c.refused(g, e)
		}
		if e.Retriable {
			again, err = true, e
			continue
		}
		lasting.Refused[tp] = e
	}
	if len(lasting.Refused) > 0 {
		return false, lasting
	}
	return again, err
}

// refused has the machine say what an error of the member means. A member that assigns its partitions by hand is refused by a group that has
// members.
func (c *Consumer) refused(g membership.Generation, e *kerr.Error) error {
	if g.ID < 0 {
		return fmt.Errorf("committing for group %q: %w", c.cfg.Group, e)
	}
	err := ErrCommitFailed
	c.driver.ask(func() {
		err = c.driver.commitRefused(membership.CommitRefused{Code: e.Code, Generation: g.ID, Member: g.Member})
	})
	return fmt.Errorf("committing for group %q: %w (%s)", c.cfg.Group, err, e.Message)
}

// commitRefused gives the machine the error, and the caller what it says: that is not for the next poll.
func (d *driver) commitRefused(in membership.CommitRefused) error {
	d.polls()
	out := d.machine.Step(time.Now(), in)
	d.carry(out)
	return out.Err
}

// CommitError says which partitions were not committed, and why. The others were.
type CommitError struct{ Refused map[TopicPartition]error }

// Unwrap returns the causes.
func (e *CommitError) Unwrap() (errs []error) {
	for _, err := range e.Refused {
		errs = append(errs, err)
	}
	return errs
}

func (e *CommitError) Error() string {
	var all []string
	for tp, err := range e.Refused {
		if errors.Is(err, kerr.OffsetMetadataTooLarge) {
			err = errors.New("its metadata are longer than the broker's offset.metadata.max.bytes")
		}
		all = append(all, fmt.Sprintf("%s-%d: %s", tp.Topic, tp.Partition, err))
	}
	slices.Sort(all)
	return "committing some partitions: " + strings.Join(all, "; ")
}
