package groupsim

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// downgrade makes a classic group of one whose last member of the new protocol has gone, in the generation of its epoch, and begins a
// round (R-H9). Who has not come to that epoch is out of it.
func (k *kafka) downgrade() {
	record := k.classicRecord()
	k.write(machine.Record{Key: modernRecordKey()}, record)
	k.generation = k.g.Epoch
	clear(k.times)
	clear(k.joins)
	for _, m := range k.g.Members {
		k.joins[m.ID] = m.asJoin()
	}
	// The round begins since somebody leaves: who is not in the record that is kept.
	const leaver = "leaver"
	first := k.g.Members[0]
	k.g.Members = append(k.g.Members, &modernMember{ID: leaver, Client: leaver, Offers: first.Offers, Session: first.Session, Rebalance: first.Rebalance})
	k.rebuild(k.classicRecord())
	k.g = nil
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group = 5, groupName
	leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: leaver}}
	k.forward(oneself, group.Leave{Request: leave})
}

// classicRecord is the group as Kafka writes it when it goes back: members have what the plan gives them, whether they have come
// to it or not. The lists of all, which Kafka keeps in memory, are in tagged fields.
func (k *kafka) classicRecord() machine.Record {
	kind, selected := "consumer", k.selected()
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation, v.Protocol = 4, kind, k.g.Epoch, &selected
	v.CurrentStateTimestamp = k.now.UnixMilli()
	for _, m := range k.g.Members {
		s := kmsg.NewGroupMetadataValueMember()
		s.MemberID, s.ClientID, s.ClientHost = m.ID, m.Client, "/127.0.0.1"
		if m.Instance != "" {
			s.InstanceID = &m.Instance
		}
		s.SessionTimeoutMillis, s.RebalanceTimeoutMillis = int32(m.Session.Milliseconds()), int32(m.Rebalance.Milliseconds())
		if i := slices.IndexFunc(m.Offers, func(p grouptags.Protocol) bool { return p.Name == selected }); i >= 0 {
			s.Subscription = m.Offers[i].Metadata
		}
		s.Assignment = assign.Assignment{Partitions: listsOf(m.Target)}.Append(nil, m.Version)
		s.UnknownTags.Set(grouptags.StoredOffers, grouptags.AppendProtocols(nil, m.Offers))
		v.Members = append(v.Members, s)
	}
	v.Leader = &k.g.Members[0].ID
	return machine.Record{Key: classicKey(), Value: v.AppendTo(nil)}
}

// selected is a name that all members have: who was let in shared one with all others.
func (k *kafka) selected() string {
	for _, p := range k.g.Members[0].Offers {
		if !slices.ContainsFunc(k.g.Members, func(m *modernMember) bool { return !offersName(m.Offers, p.Name) }) {
			return p.Name
		}
	}
	panic("groupsim: classic members have no name in common")
}

// asJoin is the JoinGroup that a classic member last sent, as far as it is kept.
func (m *modernMember) asJoin() *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = groupName, m.ID, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(m.Session.Milliseconds()), int32(m.Rebalance.Milliseconds())
	for _, o := range m.Offers {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = o.Name, o.Metadata
		r.Protocols = append(r.Protocols, p)
	}
	return r
}
