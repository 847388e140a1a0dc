package groupsim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/simulation"
)

// coordinator is the group's.
type coordinator struct {
	*simulation.Coordinator
	w   *world
	ids int
}

func newCoordinator(w *world) *coordinator {
	d := simulation.NewDice(w.script.Seed, "coordinator")
	return &coordinator{w: w, Coordinator: &simulation.Coordinator{
		Clock: w.Clock, Dice: d, Disk: simulation.NewDisk(w.Clock, d), Durable: w.judge.record,
		New: w.machine,
	}}
}

// asked is a request that was answered.
type asked struct {
	by  *incarnation
	req kmsg.Request
}

// machine is the coordinator of our broker, or one like Kafka's.
func (w *world) machine() machine.Machine {
	if w.script.Broker != "kafka" {
		return group.New(w.settings())
	}
	k := newKafka(w.settings(), func() []assign.Topic { return w.topics })
	k.forgets = w.seams.forgets
	return k
}

func (w *world) settings() group.Settings {
	ours := w.script.Broker != "kafka"
	return group.Settings{
		MinSessionTimeout: time.Second, MaxSessionTimeout: time.Hour, InitialRebalanceDelay: time.Second, MaxSize: 1 << 20,
		OffsetsRetention: 24 * time.Hour, OffsetsRetentionCheck: time.Hour, OffsetMetadataMax: 4096,
		UnionAdmission: ours, ProtocolsPersisted: ours, CommitOwnershipCheck: w.script.Fences,
	}
}

// fail ends the machine. Who waits never hears; another begins after a while.
func (c *coordinator) fail() {
	if c.Up() {
		c.w.Say("the coordinator fails over")
		c.w.judge.failedOver()
	}
	c.Fail()
}

// ask takes a request off the network. What it is answered with goes out when it is durable.
func (c *coordinator) ask(by *incarnation, req kmsg.Request, answer func(any)) {
	if !c.Up() {
		if resp := absent(req, c.Dice); resp != nil {
			answer(resp)
		}
		return
	}
	in := c.input(by, req)
	if f := c.w.seams.admit; f != nil {
		f(c.w, in)
	}
	c.Ask(by.Life, in, func(value any) {
		c.w.judge.answered(&asked{by, req}, value)
		answer(answerOf(value))
	})
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
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return modernBeat{Request: r}
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
func absent(req kmsg.Request, d *simulation.Dice) any {
	code := simulation.Pick(d, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code, 0)
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
	case *kmsg.ConsumerGroupHeartbeatResponse:
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
