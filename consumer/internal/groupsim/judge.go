package groupsim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// judge looks at all that happens, with the coordinator's eyes and with those of every process, and knows what must not.
type judge struct {
	w     *world
	found []Violation
	rows  map[string]int

	ids        map[string]*life  // by the id that the coordinator gave
	lives      map[string]string // by group.instance.id: the id in force
	generation int32             // begun last
	rounds     int               // that were begun
	last       *snapshot         // the group as it was stored last
	began      time.Time         // when the last round did
	touched    time.Time         // when the group or what it reads last changed by anything but its own rounds
	since      int               // rounds begun after that
	led        bool              // by one of ours
	lost       int               // callbacks that told of lost partitions
	failover   bool              // since the last round that was stored
	migration
}

// life is one member as the coordinator knows it.
type life struct {
	of         *incarnation
	generation int32 // that it was told last
}

// Violation is something that must never be.
type Violation struct {
	Kind string // INV1, INV2, lost, back, moves, generations, liveness, refused
	Text string
}

func (v Violation) String() string { return v.Kind + ": " + v.Text }

func (j *judge) violates(kind, format string, args ...any) {
	v := Violation{kind, fmt.Sprintf(format, args...)}
	j.w.Say("VIOLATION %s", v)
	if len(j.found) < most {
		j.found = append(j.found, v)
	}
}

// disturbed is called when something from outside has changed what the group is to look like.
func (j *judge) disturbed() { j.touched, j.since = j.w.Now, 0 }

func (j *judge) failedOver() {
	j.failover = true
	stored := j.last
	if stored == nil {
		stored = &snapshot{}
	}
	for _, l := range j.ids {
		l.generation = -1
	}
	for _, m := range stored.members { // what was told and is not stored did not happen
		if j.ids[m.id] == nil && m.of != nil { // its place was taken in a round that is forgotten
			j.ids[m.id], j.lives[m.of.spec.instance] = &life{of: m.of}, m.id
		}
		if l := j.ids[m.id]; l != nil {
			l.generation = m.epoch
		}
	}
	j.generation = stored.generation
	j.stranded = stored.converted // nobody remembers that a round was to come
	if !stored.modern {
		stored.deals()
	}
	j.disturbed()
}

// owns is INV1: nobody else within the group owns what a member begins with.
func (j *judge) owns(i *incarnation, at partition) {
	if !j.within(i) {
		return // the group has gone on already; it will hear of it
	}
	if j.taken[at].from == i {
		delete(j.taken, at) // it has it again
	}
	for _, p := range j.w.order {
		if o := p.now; o != nil && o != i && o.places[at] != nil && j.within(o) && !j.excuses(i, o) && !j.stillHas(at, o) {
			j.violates("INV1", "%s owns %v in generation %d, and so does %s", i.name(), at, j.generation, o.name())
		}
	}
}

// excuses says that one of them follows what was selected without any safeguard, as franz-go does, and that not all generations
// were led by ours, which would have held back what it claims (R-C16, row M20).
func (j *judge) excuses(all ...*incarnation) bool {
	return slices.ContainsFunc(all, func(i *incarnation) bool { return i.spec.code == 'F' }) && !j.led
}

// answered sees what the coordinator says, once it is durable.
func (j *judge) answered(a *asked, value any) {
	switch resp := value.(type) {
	case *kmsg.JoinGroupResponse:
		req := a.req.(*kmsg.JoinGroupRequest)
		j.joined(a.by, req, resp)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if l := j.ids[textOf(resp.MemberID)]; l != nil && resp.ErrorCode == 0 {
			l.generation = resp.MemberEpoch
		}
	case *kmsg.OffsetCommitResponse:
		j.committed(a.by, a.req.(*kmsg.OffsetCommitRequest), resp)
	}
}

// joined sees who is in which generation.
func (j *judge) joined(i *incarnation, req *kmsg.JoinGroupRequest, resp *kmsg.JoinGroupResponse) {
	if resp.ErrorCode != 0 {
		if resp.ErrorCode == kerr.InconsistentGroupProtocol.Code {
			j.refusedRow(i, req)
		}
		return
	}
	if id := i.spec.instance; id != "" {
		if was := j.lives[id]; was != resp.MemberID {
			if j.modern == nil {
				j.comesBackRow(i, j.ids[was], resp)
			}
			j.takesOver(was, resp.MemberID)
			j.lives[id] = resp.MemberID
		}
	}
	if j.ids[resp.MemberID] == nil {
		j.ids[resp.MemberID] = &life{of: i}
		j.disturbed()
	}
	if resp.Generation > j.generation {
		j.generation = resp.Generation
		lead := j.ids[resp.LeaderID]
		j.led = j.led && lead != nil && lead.of.spec.ours()
		j.rounds, j.began = j.rounds+1, j.w.Now
		j.since++
	}
	j.ids[resp.MemberID].generation = resp.Generation
}

// takesOver gives what a static member was assigned to who has taken its place.
func (j *judge) takesOver(was, is string) {
	delete(j.ids, was)
	for _, l := range j.w.logs {
		if l.given == was && was != "" {
			l.given = is
		}
	}
}

// committed is INV2: nothing is taken of a partition that was given to somebody else. No offset moves back, or to where nobody
// has been.
func (j *judge) committed(i *incarnation, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	for n, t := range resp.Topics {
		if t.Partitions[0].ErrorCode != 0 {
			continue
		}
		at := partition{t.Topic, t.Partitions[0].Partition}
		l, offset := j.w.logs[at], req.Topics[n].Partitions[0].Offset
		holder := j.ids[l.given]
		excused := j.excuses(i) || j.isTaken(at, i)
		if (holder == nil || holder.of != i) && j.w.lives(at) && !excused {
			j.violates("INV2", "%s commits %d of %v as %s in generation %d, and it was given to %s", i.name(), offset, at, req.MemberID, req.Generation, l.given)
		}
		if offset < l.committed && !excused && !l.foul {
			j.violates("back", "%s moves %v back from %d to %d", i.name(), at, l.committed, offset)
		}
		if offset > l.processed {
			j.violates("lost", "%s commits %d of %v, and nobody has processed what is from %d on", i.name(), offset, at, l.processed)
		}
		l.foul = holder == nil || holder.of != i // what was taken from who had lost it may be ahead of who has it
		l.committed = offset
	}
}

func fenced(err error) bool { return errors.Is(err, kerr.FencedInstanceID) }

// fails looks at why a consumer has no way on.
func (j *judge) fails(i *incarnation, err error) {
	var mixed *membership.ProtocolError
	switch {
	case fenced(err) && i.spec.instance != "":
	case i.spec.code == 'K' && errors.Is(err, kerr.GroupIDNotFound): // the group has gone back without it
	case errors.Is(err, kerr.InconsistentGroupProtocol) && !i.spec.ours():
	case errors.As(err, &mixed):
	default:
		j.violates("fatal", "%s: %v", i.name(), err)
	}
}

// sends looks at the plans of leaders: they move as little as can be, and withhold what others claim (R-A8, R-A19).
func (j *judge) sends(i *incarnation, req kmsg.Request) {
	r, ok := req.(*kmsg.SyncGroupRequest)
	if !ok || len(r.GroupAssignment) == 0 || i.plan == r || textOf(r.Protocol) != cs || !i.spec.ours() {
		return
	}
	i.plan = r
	in := assign.Input{Topics: i.planned}
	for _, m := range i.members {
		s, err := assign.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			return
		}
		in.Members = append(in.Members, assign.Member{ID: m.MemberID, InstanceID: textOf(m.InstanceID), Subscription: s})
	}
	target, err := assign.CooperativeSticky{}.Target(in)
	if err == nil {
		err = assign.Verify(assign.Claimed(assign.CooperativeSticky{}, in), target, assign.Options{})
	}
	if err != nil {
		j.violates("moves", "%s plans generation %d: %v", i.name(), r.Generation, err)
		return
	}
	for n, want := range target.Encode() {
		a, err := assign.DecodeAssignment(r.GroupAssignment[n].MemberAssignment)
		if err != nil {
			j.violates("moves", "%s plans what cannot be read: %v", i.name(), err)
			return
		}
		best, _ := assign.DecodeAssignment(want)
		given, optimal := flat(a.Partitions), flat(best.Partitions)
		if extra := minus(given, optimal); len(extra) > 0 {
			j.violates("moves", "%s gives %v to %s, who is not to have it", i.name(), extra, r.GroupAssignment[n].MemberID)
		}
		for _, tp := range minus(optimal, given) {
			if !claimed(in, n, tp) {
				j.violates("moves", "%s keeps %v from %s, and nobody claims it", i.name(), tp, r.GroupAssignment[n].MemberID)
			}
		}
	}
}

// givenUp: on our broker who offers what all others offer, too, is let in in the end (R-C15). On Kafka's an old member is not,
// once the group is COOPERATIVE.
func (j *judge) givenUp(p *process, err error) {
	if fenced(err) || j.w.script.Broker == "kafka" {
		return
	}
	for _, name := range p.spec.list {
		common := true
		for _, o := range j.w.order {
			common = common && (o == p || o.now == nil || o.spec.offers(name))
		}
		if common {
			j.violates("refused", "%s as %v: %v, and everybody offers %s", p.name, p.spec.kind, err, name)
		}
	}
}

// forgiven says that a static member of Kafka's is there. One that was started again does not know whether it leads, nor what was
// planned (R-B16), nor does the group hear of it if it wants other topics than before (R-D6): what nobody has may stay so. Ours
// find out. Nobody finds out when a coordinator of Kafka's fails over between a group's way back from the new protocol and the round that
// follows: what the leaver had is in nobody's plan, and the group is taken for stable.
func (j *judge) forgiven() bool {
	return j.stranded || slices.ContainsFunc(j.w.order, func(p *process) bool { return p.now != nil && !p.now.spec.ours() && p.now.spec.instance != "" })
}
