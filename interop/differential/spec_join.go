package differential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timeouts that no case lasts for, and that both brokers allow.
const (
	longSession   = 600_000
	longRebalance = 900_000
)

// joinSpec is a JoinGroup request.
type joinSpec struct {
	by, group          string
	version            int16
	id                 string // who is meant: see cast.id
	instance           string // null when empty
	kind               string // the protocol type
	offers             []offer
	session, rebalance int32 // milliseconds; long ones when 0
	reason             string
	mark               string // what the text says besides
	only               string // "handed out": only while the player's id is; "": always
}

// offer is a protocol that a member offers.
type offer struct {
	name string
	// topics that its subscription names; with raw set the metadata are those bytes.
	topics []string
	user   string
	form   string // see subscriptionForms
	raw    string
}

// subscriptionForms are what clients, or others, make of a subscription.
func subscriptionForms() []string {
	return []string{"", "", "", "", "", "", "v0", "v3", "v7", "v-1", "cut", "longer"}
}

func (o offer) String() string {
	if o.raw != "" {
		return fmt.Sprintf("%s:%q", o.name, o.raw)
	}
	return strings.TrimSpace(fmt.Sprintf("%s%v%s %s", o.name, o.topics, o.user, o.form))
}

func (o offer) metadata() []byte {
	if o.raw != "" {
		return []byte(o.raw)
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, o.topics
	if o.user != "" {
		m.UserData = []byte(o.user)
	}
	switch o.form {
	case "v0", "v3", "v7":
		m.Version = int16(o.form[1] - '0')
	case "v-1":
		return append([]byte{0xff, 0xff}, m.AppendTo(nil)[2:]...)
	case "cut":
		return m.AppendTo(nil)[:5]
	case "longer":
		return append(m.AppendTo(nil), 1, 2, 3)
	}
	return m.AppendTo(nil)
}

func (j joinSpec) String() string {
	text := fmt.Sprintf("%s as %q %s %v", j.by, j.id, j.kind, j.offers)
	if j.instance != "" {
		text += " instance " + j.instance
	}
	if j.session != 0 || j.rebalance != 0 {
		text += fmt.Sprintf(" session %d rebalance %d", j.session, j.rebalance)
	}
	return strings.TrimSpace(strings.TrimSpace(text+" "+j.mark) + " " + j.only)
}

func (j joinSpec) step() step {
	return step{
		text: say("JoinGroup", j.version, "%s", j), by: j.by, group: j.group, releases: true,
		request: func(s *side) kmsg.Request {
			id := s.cast.id(j.id)
			switch {
			case j.only == "handed out" && !s.cast.pending[id]:
				return nil
			case s.cast.waits(id, kmsg.JoinGroup, kmsg.SyncGroup):
				return nil // R-K31: the first would never be answered
			}
			return j.build(id)
		},
		learn: func(s *side, response kmsg.Response) {
			switch r := response.(*kmsg.JoinGroupResponse); r.ErrorCode {
			case 0:
				s.cast.joined(j.by, r)
			case 79:
				s.cast.given(j.by, r.MemberID, true)
			case -1, 25, 82: // −1 is Kafka's for an id that was handed out, with an instance
				if j.id == j.by {
					s.cast.refused(j.by)
				}
			}
		},
	}
}

func (j joinSpec) build(id string) *kmsg.JoinGroupRequest {
	request := kmsg.NewPtrJoinGroupRequest()
	request.Version, request.Group, request.MemberID, request.ProtocolType = j.version, j.group, id, j.kind
	request.SessionTimeoutMillis, request.RebalanceTimeoutMillis = longSession, longRebalance
	if j.session != 0 {
		request.SessionTimeoutMillis = j.session
	}
	if j.rebalance != 0 {
		request.RebalanceTimeoutMillis = j.rebalance
	}
	request.InstanceID, request.Reason = optional(j.instance), optional(j.reason)
	for _, o := range j.offers {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = o.name, o.metadata()
		request.Protocols = append(request.Protocols, p)
	}
	return request
}

// optional is null for "" and the empty string for `""`.
func optional(text string) *string {
	switch text {
	case "":
		return nil
	case `""`:
		return kmsg.StringPtr("")
	}
	return &text
}

// syncSpec is a SyncGroup request.
type syncSpec struct {
	by, group string
	version   int16
	id        string
	instance  string
	// plus is added to the generation that the player is in.
	plus int32
	// kind and protocol are what v5 names: "own", "" (null), or other words.
	kind, protocol string
	// assign says for whom the request carries assignments: "" nobody, "all" the
	// generation's members, "first" one of them, "others" all but the first and
	// somebody who is no member, "empty" all, of no bytes.
	assign string
	only   string // "leader", "follower": only while the player is; "": always
}

func (y syncSpec) String() string {
	text := fmt.Sprintf("%s as %q generation %+d", y.by, y.id, y.plus)
	if y.instance != "" {
		text += " instance " + y.instance
	}
	if y.version >= 5 {
		text += fmt.Sprintf(" type %q protocol %q", y.kind, y.protocol)
	}
	if y.assign != "" {
		text += " assigns " + y.assign
	}
	return strings.TrimSpace(text + " " + y.only)
}

func (y syncSpec) step() step {
	return step{
		text: say("SyncGroup", y.version, "%s", y), by: y.by, group: y.group, releases: true,
		request: func(s *side) kmsg.Request {
			id, p := s.cast.id(y.id), s.cast.player(y.by)
			switch {
			case y.only == "leader" && !p.leads, y.only == "follower" && (p.leads || p.id == ""):
				return nil
			case s.cast.waits(id, kmsg.JoinGroup, kmsg.SyncGroup):
				return nil // R-K31
			}
			return y.build(s, id)
		},
		learn: func(s *side, response kmsg.Response) {
			if r := response.(*kmsg.SyncGroupResponse); (r.ErrorCode == 25 || r.ErrorCode == 82) && y.id == y.by {
				s.cast.refused(y.by)
			}
		},
	}
}

func (y syncSpec) build(s *side, id string) *kmsg.SyncGroupRequest {
	p := s.cast.player(y.by)
	request := kmsg.NewPtrSyncGroupRequest()
	request.Version, request.Group, request.MemberID, request.Generation = y.version, y.group, id, p.generation+y.plus
	request.InstanceID, request.ProtocolType, request.Protocol = optional(y.instance), optional(y.kind), optional(y.protocol)
	if y.kind == "own" {
		request.ProtocolType = p.kindOr("consumer")
	}
	if y.protocol == "own" {
		request.Protocol = p.protocol
	}
	members := slices.Clone(p.members)
	slices.SortFunc(members, func(a, b string) int { return strings.Compare(s.cast.memberName(a), s.cast.memberName(b)) })
	for i, member := range append(members, nobody) {
		skip := i == len(p.members) && y.assign != "others" || y.assign == "first" && i > 0 || y.assign == "others" && i == 0
		if y.assign == "" || skip {
			continue
		}
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = member
		if y.assign != "empty" {
			a.MemberAssignment = []byte("for " + s.cast.names[member])
		}
		request.GroupAssignment = append(request.GroupAssignment, a)
	}
	return request
}

// kindOr is the generation's protocol type, which answers before v7 do not tell.
func (p *player) kindOr(usual string) *string {
	if p.kind != nil {
		return p.kind
	}
	return &usual
}
