package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeatSpec is a Heartbeat request.
type heartbeatSpec struct {
	of, group string // whose generation is sent
	version   int16
	id        string
	instance  string
	plus      int32
}

func (h heartbeatSpec) step() step {
	return step{
		text: say("Heartbeat", h.version, "%s as %q generation %+d instance %q", h.of, h.id, h.plus, h.instance),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrHeartbeatRequest()
			request.Version, request.Group, request.MemberID = h.version, h.group, s.cast.id(h.id)
			request.Generation, request.InstanceID = s.cast.player(h.of).generation+h.plus, optional(h.instance)
			return request
		},
	}
}

// leaver is one member of a LeaveGroup request.
type leaver struct{ id, instance string }

// leaveSpec is a LeaveGroup request.
type leaveSpec struct {
	group   string
	version int16
	members []leaver // before v3 the first's id counts
	stale   bool     // all ids that players no longer use, too
	reason  string
}

func (l leaveSpec) String() string {
	var texts []string
	for _, m := range l.members {
		text := fmt.Sprintf("%q", m.id)
		if m.instance != "" {
			text += " instance " + m.instance
		}
		texts = append(texts, text)
	}
	if l.stale {
		texts = append(texts, "ids no longer used")
	}
	return strings.Join(texts, ", ")
}

func (l leaveSpec) step() step {
	return step{
		text: say("LeaveGroup", l.version, "%s", l), releases: true,
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrLeaveGroupRequest()
			request.Version, request.Group = l.version, l.group
			var ids []string
			for _, m := range l.members {
				request.Members = append(request.Members, l.leave(s.cast.id(m.id), m.instance))
				ids = append(ids, s.cast.id(m.id))
			}
			if l.stale {
				for _, id := range s.cast.stale() {
					request.Members = append(request.Members, l.leave(id, ""))
					ids = append(ids, id)
				}
			}
			if l.version < 3 && len(ids) > 0 {
				request.MemberID, ids = ids[0], ids[:1]
			}
			if l.silences(s, ids) || l.returns(s, ids) {
				return nil
			}
			return request
		},
		after: func(s *side, _ kmsg.Response) error { return s.settleEmptied(l.group) },
	}
}

// settleEmptied waits for the end of a round that nobody is in any more: while
// ids are handed out, Kafka ends it with a timer of no time.
func (s *side) settleEmptied(group string) error {
	for end := time.Now().Add(oneSided); len(s.cast.pending) > 0 && time.Now().Before(end); pause(5 * time.Millisecond) {
		g, err := s.described(group)
		if err != nil || g.State != "PreparingRebalance" || len(g.Members) > 0 {
			return err
		}
	}
	return nil
}

func (s *side) described(group string) (kmsg.DescribeGroupsResponseGroup, error) {
	response, err := s.ask(describeSpec{version: 5, groups: []string{group}}.step().request(s))
	if err != nil {
		return kmsg.DescribeGroupsResponseGroup{}, err
	}
	return response.(*kmsg.DescribeGroupsResponse).Groups[0], nil
}

// silences tells whether a Sync waits that would never be answered once its
// member has left (R-K31). Who leaves by instance may be anybody.
func (l leaveSpec) silences(s *side, ids []string) bool {
	for _, id := range ids {
		if s.cast.waits(id, kmsg.SyncGroup) {
			return true
		}
	}
	for _, m := range l.members {
		for _, p := range s.cast.parked {
			if m.instance != "" && kmsg.Key(p.key) == kmsg.SyncGroup {
				return true
			}
		}
	}
	return false
}

// returns tells whether none who leave are members and some are ids that were
// handed out, while no round waits for them: Kafka begins one then, and we do
// not.
func (l leaveSpec) returns(s *side, ids []string) bool {
	if !slices.ContainsFunc(ids, func(id string) bool { return s.cast.pending[id] }) {
		return false
	}
	g, err := s.described(l.group)
	if err != nil {
		return false
	}
	member := slices.ContainsFunc(g.Members, func(m kmsg.DescribeGroupsResponseGroupMember) bool {
		return slices.Contains(ids, m.MemberID) || l.version >= 3 && m.InstanceID != nil && slices.ContainsFunc(l.members, func(o leaver) bool { return o.instance == *m.InstanceID })
	})
	return !member && (g.State == "Stable" || g.State == "CompletingRebalance")
}

func (l leaveSpec) leave(id, instance string) kmsg.LeaveGroupRequestMember {
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID, m.Reason = id, optional(instance), optional(l.reason)
	return m
}

// describeSpec is a DescribeGroups request.
type describeSpec struct {
	version    int16
	groups     []string
	operations bool
}

func (d describeSpec) step() step {
	return step{
		text: say("DescribeGroups", d.version, "%q operations=%v %s", d.groups, d.operations, again(d.groups)),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeGroupsRequest()
			request.Version, request.Groups, request.IncludeAuthorizedOperations = d.version, d.groups, d.operations
			return request
		},
	}
}

// listSpec is a ListGroups request. Of the answer only the case's own groups
// are compared.
type listSpec struct {
	version       int16
	states, types []string
}

func (l listSpec) step() step {
	return step{
		text: say("ListGroups", l.version, "states %q types %q", l.states, l.types),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrListGroupsRequest()
			request.Version, request.StatesFilter, request.TypesFilter = l.version, l.states, l.types
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			r := response.(*kmsg.ListGroupsResponse)
			own := r.Groups[:0]
			for _, g := range r.Groups {
				if strings.HasPrefix(g.Group, s.prefix) {
					own = append(own, g)
				}
			}
			r.Groups = own
		},
	}
}

// deleteGroupsSpec is a DeleteGroups request.
type deleteGroupsSpec struct {
	version int16
	groups  []string
}

func (d deleteGroupsSpec) step() step {
	return step{
		text: say("DeleteGroups", d.version, "%q", d.groups), releases: true,
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDeleteGroupsRequest()
			request.Version, request.Groups = d.version, d.groups
			return request
		},
	}
}

// findSpec is a FindCoordinator request.
type findSpec struct {
	version int16
	kind    int8
	keys    []string // before v4 the first counts
}

func (f findSpec) step() step {
	return step{
		text: say("FindCoordinator", f.version, "type %d keys %q", f.kind, f.keys),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrFindCoordinatorRequest()
			request.Version, request.CoordinatorType, request.CoordinatorKeys = f.version, f.kind, f.keys
			if f.version < 4 && len(f.keys) > 0 {
				request.CoordinatorKey = f.keys[0]
			}
			return request
		},
	}
}

// again marks requests that name something twice.
func again(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	if len(slices.Compact(sorted)) < len(names) {
		return againText
	}
	return ""
}
