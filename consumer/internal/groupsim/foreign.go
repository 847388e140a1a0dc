package groupsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

type stage uint8

const (
	idle      stage = iota // for a subscription
	preparing              // the callback before a JoinGroup runs
	joining
	leading // for metadata
	syncing
	giving // the callback for what an assignment takes away runs
	taking // the callback for what it brings
	steady
	resting // its user is away
	ended
)

// foreign is a member that is not ours, as O, S, F, N, C and L of doc.go. It is written after what is known of those consumers
// (R-B, R-C6) and shares nothing with package membership but the words.
type foreign struct {
	s     spec
	stage stage
	now   time.Time
	out   membership.Output

	topics  []string
	matches func(string) bool
	owned   []membership.TopicPartition

	member     string
	generation int32
	named      membership.Generation
	selected   assign.Assignor
	coop       bool
	lost       bool // what is owned is lost
	again      bool // one more rebalance when this one is over
	history    assign.History

	last, id, beating uint64
	beatOf            int32
	retry, beat       time.Time
	polled            time.Time
	call              *membership.Call
	then              func() // when the callback has ended
	closes            bool
	unsubscribed      bool // until it has left
	next              []membership.TopicPartition
	members           []assign.Member
	cluster, seen     []assign.Topic
	leads             bool
	sync              *kmsg.SyncGroupRequest
}

func newForeign(s spec) *foreign {
	f := &foreign{s: s, generation: -1, named: membership.Generation{ID: -1, Instance: s.instance}}
	if s.code == 'S' {
		f.coop = !slices.ContainsFunc(s.assignors(), func(a assign.Assignor) bool { return !cooperative(a) })
	}
	return f
}

func cooperative(a assign.Assignor) bool { return slices.Contains(a.Protocols(), assign.Cooperative) }

// follows says that the protocol is that of what was selected last.
func (f *foreign) follows() bool { return f.s.code != 'O' && f.s.code != 'S' }

func (f *foreign) Generation() membership.Generation { return f.named }

func (f *foreign) Tick(now time.Time) membership.Output { return f.Step(now, nil) }

func (f *foreign) Step(now time.Time, in membership.Input) membership.Output {
	f.now, f.out = now, membership.Output{}
	switch in := in.(type) {
	case membership.Subscribed:
		f.subscribe(in)
	case membership.Polled:
		f.polled = now
		if f.stage == resting {
			f.prepare()
		}
	case membership.Called:
		f.called()
	case membership.Metadata:
		f.metadata(in.Topics)
	case membership.Rejoin:
		f.rejoin()
	case membership.Close:
		f.close()
	case membership.Answered:
		f.answered(in)
	case membership.CommitRefused:
		f.refused(in)
	}
	f.due()
	return f.out
}

func (f *foreign) subscribe(in membership.Subscribed) {
	topics := slices.Sorted(slices.Values(in.Topics))
	changed := !slices.Equal(topics, f.topics)
	f.topics, f.matches = topics, in.Matches
	switch {
	case f.closes:
	case len(topics) == 0 && in.Matches == nil:
		f.unsubscribed = true
		if f.call == nil {
			f.leave()
		}
	case f.unsubscribed: // it subscribes again when it has left
	case f.stage == idle:
		f.polled = f.now
		f.prepare()
	case changed:
		f.rejoin()
	}
}

func (f *foreign) rejoin() {
	switch f.stage {
	case idle, resting, ended:
	case steady:
		f.prepare()
	default:
		f.again = true
	}
}

// prepare gives up what has to be given up before a JoinGroup (R-B3).
func (f *foreign) prepare() {
	f.stage, f.again, f.leads, f.id, f.retry = preparing, false, false, 0, time.Time{}
	var unwanted []membership.TopicPartition
	for _, tp := range f.owned {
		if !slices.Contains(f.topics, tp.Topic) {
			unwanted = append(unwanted, tp)
		}
	}
	switch {
	case f.lost:
		f.lost = false
		f.give(membership.Lost, f.owned, f.join)
	case !f.coop && f.generation >= 0:
		f.give(membership.Revoked, f.owned, f.join)
	case f.coop:
		f.give(membership.Revoked, unwanted, f.join)
	default:
		f.join()
	}
}

// give runs a callback for what is given up, if that is something.
func (f *foreign) give(c membership.Callback, list []membership.TopicPartition, then func()) {
	if len(list) == 0 {
		then()
		return
	}
	f.out.Stop = append(f.out.Stop, list...)
	f.run(c, list, then)
}

func (f *foreign) run(c membership.Callback, list []membership.TopicPartition, then func()) {
	f.call, f.then = &membership.Call{Callback: c, Partitions: slices.Clone(list)}, then
	f.out.Call = f.call
}

func (f *foreign) called() {
	call, then := f.call, f.then
	if call == nil {
		return
	}
	f.call, f.then = nil, nil
	if call.Callback != membership.Assigned {
		f.owned = slices.DeleteFunc(f.owned, func(tp membership.TopicPartition) bool { return slices.Contains(call.Partitions, tp) })
	}
	switch {
	case f.closes || f.unsubscribed:
		f.leave()
	case f.stage != ended:
		then()
	}
}

// left is a member again that has never joined.
func (f *foreign) left() {
	f.unsubscribed, f.lost, f.again, f.leads = false, false, false, false
	f.member, f.generation, f.stage, f.beating = "", -1, idle, 0
	if len(f.topics) > 0 || f.matches != nil {
		f.polled = f.now
		f.prepare()
	}
}

func (f *foreign) close() {
	f.closes = true
	if f.call != nil {
		return
	}
	f.leave()
}

// leave gives everything up, and tells the broker unless the member is static.
func (f *foreign) leave() {
	c := membership.Lost
	if f.stage == steady && f.generation >= 0 {
		c = membership.Revoked
	}
	f.stage, f.id = ended, 0
	f.give(c, f.owned, func() {})
	if f.out.Call != nil {
		return
	}
	f.sayGoodbye()
	if f.unsubscribed && !f.closes {
		f.left()
	}
}

// sayGoodbye is LeaveGroup, which static members do not send (R-B15).
func (f *foreign) sayGoodbye() {
	if f.s.instance != "" || f.member == "" {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = groupName, f.member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = f.member
	req.Members = append(req.Members, m)
	f.last++
	f.out.Requests = append(f.out.Requests, membership.Request{ID: f.last, Req: req})
	f.member = ""
}

func (f *foreign) fail(err error) {
	f.out.Stop = append(f.out.Stop, f.owned...)
	f.stage, f.id, f.retry = ended, 0, time.Time{}
	f.out.Err, f.out.Fatal = fmt.Errorf("%v: %w", f.s.kind, err), true
}

// forget is what an error says that means the group has gone on.
func (f *foreign) forget(code int16) {
	f.lost = len(f.owned) > 0
	f.generation = -1
	if code == kerr.UnknownMemberID.Code {
		f.member = ""
	}
	if f.call == nil {
		f.prepare()
	}
}

func (f *foreign) refused(in membership.CommitRefused) {
	current := in.Generation == f.generation && in.Member == f.member
	switch {
	case !current || f.stage != steady:
	case in.Code == kerr.RebalanceInProgress.Code:
		f.prepare()
	case in.Code == kerr.IllegalGeneration.Code || in.Code == kerr.UnknownMemberID.Code:
		f.forget(in.Code)
	case in.Code == kerr.FencedInstanceID.Code:
		f.fail(kerr.FencedInstanceID)
	}
}
