package groupsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// served is a member of the new protocol (KIP-848), K of doc.go, after what is known of Kafka's consumer: it tells the coordinator what it wants and
// owns, and does what it is told. What it is to give up it reports as its own until the callback has ended.
type served struct {
	s   spec
	now time.Time
	out membership.Output

	member string
	epoch  int32 // 0: it is to join
	phase  servedPhase
	topics []string
	owned  []membership.TopicPartition
	target []membership.TopicPartition
	told   bool // target is news
	fenced bool // what it owns is lost

	full, acks bool // the next heartbeat says everything, or what is owned
	beat       time.Time
	last, sent uint64 // sent is the heartbeat under way
	polled     time.Time
	call       *membership.Call
	closes     bool
}

type servedPhase uint8

const (
	away    servedPhase = iota // it subscribes to nothing, or its user does not poll
	within                     // it is a member, or asks to be
	parting                    // the callback before it leaves runs
	gone
)

func newServed(s spec, member string) *served { return &served{s: s, member: member} }

func (f *served) Generation() membership.Generation {
	return membership.Generation{ID: f.epoch, Member: f.member}
}

func (f *served) Tick(now time.Time) membership.Output { return f.Step(now, nil) }

func (f *served) Step(now time.Time, in membership.Input) membership.Output {
	f.now, f.out = now, membership.Output{}
	switch in := in.(type) {
	case membership.Subscribed:
		f.subscribe(slices.Sorted(slices.Values(in.Topics)), in.Matches != nil)
	case membership.Polled:
		f.polled = now
		if f.phase == away && f.call == nil && len(f.topics) > 0 {
			f.enter()
		}
	case membership.Called:
		f.called()
	case membership.Close:
		f.closes = true
		f.leave()
	case membership.Answered:
		if in.ID == f.sent && in.ID != 0 {
			f.sent = 0
			f.answered(in)
		}
	}
	f.due()
	return f.out
}

func (f *served) subscribe(topics []string, pattern bool) {
	changed := !slices.Equal(topics, f.topics)
	f.topics = topics
	switch {
	case len(topics) == 0 && !pattern:
		f.leave()
	case f.phase == away && f.call == nil && !f.closes:
		f.polled = f.now
		f.enter()
	case changed && f.phase == within:
		f.full, f.beat = true, f.now
	}
}

// enter asks to be a member, once what was owned before is told as lost.
func (f *served) enter() {
	f.phase, f.epoch, f.told, f.full, f.fenced, f.beat = within, 0, false, true, len(f.owned) > 0, f.now
	f.reconcile()
}

func (f *served) run(c membership.Callback, list []membership.TopicPartition) {
	if c != membership.Assigned {
		f.out.Stop = append(f.out.Stop, list...)
	}
	f.call = &membership.Call{Callback: c, Partitions: slices.Clone(list)}
	f.out.Call = f.call
}

// reconcile does the next thing that the assignment asks for.
func (f *served) reconcile() {
	if f.call != nil || f.phase != within {
		return
	}
	revoked, added := minus(f.owned, f.target), minus(f.target, f.owned)
	switch {
	case f.fenced && len(f.owned) > 0:
		f.run(membership.Lost, f.owned)
	case f.fenced:
		f.fenced, f.beat = false, f.now
	case !f.told:
	case len(revoked) > 0:
		f.run(membership.Revoked, revoked)
	case len(added) > 0:
		f.owned = append(f.owned, added...)
		f.out.Start = append(f.out.Start, added...)
		f.run(membership.Assigned, added)
	default:
		f.told, f.acks, f.beat = false, true, f.now
		f.out.Events = append(f.out.Events, membership.Event{Kind: membership.Completed, Generation: f.epoch, Cooperative: true, Assignor: uniform})
	}
}

func (f *served) called() {
	call := f.call
	if call == nil {
		return
	}
	f.call = nil
	if call.Callback != membership.Assigned {
		f.owned = minus(f.owned, call.Partitions)
		f.acks, f.beat = true, f.now
	}
	switch {
	case f.phase == parting && len(f.owned) > 0: // it was to leave while another callback ran
		f.leave()
	case f.phase == parting:
		f.depart()
	default:
		f.reconcile()
	}
}

// leave gives everything up first.
func (f *served) leave() {
	if f.phase == gone {
		return
	}
	f.phase = parting
	switch {
	case f.call != nil:
	case len(f.owned) == 0:
		f.depart()
	case f.epoch > 0:
		f.run(membership.Revoked, f.owned)
	default:
		f.run(membership.Lost, f.owned)
	}
}

func (f *served) depart() {
	if f.epoch > 0 {
		f.sayGoodbye()
	}
	f.phase = away
	switch {
	case f.closes:
		f.phase = gone
	case len(f.topics) > 0:
		f.enter()
	}
}

func (f *served) sayGoodbye() {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = groupName, f.member, -1
	f.last++
	f.out.Requests = append(f.out.Requests, membership.Request{ID: f.last, Req: req})
	f.epoch, f.sent = 0, 0
}

// due sends a heartbeat, or leaves for a user who is away.
func (f *served) due() {
	if f.phase != within {
		return
	}
	if f.epoch > 0 && !f.now.Before(f.polled.Add(pollMax)) {
		f.sayGoodbye()
		f.phase = away
		f.out.Stop = append(f.out.Stop, f.owned...)
		return
	}
	if f.sent == 0 && !f.fenced && !f.now.Before(f.beat) {
		f.sendBeat()
	}
	if f.sent == 0 && !f.fenced {
		f.out.Wake = f.beat
	}
	if end := f.polled.Add(pollMax); f.epoch > 0 && (f.out.Wake.IsZero() || end.Before(f.out.Wake)) {
		f.out.Wake = end
	}
}

func (f *served) sendBeat() {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = groupName, f.member, f.epoch, -1
	if f.full || f.epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = int32(pollMax.Milliseconds()), slices.Clone(f.topics)
	}
	if f.full || f.epoch == 0 || f.acks {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, t := range listsOf(f.owned) {
			to := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			to.TopicID, to.Partitions = topicID(t.Topic), t.Partitions
			req.Topics = append(req.Topics, to)
		}
	}
	f.full, f.acks = false, false
	f.last++
	f.sent, f.beat = f.last, f.now.Add(heartbeat)
	f.out.Requests = append(f.out.Requests, membership.Request{ID: f.sent, Req: req})
}

func (f *served) answered(in membership.Answered) {
	resp, ok := in.Response.(*kmsg.ConsumerGroupHeartbeatResponse)
	if !ok || in.Err != nil {
		f.full, f.beat = true, f.now.Add(500*time.Millisecond)
		return
	}
	switch err := kerr.TypedErrorForCode(resp.ErrorCode); {
	case f.phase != within: // it leaves: only whether it is a member still counts
		f.epoch = max(resp.MemberEpoch, 0)
	case err == nil:
		f.epoch = resp.MemberEpoch
		if resp.Assignment != nil {
			f.target, f.told = nil, true
			for _, t := range resp.Assignment.Topics {
				for _, p := range t.Partitions {
					f.target = append(f.target, membership.TopicPartition{Topic: topicOf(t.TopicID), Partition: p})
				}
			}
		}
		f.reconcile()
	case err == kerr.FencedMemberEpoch || err == kerr.UnknownMemberID:
		f.out.Stop = append(f.out.Stop, f.owned...)
		f.enter()
	case err.Retriable:
		f.full, f.beat = true, f.now.Add(300*time.Millisecond)
	default:
		f.phase, f.out.Err, f.out.Fatal = gone, fmt.Errorf("%v: %w", f.s.kind, err), true
		f.out.Stop = append(f.out.Stop, f.owned...)
	}
}
