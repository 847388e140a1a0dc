package producer

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/transaction"
)

// hearing keeps the offsets of one transaction apart from those of the next.
//
// Kafka before 4.0 tells a transaction to be over when its end stands in the log of the group's offsets; the group's coordinator hears of that later
// (KAFKA-17507). What the same producer offers meanwhile it takes for a part of the transaction that is over: it counts, though it may yet be aborted, or is
// dropped, and stays so when it is committed. Then the group is not where its outputs are, and whoever takes its partitions over repeats records, or leaves some out.
//
// The obvious remedy, to wait a moment, knows no right length. So offsets are offered when the coordinator has been seen to have heard of the last
// ones: it gives out those that were committed, and, where it can tell (Kafka 2.5), nothing is pending any more. A producer of a cluster with KIP-890 does without: its
// coordinators hear of the end first.
type hearing struct {
	offered map[string]offsetsOf // in the transaction that is open, by group
	before  map[string]offering  // in the last one that had any for the group
	asked   map[string]bool      // groups that have nothing of a predecessor's
}

type offsetsOf map[transaction.Partition]transaction.Offset

type offering struct {
	offsets   offsetsOf
	committed bool
}

func newHearing() hearing {
	return hearing{offered: map[string]offsetsOf{}, before: map[string]offering{}, asked: map[string]bool{}}
}

// over is told that the transaction is, and how it has ended.
func (h *hearing) over(committed bool) {
	for group, offsets := range h.offered {
		h.before[group] = offering{offsets, committed}
	}
	clear(h.offered)
}

const (
	// stableSince is the OffsetFetch of Kafka 2.5, which says of offsets that something is pending.
	stableSince = 7
	hearsAgain  = 5 * time.Millisecond
	// unheardMax is how long an offset is waited for that an old broker does not give out: somebody may have committed another.
	unheardMax = 5 * time.Second
	// unheardPause is for what nothing can be seen of, at old brokers: an end that was an abort, or a predecessor's.
	unheardPause = 100 * time.Millisecond
)

// hears waits until the group's coordinator has heard of the end of the last transaction that had offsets for it. The caller's transaction has to be open at the
// transactions' coordinator, so that the one before is over there.
func (p *Producer) hears(ctx context.Context, group string, now offsetsOf) error {
	last, any := p.hearing.before[group]
	if *p.implicit || !any && (p.hearing.asked[group] || !p.stable) {
		return nil
	}
	if !any { // what a predecessor may have left is an abort
		last.offsets = now
	}
	for since := time.Now(); ; {
		switch p.hasHeard(ctx, group, last) {
		case deaf:
			if time.Since(since) < unheardMax {
				break
			}
			p.log.Warn("the group's coordinator does not give out offsets that were committed: has somebody set others?", "group", group, "waited", unheardMax)
			fallthrough
		case heard:
			delete(p.hearing.before, group)
			p.hearing.asked[group] = true
			return nil
		}
		if err := pause(ctx, hearsAgain); err != nil {
			return context.Cause(ctx)
		}
	}
}

// hearsay is what is known of whether a coordinator has heard.
type hearsay int

const (
	heard hearsay = iota
	unknown
	deaf // it gives out other offsets, and that may stay so
)

func (p *Producer) hasHeard(ctx context.Context, group string, last offering) hearsay {
	at := coordinator{group: true, key: group}
	got, err := p.ask(ctx, at, capped{offsetFetch(group, last.offsets), stableSince})
	if err != nil {
		return unknown
	}
	resp := got.(*kmsg.OffsetFetchResponse)
	given, err := givenOut(resp)
	switch {
	case err != nil:
		p.moved(at, err)
		if kerr.IsRetriable(err) {
			return unknown
		}
		return heard // what is refused for good TxnOffsetCommit is, too, and says so
	case !last.committed && resp.Version < stableSince:
		_ = pause(ctx, unheardPause) // an abort cannot be seen there
		return heard
	}
	return last.isIn(given)
}

// isIn compares with what is given out. Who is further has come since.
func (o offering) isIn(given map[transaction.Partition]int64) hearsay {
	if !o.committed {
		return heard
	}
	for part, offset := range o.offsets {
		if given[part] < offset.At {
			return deaf
		}
	}
	return heard
}

func offsetFetch(group string, offsets offsetsOf) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, true
	topics := map[string][]int32{}
	for part := range offsets {
		topics[part.Topic] = append(topics[part.Topic], part.Partition)
	}
	for topic, partitions := range topics {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		req.Topics = append(req.Topics, t)
	}
	return req
}

// givenOut are the offsets of an answer, or the error that decides.
func givenOut(resp *kmsg.OffsetFetchResponse) (map[transaction.Partition]int64, error) {
	given := map[transaction.Partition]int64{}
	err := kerr.ErrorForCode(resp.ErrorCode)
	for _, t := range resp.Topics {
		for _, part := range t.Partitions {
			given[transaction.Partition{Topic: t.Topic, Partition: part.Partition}] = part.Offset
			if refused := kerr.ErrorForCode(part.ErrorCode); refused != nil && err == nil {
				err = refused
			}
		}
	}
	return given, err
}

// leavesHeard has the last offsets of this producer heard of before a successor asks for them, where that is not told that they are not stable.
func (p *Producer) leavesHeard(ctx context.Context) {
	_ = p.inTurn(ctx, func(ctx context.Context) error {
		if alive := p.ended(); p.stable || !alive {
			return nil
		}
		for group, last := range p.hearing.before {
			for since := time.Now(); p.hasHeard(ctx, group, last) == deaf && time.Since(since) < unheardMax; {
				if err := pause(ctx, hearsAgain); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ended has the offsets of the last transaction be those of the one before. It says whether nobody has fenced this producer, as far as it knows.
func (p *Producer) ended() (alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hearing.over(p.machine.Committed())
	return !p.machine.Dead()
}
