package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Group is what the coordinator tells about a group.
type Group struct {
	Name         string      `json:"group"`
	Type         string      `json:"type"`
	ProtocolType string      `json:"protocol_type"`
	State        string      `json:"state"`
	Assignor     string      `json:"assignor"`
	Generation   *int32      `json:"generation"` // null: Kafka does not tell it for classic groups
	Coordinator  Coordinator `json:"coordinator"`
	Members      []Member    `json:"members"`

	// History is why the group rebalanced, the oldest first; nil when the broker does not keep it.
	History []Rebalance `json:"-"`
}

// Coordinator is the broker that a group belongs to.
type Coordinator struct {
	ID   int32  `json:"id"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

func (c Coordinator) String() string { return fmt.Sprintf("%d (%s:%d)", c.ID, c.Host, c.Port) }

// Member is one member of a group.
type Member struct {
	ID         string     `json:"member_id"`
	InstanceID string     `json:"instance_id,omitempty"`
	ClientID   string     `json:"client_id"`
	Host       string     `json:"host"`
	Rack       string     `json:"rack,omitempty"`
	Generation *int32     `json:"generation,omitempty"` // of what it owned when it joined, or its epoch
	Subscribed []string   `json:"subscribed"`
	Pattern    string     `json:"subscribed_pattern,omitempty"`
	Assigned   Partitions `json:"assigned"`
	Owned      Partitions `json:"owned,omitempty"`  // what it said that it owned when it joined
	Target     Partitions `json:"target,omitempty"` // what it is to have in the end
	// Offers are the names of the protocols that it listed when it joined, in its order, and Withholds those that it holds back;
	// nil where the broker does not tell: that is, on other brokers than Skein.
	Offers    []string `json:"offers,omitempty"`
	Withholds []string `json:"withholds,omitempty"`
	// Subscription is the version of what it said as a consumer, null where it said nothing of the kind.
	Subscription *int16 `json:"subscription_version,omitempty"`
	// Metadata and Assignment are sizes in bytes of what only the members themselves understand.
	Metadata   int `json:"metadata_bytes,omitempty"`
	Assignment int `json:"assignment_bytes,omitempty"`
}

// Active says that the group has members, and so its offsets are theirs.
func (g Group) Active() bool { return len(g.Members) > 0 || g.State != empty && g.State != dead }

// Find returns the member of an id, of an instance id, or the only one that begins so.
func (g Group) Find(name string) (Member, error) {
	var found []Member
	var names []string
	for _, m := range g.Members {
		if m.ID == name || m.InstanceID == name && name != "" {
			return m, nil
		}
		if strings.HasPrefix(m.ID, name) && name != "" {
			found = append(found, m)
		}
		names = append(names, m.ID)
		if m.InstanceID != "" {
			names = append(names, m.InstanceID)
		}
	}
	switch {
	case len(g.Members) == 0:
		return Member{}, g.nobody(name)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Member{}, problem.New("give more of it", "%q is the beginning of several members: %s, %s", name, found[0].ID, found[1].ID)
	}
	hint := problem.DidYouMean(name, names)
	if hint == "" {
		hint = "`skein group members " + g.Name + "` shows them"
	}
	return Member{}, problem.New(hint, "the group %s has no member %q", g.Name, name)
}

// FindInstance returns the static member of an instance id.
func (g Group) FindInstance(name string) (Member, error) {
	var there []string
	for _, m := range g.Members {
		if m.InstanceID == name && name != "" {
			return m, nil
		}
		if m.InstanceID != "" {
			there = append(there, m.InstanceID)
		}
	}
	hint := problem.DidYouMean(name, there)
	switch {
	case len(g.Members) == 0:
		return Member{}, g.nobody(name)
	case len(there) == 0:
		hint = "it has no static members: name one with --member"
	case hint == "":
		hint = "there are: " + strings.Join(there, ", ")
	}
	return Member{}, problem.New(hint, "the group %s has no member with the instance id %q", g.Name, name)
}

// nobody says that a member is not there, since no member is.
func (g Group) nobody(name string) error {
	return problem.New("nobody has to be taken out of it: its offsets can be changed, and it can be deleted", "the group %s has no members (%s), and so no %q", g.Name, g.State, name)
}

// Describe asks a group's coordinator about it; ErrUnknown when there is no such group.
//
// Both kinds of groups are asked for: a broker says of a group of the other kind that it does not exist.
func (c Client) Describe(ctx context.Context, name string) (Group, error) {
	g, err := c.describeClassic(ctx, name)
	if !errors.Is(err, ErrUnknown) {
		return g, err
	}
	if g, err = c.describeConsumer(ctx, name); !errors.Is(err, ErrUnknown) {
		return g, err
	}
	return Group{}, c.unknown(ctx, name)
}

// unknown says what a group is that cannot be described.
func (c Client) unknown(ctx context.Context, name string) error {
	listed, err := c.Admin.ListGroups(ctx)
	if err != nil && len(listed) == 0 {
		return ErrUnknown
	}
	if g, has := listed[name]; has && g.GroupType != "" && !strings.EqualFold(g.GroupType, Classic) && !strings.EqualFold(g.GroupType, Consumer) {
		return problem.New("Kafka's own tools show it", "the group %s is a %s group, which skein does not know", name, strings.ToLower(g.GroupType))
	}
	return ErrUnknown
}

func (c Client) describeClassic(ctx context.Context, name string) (g Group, err error) {
	err = patiently(ctx, func() error {
		g, err = c.askClassic(ctx, name)
		return err
	})
	return g, err
}

func (c Client) askClassic(ctx context.Context, name string) (Group, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{name}
	for _, shard := range c.Kafka.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return Group{}, fmt.Errorf("describing the group %s: %w", name, shard.Err)
		}
		for _, g := range shard.Resp.(*kmsg.DescribeGroupsResponse).Groups {
			if g.Group == name {
				return classicGroup(g, shard.Meta)
			}
		}
	}
	return Group{}, ErrUnknown
}

func classicGroup(g kmsg.DescribeGroupsResponseGroup, at kgo.BrokerMetadata) (Group, error) {
	err := kerr.ErrorForCode(g.ErrorCode)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound) || err == nil && g.State == dead && len(g.Members) == 0:
		return Group{}, ErrUnknown
	case err != nil:
		return Group{}, Refused("describe the group "+g.Group, g.Group, err, text(g.ErrorMessage))
	}
	out := Group{
		Name: g.Group, Type: Classic, ProtocolType: g.ProtocolType, State: g.State, Assignor: g.Protocol,
		Coordinator: Coordinator{at.NodeID, at.Host, at.Port}, Members: []Member{},
	}
	for _, m := range g.Members {
		member := classicMember(m, g.ProtocolType)
		err = errors.Join(err, member.lists(m.UnknownTags))
		out.Members = append(out.Members, member)
	}
	sortMembers(out.Members)
	var more error
	if out.History, more = history(g.UnknownTags); err != nil || more != nil {
		return Group{}, fmt.Errorf("describing the group %s: %w", g.Group, errors.Join(err, more))
	}
	if n := len(out.History); n > 0 {
		out.Generation = &out.History[n-1].Generation
	}
	return out, nil
}

func classicMember(m kmsg.DescribeGroupsResponseGroupMember, protocolType string) Member {
	out := Member{
		ID: m.MemberID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, Host: hostText(m.ClientHost),
		Subscribed: []string{}, Assigned: Partitions{}, Metadata: len(m.ProtocolMetadata), Assignment: len(m.MemberAssignment),
	}
	if protocolType != "consumer" {
		return out
	}
	var wants kmsg.ConsumerMemberMetadata
	if wants.ReadFrom(m.ProtocolMetadata) == nil {
		out.Metadata, out.Subscription = len(wants.UserData), &wants.Version
		out.Subscribed = append(out.Subscribed, wants.Topics...)
		slices.Sort(out.Subscribed)
		out.Rack = text(wants.Rack)
		if wants.Version >= 2 && wants.Generation >= 0 {
			out.Generation = &wants.Generation
		}
		for _, t := range wants.OwnedPartitions {
			out.Owned.Add(t.Topic, t.Partitions...)
		}
	}
	var has kmsg.ConsumerMemberAssignment
	if has.ReadFrom(m.MemberAssignment) == nil {
		out.Assignment = len(has.UserData)
		for _, t := range has.Topics {
			out.Assigned.Add(t.Topic, t.Partitions...)
		}
	}
	return out
}

// describeConsumer asks for groups of the new protocol (KIP-848).
func (c Client) describeConsumer(ctx context.Context, name string) (Group, error) {
	described, err := c.Admin.DescribeConsumerGroups(ctx, name)
	g, has := described[name]
	switch {
	case unserved(err):
		return Group{}, ErrUnknown
	case err != nil:
		return Group{}, fmt.Errorf("describing the group %s: %w", name, err)
	case !has || errors.Is(g.Err, kerr.GroupIDNotFound) || errors.Is(g.Err, kerr.UnsupportedVersion):
		return Group{}, ErrUnknown
	case g.Err != nil:
		return Group{}, Refused("describe the group "+name, name, g.Err, "")
	}
	out := Group{
		Name: name, Type: Consumer, ProtocolType: "consumer", State: g.State, Assignor: g.AssignorName, Generation: &g.Epoch,
		Coordinator: Coordinator{g.Coordinator.NodeID, g.Coordinator.Host, g.Coordinator.Port}, Members: []Member{},
	}
	for _, m := range g.Members {
		out.Members = append(out.Members, Member{
			ID: m.MemberID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, Host: hostText(m.ClientHost), Rack: text(m.RackID),
			Generation: &m.MemberEpoch, Subscribed: append([]string{}, m.SubscribedTopics...), Pattern: text(m.SubscribedTopicRegex),
			Assigned: setOf(m.Assignment), Target: setOf(m.TargetAssignment),
		})
	}
	sortMembers(out.Members)
	return out, nil
}

func sortMembers(members []Member) {
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.InstanceID, b.InstanceID), strings.Compare(a.ID, b.ID))
	})
}

func setOf(set kadm.TopicsSet) Partitions {
	out := Partitions{}
	set.EachPartitions(func(topic string, partitions []int32) { out.Add(topic, partitions...) })
	return out
}

// hostText is an address as Kafka shows it without the slash that Java puts before it.
func hostText(host string) string { return strings.TrimPrefix(host, "/") }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
