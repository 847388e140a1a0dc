package groupsim

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/machine"
)

// snapshot is the group as it is stored.
type snapshot struct {
	generation int32
	protocol   string
	leader     string
	members    []stored
	topics     string // that the members subscribe to
	modern     bool   // it is one of the new protocol
	converted  bool   // it was one of the new protocol, and no round has been since
}

type stored struct {
	id    string
	of    *incarnation
	epoch int32 // that it has come to: the generation, in a classic group
	claim bool  // it said that it owned something when it joined
	given int
	owns  []*log // that it was given
}

// deals gives partitions to those who have them by a plan.
func (s *snapshot) deals() {
	for _, m := range s.members {
		for _, l := range m.owns {
			l.given = m.id
		}
	}
}

// record sees what the coordinator stores.
func (j *judge) record(r machine.Record) {
	if len(r.Key) > 1 && r.Key[1] == modernKey {
		j.recordModern(r.Value)
		return
	}
	var k kmsg.GroupMetadataKey
	if len(r.Key) < 2 || r.Key[1] != 2 || k.ReadFrom(r.Key) != nil || r.Value == nil {
		return
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(r.Value); err != nil {
		j.violates("record", "a group that cannot be read: %v", err)
		return
	}
	s := &snapshot{generation: v.Generation, protocol: textOf(v.Protocol), leader: textOf(v.Leader)}
	for i := range v.Members {
		s.members = append(s.members, j.stored(s, &v.Members[i]))
	}
	j.changed(s)
	j.goesBack(s)
	if !s.converted { // else its plan is where members were on the way to, and the next round makes another
		s.deals()
		j.stableRow(j.last, s)
	}
	j.last, j.failover = s, false
}

func (j *judge) stored(s *snapshot, m *kmsg.GroupMetadataValueMember) stored {
	out := stored{id: m.MemberID, epoch: s.generation}
	if l := j.ids[m.MemberID]; l != nil {
		out.of = l.of
	}
	if sub, err := assign.DecodeSubscription(m.Subscription); err == nil {
		out.claim = len(sub.Owned) > 0
		s.topics += fmt.Sprint(sub.Topics)
	}
	a, err := assign.DecodeAssignment(m.Assignment)
	if err != nil {
		return out
	}
	for _, tp := range flat(a.Partitions) {
		out.given++
		if l := j.w.logs[partition{tp.Topic, tp.Partition}]; l != nil {
			out.owns = append(out.owns, l)
		}
	}
	return out
}

// changed notes when the group is not the same any more: then it may need rounds again.
func (j *judge) changed(s *snapshot) {
	if j.last == nil || len(j.last.members) != len(s.members) || j.last.topics != s.topics {
		j.touched, j.since = j.w.Now, min(j.since, 1) // the round that shows it is the first
		return
	}
	for n := range s.members {
		if s.members[n].id != j.last.members[n].id {
			j.touched, j.since = j.w.Now, min(j.since, 1)
		}
	}
}
