package groupsim

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
)

// coordinator runs the machine of the group: what it decides is told when it is durable, and lost with the coordinator before.
type coordinator struct {
	w       *world
	m       *group.Machine
	epoch   int // counts the lives of the machine
	up      bool
	log     []machine.Record
	waiting map[machine.Token]*asked
	token   machine.Token
	synced  time.Time // when what was decided last will be durable
	wakes   time.Time // the wish that is under way
	ids     int
	dice    *dice
}

// asked is a request that the machine has.
type asked struct {
	by     *incarnation
	req    kmsg.Request
	answer func(resp any)
}

func (w *world) settings() group.Settings {
	ours := w.script.Broker != "kafka"
	return group.Settings{
		MinSessionTimeout: time.Second, MaxSessionTimeout: time.Hour, InitialRebalanceDelay: time.Second, MaxSize: 1 << 20,
		OffsetsRetention: 24 * time.Hour, OffsetsRetentionCheck: time.Hour, OffsetMetadataMax: 4096,
		UnionAdmission: ours, ProtocolsPersisted: ours, CommitOwnershipCheck: w.script.Fences,
	}
}

// begin replays the log into a machine that knows nothing.
func (c *coordinator) begin() {
	c.epoch++
	c.wakes = time.Time{}
	c.up, c.waiting, c.m = true, map[machine.Token]*asked{}, group.New(c.w.settings())
	for _, r := range c.log {
		c.m.Apply(r)
	}
	c.take(c.m.Loaded(c.w.now))
}

// fail ends the machine. Who waits never hears; another begins after a while.
func (c *coordinator) fail() {
	if !c.up {
		return
	}
	c.w.say("the coordinator fails over")
	c.up = false
	c.epoch++
	c.w.judge.failedOver()
	for _, token := range slices.Sorted(maps.Keys(c.waiting)) {
		c.waiting[token].by.hangUp()
	}
	c.waiting = nil
	c.w.after(c.dice.between(50*time.Millisecond, 2*time.Second), c.begin)
}

// ask takes a request off the network. What it is answered with goes out when it is durable.
func (c *coordinator) ask(by *incarnation, req kmsg.Request, answer func(any)) {
	if !c.up {
		if resp := absent(req, c.dice); resp != nil {
			answer(resp)
		}
		return
	}
	in := c.input(by, req)
	if f := c.w.seams.admit; f != nil {
		f(c.w, in)
	}
	c.token++
	c.waiting[c.token] = &asked{by, req, answer}
	c.take(c.m.Step(c.w.now, c.token, in))
}

func (c *coordinator) input(by *incarnation, req kmsg.Request) any {
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		c.ids++
		return group.Join{Request: r, ClientID: by.name(), Host: "/127.0.0.1", NewID: itoa(c.ids)}
	case *kmsg.SyncGroupRequest:
		return group.Sync{Request: r}
	case *kmsg.HeartbeatRequest:
		return group.Heartbeat{Request: r}
	case *kmsg.LeaveGroupRequest:
		return group.Leave{Request: r}
	case *kmsg.OffsetCommitRequest:
		return group.Commit{Request: r}
	case *kmsg.DescribeGroupsRequest:
		return group.Describe{Group: r.Groups[0], Version: 6}
	case *kmsg.OffsetFetchRequest:
		return group.Fetch{Group: r.Group, Topics: fetchTopics(r), RequireStable: true}
	}
	panic("groupsim: a request that no member sends")
}

func fetchTopics(r *kmsg.OffsetFetchRequest) (out []kmsg.OffsetFetchRequestGroupTopic) {
	for _, t := range r.Topics {
		to := kmsg.NewOffsetFetchRequestGroupTopic()
		to.Topic, to.Partitions = t.Topic, t.Partitions
		out = append(out, to)
	}
	return out
}

// take does what the machine has decided: changes at once, words when all before is durable.
func (c *coordinator) take(out machine.Output) {
	for _, r := range out.Records {
		c.m.Apply(r)
	}
	epoch := c.epoch
	if len(out.Records) > 0 || len(out.Replies) > 0 {
		if len(out.Records) > 0 {
			c.synced = later(c.synced, c.w.now.Add(c.dice.between(100*time.Microsecond, 8*time.Millisecond)))
		}
		if records, replies := out.Records, out.Replies; c.synced.After(c.w.now) {
			c.w.at(c.synced, func() {
				if c.epoch == epoch {
					c.durable(records, replies)
				}
			})
		} else {
			c.durable(records, replies)
		}
	}
	c.wake(epoch, out.Wake)
}

// wake has the machine look at the clock, by the earliest wish that is still to come: who is woken too early looks again.
func (c *coordinator) wake(epoch int, at time.Time) {
	if at.IsZero() || !c.wakes.IsZero() && !at.Before(c.wakes) {
		return
	}
	c.wakes = at
	c.w.at(later(at, c.w.now), func() {
		if c.epoch == epoch && c.up && c.wakes.Equal(at) {
			c.wakes = time.Time{}
			c.take(c.m.Tick(c.w.now))
		}
	})
}

func (c *coordinator) durable(records []machine.Record, replies []machine.Reply) {
	c.log = append(c.log, records...)
	for _, r := range records {
		c.w.judge.record(r)
	}
	for _, r := range replies {
		if a := c.waiting[r.To]; a != nil {
			delete(c.waiting, r.To)
			c.w.judge.answered(a, r.Value)
			a.answer(answerOf(r.Value))
		}
	}
}

// answerOf makes a response of what the machine says.
func answerOf(value any) any {
	if g, ok := value.(*kmsg.DescribeGroupsResponseGroup); ok {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = append(resp.Groups, *g)
		return resp
	}
	return value
}

// absent is what a broker says that does not coordinate the group, or not yet. Some say nothing.
func absent(req kmsg.Request, d *dice) any {
	code := pick(d, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code, 0)
	if code == 0 {
		return nil
	}
	switch r := req.ResponseKind().(type) {
	case *kmsg.JoinGroupResponse:
		r.ErrorCode, r.Generation, r.MemberID = code, -1, req.(*kmsg.JoinGroupRequest).MemberID
		return r
	case *kmsg.SyncGroupResponse:
		r.ErrorCode = code
		return r
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = code
		return r
	case *kmsg.DescribeGroupsResponse:
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.ErrorCode = code
		r.Groups = append(r.Groups, g)
		return r
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
