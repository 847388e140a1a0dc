package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// describe is DescribeGroups for one group. v4 has instance ids; v5 is the first with room for the history and for
// what members offer, which ride in tagged fields; v6 answers an unknown group with an error, where older ones call it Dead (KIP-1043, R-K16). The protocol
// and what members say under it are told while the group is Stable only.
func (m *Machine) describe(in Describe) *kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group = in.Group
	g := m.group(in.Group)
	if g == nil {
		out.State = Dead.String()
		if in.Version >= 6 {
			message := fmt.Sprintf("There is no group %q.", in.Group)
			out.ErrorCode, out.ErrorMessage = kerr.GroupIDNotFound.Code, &message
		}
		return &out
	}
	out.State, out.ProtocolType = g.state.String(), g.protocolType
	if g.state == Stable {
		out.Protocol = *g.protocol
	}
	out.Members = make([]kmsg.DescribeGroupsResponseGroupMember, 0, g.members.len())
	for who := range g.members.all() {
		out.Members = append(out.Members, g.describeMember(who, in.Version))
	}
	if in.Version >= 5 && len(g.history) > 0 {
		out.UnknownTags.Set(grouptags.DescribeHistory, grouptags.AppendHistory(nil, g.history))
	}
	return &out
}

// describeMember tells in tagged fields what the member offers and holds back, in every state: who plans to restart members with
// other lists sees there whom the next one would meet.
func (g *Group) describeMember(who *member, version int16) kmsg.DescribeGroupsResponseGroupMember {
	out := kmsg.NewDescribeGroupsResponseGroupMember()
	out.MemberID, out.InstanceID, out.ClientID, out.ClientHost = who.id, who.instance, who.clientID, who.host
	out.MemberAssignment = who.assignment
	if g.state == Stable {
		out.ProtocolMetadata = who.metadata(*g.protocol)
	}
	if version >= 5 {
		out.UnknownTags.Set(grouptags.DescribeOffers, grouptags.AppendNames(nil, who.offers))
		if who.withheld != nil {
			out.UnknownTags.Set(grouptags.DescribeWithheld, grouptags.AppendNames(nil, who.withheld))
		}
	}
	return out
}

// list is ListGroups: all of them; whoever asks for some states or types picks.
func (m *Machine) list() []kmsg.ListGroupsResponseGroup {
	all := m.sorted()
	out := make([]kmsg.ListGroupsResponseGroup, len(all))
	for i, g := range all {
		out[i] = kmsg.NewListGroupsResponseGroup()
		out[i].Group, out[i].ProtocolType, out[i].GroupState, out[i].GroupType = g.name, g.protocolType, g.state.String(), groupType
	}
	return out
}

// count is for metrics.
func (m *Machine) count() Counts {
	c := Counts{
		Groups: map[string]int{}, Offsets: m.offsets.stored, Pending: m.offsets.pending, Rebalances: m.rebalances,
		Commits: m.totals.commits, Expired: m.totals.expired, Deleted: m.totals.deleted,
	}
	for _, g := range m.groups {
		c.Groups[g.state.String()]++
		c.Members += g.members.len()
	}
	return c
}

// delete is DeleteGroups for one group, and answers with an error code. Ids that were handed out do not keep it (R-K14).
func (m *Machine) delete(name string) int16 {
	g := m.group(name)
	switch {
	case g == nil:
		return kerr.GroupIDNotFound.Code
	case g.state != Empty:
		return kerr.NonEmptyGroup.Code
	}
	offsets := g.offsets.tombstones(g.name)
	m.totals.deleted += int64(len(offsets))
	m.write(offsets...)
	m.write(groupTombstone(g.name))
	return 0
}
