package groupsim

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// kafka is a coordinator as Kafka's is since 4.0, for one group. It is classic, and package group's, until a member of the new
// protocol comes (R-H7), and again when the last of these has gone (R-H9). Three things are simpler than in Kafka: what it writes of a
// group of the new protocol is one record, epochs go on where generations ended even if the group was empty in between, and
// no classic member takes the place of a static one of the new protocol.
type kafka struct {
	settings group.Settings
	topics   func() []assign.Topic
	forgets  bool // see upgrade

	classic *group.Machine
	log     []machine.Record // that were applied
	stored  []byte           // the group of the new protocol; nil: it is a classic one

	// What follows is lost with the machine.
	now        time.Time
	out        machine.Output
	wake       time.Time // of classic
	g          *modern   // in the step under way
	parked     map[machine.Token]any
	joins      map[string]*kmsg.JoinGroupRequest // by member id: the one that was taken last
	generation int32                             // that was begun last
	times      map[string]*deadlines
}

// deadlines are until when a member has to do something. What is zero it need not do.
type deadlines struct{ session, join, sync, revoke time.Time }

// begin sets a deadline if it has to be and is not yet.
func (d *deadlines) begin(which *time.Time, has bool, until time.Time) {
	switch {
	case !has:
		*which = time.Time{}
	case which.IsZero():
		*which = until
	}
}

func (d *deadlines) first() (first time.Time) {
	for _, t := range []time.Time{d.session, d.join, d.sync, d.revoke} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

const (
	modernKey = 3                             // the version of the key of Kafka's record of the epoch
	oneself   = machine.Token(math.MaxUint64) // who asks the classic machine for kafka's own sake
)

func newKafka(s group.Settings, topics func() []assign.Topic) *kafka {
	return &kafka{settings: s, topics: topics, classic: group.New(s), parked: map[machine.Token]any{}, joins: map[string]*kmsg.JoinGroupRequest{}, times: map[string]*deadlines{}}
}

func (k *kafka) due(id string) *deadlines {
	if k.times[id] == nil {
		k.times[id] = &deadlines{}
	}
	return k.times[id]
}

func (k *kafka) begin(now time.Time) {
	k.now, k.out, k.g = now, machine.Output{}, nil
	if k.stored != nil {
		k.g = decodeModern(k.stored)
	}
}

// finish writes down what has become of the group.
func (k *kafka) finish() machine.Output {
	if k.g != nil {
		if b := k.g.encode(); !bytes.Equal(b, k.stored) {
			k.write(machine.Record{Key: modernRecordKey(), Value: b})
		}
		for _, m := range k.g.Members {
			k.out.Wake = earlier(k.out.Wake, k.due(m.ID).first())
		}
	}
	k.out.Wake = earlier(k.out.Wake, k.wake)
	return k.out
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func modernRecordKey() []byte { return append([]byte{0, modernKey}, groupName...) }

func (k *kafka) write(r ...machine.Record) { k.out.Records = append(k.out.Records, r...) }

func (k *kafka) reply(to machine.Token, value any) {
	k.out.Replies = append(k.out.Replies, machine.Reply{To: to, Value: value})
}

// Step implements machine.Machine.
func (k *kafka) Step(now time.Time, caller machine.Token, in any) machine.Output {
	k.begin(now)
	beat, newcomer := in.(modernBeat)
	join, joins := in.(group.Join)
	switch {
	case k.g == nil && newcomer && beat.Request.MemberEpoch == 0:
		k.upgrade()
	case k.g == nil && newcomer: // it has been taken for dead, and the group is a classic one
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = kerr.GroupIDNotFound.Code
		k.reply(caller, resp)
		return k.finish()
	case k.g != nil && len(k.g.Members) == 0 && joins && join.Request.MemberID == "": // an empty group is whatever comes to it
		k.write(machine.Record{Key: modernRecordKey()})
		k.g = nil
	}
	if k.g == nil {
		k.forward(caller, in)
	} else {
		k.serve(caller, in)
	}
	return k.finish()
}

// Tick implements machine.Machine.
func (k *kafka) Tick(now time.Time) machine.Output {
	k.begin(now)
	k.take(k.classic.Tick(now))
	for k.g != nil {
		late := k.g.find(func(m *modernMember) bool {
			first := k.due(m.ID).first()
			return !first.IsZero() && !now.Before(first)
		})
		if late == nil {
			break
		}
		k.gone(late.ID)
	}
	return k.finish()
}

// Apply implements machine.Machine.
func (k *kafka) Apply(r machine.Record) {
	if len(r.Key) > 1 && r.Key[1] == modernKey {
		k.stored = r.Value
		return
	}
	k.log = append(k.log, r)
	k.classic.Apply(r)
}

// Loaded implements machine.Machine.
func (k *kafka) Loaded(now time.Time) machine.Output {
	k.begin(now)
	k.take(k.classic.Loaded(now))
	if k.g != nil {
		for _, m := range k.g.Members {
			d := k.due(m.ID)
			d.session = now.Add(m.Session)
			d.begin(&d.revoke, !m.classic() && len(m.Revoking) > 0, now.Add(m.Rebalance))
		}
	}
	return k.finish()
}

// forward has the classic machine do it, and looks on: what members have offered is needed when the group is no classic one any more.
func (k *kafka) forward(caller machine.Token, in any) {
	switch in := in.(type) {
	case group.Join:
		k.parked[caller] = in.Request
	case group.Sync:
		k.parked[caller] = in.Request
	}
	k.take(k.classic.Step(k.now, caller, in))
	if join, ok := in.(group.Join); ok && k.parked[caller] != nil && join.Request.MemberID != "" {
		k.joins[join.Request.MemberID] = join.Request
	}
}

func (k *kafka) take(out machine.Output) {
	k.write(out.Records...)
	k.out.Notes = append(k.out.Notes, out.Notes...)
	k.wake = out.Wake
	for _, r := range out.Replies {
		asked := k.parked[r.To]
		delete(k.parked, r.To)
		if r.To == oneself {
			continue
		}
		k.out.Replies = append(k.out.Replies, r)
		if resp, ok := r.Value.(*kmsg.JoinGroupResponse); ok && resp.ErrorCode == 0 {
			k.joins[resp.MemberID] = asked.(*kmsg.JoinGroupRequest)
			k.generation = max(k.generation, resp.Generation)
		}
	}
}

// rebuild makes another classic machine of what is written and the records given.
func (k *kafka) rebuild(more ...machine.Record) {
	k.classic = group.New(k.settings)
	for _, r := range slices.Concat(k.log, more) {
		k.classic.Apply(r)
	}
	k.take(k.classic.Loaded(k.now))
}

// classicKey is that of the record of the classic group.
func classicKey() []byte {
	key := kmsg.GroupMetadataKey{Version: 2, Group: groupName}
	return key.AppendTo(nil)
}

// lastGeneration is what is written of the classic group.
func (k *kafka) lastGeneration() kmsg.GroupMetadataValue {
	v := kmsg.NewGroupMetadataValue()
	for _, r := range slices.Backward(k.log) {
		if bytes.Equal(r.Key, classicKey()) {
			if r.Value != nil && v.ReadFrom(r.Value) != nil {
				panic("groupsim: a group that cannot be read")
			}
			break
		}
	}
	return v
}

// upgrade makes a group of the new protocol of the classic one, in the epoch of its generation; who waits is told to join again (R-H7). What
// members have is what they were assigned last, also if a round is under way.
//
// Kafka forgets that when a round that has begun a generation is begun again before the plan is there, and gives away what members
// of COOPERATIVE groups still own: a fault of its own, about which a member can do nothing (forgets).
func (k *kafka) upgrade() {
	last := k.lastGeneration()
	var described *kmsg.DescribeGroupsResponseGroup
	for _, r := range k.classic.Step(k.now, oneself, group.Describe{Group: groupName, Version: 6}).Replies {
		described = r.Value.(*kmsg.DescribeGroupsResponseGroup)
	}
	k.g = &modern{Epoch: max(k.generation, last.Generation, 0)}
	k.g.Planned = k.g.Epoch
	lost := k.forgets && described.State == "PreparingRebalance" && k.generation > last.Generation
	for i := range described.Members {
		if m := k.converted(&described.Members[i], &last); m != nil {
			if lost {
				m.Target, m.Assigned = nil, nil
			}
			k.g.Members = append(k.g.Members, m)
			*k.due(m.ID) = deadlines{session: k.now.Add(m.Session)}
		}
	}
	for _, token := range slices.Sorted(maps.Keys(k.parked)) {
		k.reply(token, rebalancing(k.parked[token]))
	}
	clear(k.parked)
	gone := machine.Record{Key: classicKey()}
	k.write(gone)
	k.rebuild(gone)
}

// converted is a classic member in the new group. Of one that has come under no name yet, and is told so now, nothing is kept.
func (k *kafka) converted(was *kmsg.DescribeGroupsResponseGroupMember, last *kmsg.GroupMetadataValue) *modernMember {
	m := &modernMember{ID: was.MemberID, Instance: textOf(was.InstanceID), Client: was.ClientID, Epoch: k.g.Epoch, Before: k.g.Epoch}
	stored := slices.IndexFunc(last.Members, func(s kmsg.GroupMetadataValueMember) bool { return s.MemberID == m.ID })
	switch join := k.joins[m.ID]; {
	case join != nil:
		m.Offers = offersIn(join)
		m.Session, m.Rebalance = timesOf(join)
	case stored >= 0: // nobody has joined since the start of the coordinator: there is the selected name alone (R-C3)
		s := last.Members[stored]
		m.Offers = []grouptags.Protocol{{Name: textOf(last.Protocol), Metadata: s.Subscription}}
		m.Session, m.Rebalance = time.Duration(s.SessionTimeoutMillis)*time.Millisecond, time.Duration(s.RebalanceTimeoutMillis)*time.Millisecond
	default:
		return nil
	}
	sub, err := assign.DecodeSubscription(m.Offers[0].Metadata)
	if err != nil {
		panic("groupsim: " + err.Error())
	}
	m.Topics, m.Version = sub.Topics, versionOf(m.Offers[0].Metadata)
	if a, err := assign.DecodeAssignment(was.MemberAssignment); err == nil {
		m.Target = flat(a.Partitions)
		m.Assigned = m.Target
	}
	return m
}

func rebalancing(req any) any {
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.ErrorCode, resp.MemberID, resp.Generation = kerr.RebalanceInProgress.Code, r.MemberID, -1
		return resp
	default:
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ErrorCode = kerr.RebalanceInProgress.Code
		return resp
	}
}

// gone takes members out. What is left may be a classic group again.
func (k *kafka) gone(ids ...string) {
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		k.g.remove(id)
		delete(k.times, id)
	}
	if len(k.g.Members) > 0 && k.g.allClassic() {
		k.downgrade()
		return
	}
	k.g.Epoch++
}
