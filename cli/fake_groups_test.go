package cli

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeGroups is a cluster of one broker with topics and groups, as a test wants them.
type fakeGroups struct {
	*fakeBroker
	topics map[string][]fakeLog
	groups map[string]*fakeGroup
	// requests are what changed something, or tried to.
	requests []kmsg.Request
	// refuse has an operation on one group refused.
	refuse map[int16]*kerr.Error
}

// fakeLog is one partition: where it begins, ends, and is stable; its record at offset o was written at the time o*1000.
type fakeLog struct{ start, stable, high int64 }

type fakeGroup struct {
	kind    string // classic, consumer
	state   string
	commits map[place]fakeCommit
	members []fakeMember
	tag     []byte // what a Skein broker adds
}

type fakeCommit struct {
	offset   int64
	epoch    int32
	metadata string
}

type fakeMember struct {
	id, instance, client, host string
	topics                     []string
	owned, assigned            map[string][]int32
}

// A cluster of Kafka 4.x, and one of 2.0.
func newKafka() map[int16]int16 {
	return map[int16]int16{18: 3, 3: 12, 10: 4, 2: 7, 15: 6, 16: 5, 9: 8, 8: 8, 42: 2, 47: 0, 13: 5, 69: 1}
}

func oldKafka() map[int16]int16 {
	return map[int16]int16{18: 2, 3: 6, 10: 2, 2: 3, 15: 1, 16: 1, 9: 4, 8: 4, 42: 1, 13: 1}
}

func startGroups(t *testing.T, versions map[int16]int16) (*fakeGroups, cluster) {
	t.Helper()
	f := &fakeGroups{topics: map[string][]fakeLog{}, groups: map[string]*fakeGroup{}, refuse: map[int16]*kerr.Error{}}
	f.fakeBroker = &fakeBroker{t: t, versions: versions, answer: f.answerTo}
	return f, cluster{t, f.start()}
}

// orders is a group of two members, one of them static, that has read some of its topic.
func (f *fakeGroups) orders() {
	f.topics["orders"] = []fakeLog{{0, 100, 100}, {50, 200, 1663}, {22, 22, 22}, {0, 7, 7}}
	f.groups["orders"] = &fakeGroup{
		kind: "classic", state: "Stable",
		commits: map[place]fakeCommit{{"orders", 0}: {90, 4, "half"}, {"orders", 1}: {200, -1, ""}, {"orders", 2}: {0, -1, ""}},
		members: []fakeMember{
			{id: "app-1-f00", client: "app-1", host: "/10.0.0.1", topics: []string{"orders"}, owned: map[string][]int32{"orders": {0}}, assigned: map[string][]int32{"orders": {0, 1}}},
			{id: "blue-bad", instance: "blue", client: "app-2", host: "/10.0.0.2", topics: []string{"orders"}, assigned: map[string][]int32{"orders": {2, 3}}},
		},
	}
}

// stopped is the same group without its members.
func (f *fakeGroups) stopped() {
	f.orders()
	f.groups["orders"].members, f.groups["orders"].state = nil, "Empty"
}

func (f *fakeGroups) answerTo(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		f.metadata(r, resp.(*kmsg.MetadataResponse))
	case *kmsg.FindCoordinatorRequest:
		f.coordinator(r, resp.(*kmsg.FindCoordinatorResponse))
	case *kmsg.ListOffsetsRequest:
		f.list(r, resp.(*kmsg.ListOffsetsResponse))
	case *kmsg.ListGroupsRequest:
		f.listGroups(resp.(*kmsg.ListGroupsResponse))
	case *kmsg.DescribeGroupsRequest:
		f.describe(r, resp.(*kmsg.DescribeGroupsResponse))
	case *kmsg.ConsumerGroupDescribeRequest:
		f.describeConsumer(r, resp.(*kmsg.ConsumerGroupDescribeResponse))
	case *kmsg.DescribeConfigsRequest:
		f.configs(r, resp.(*kmsg.DescribeConfigsResponse))
	case *kmsg.OffsetFetchRequest:
		f.fetch(r, resp.(*kmsg.OffsetFetchResponse))
	default:
		f.requests = append(f.requests, req)
		f.change(req, resp)
	}
	return resp
}

func (f *fakeGroups) metadata(r *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID = 1
	b.Host, b.Port = f.host()
	resp.Brokers, resp.ControllerID = append(resp.Brokers, b), 1
	var names []string
	for name := range f.topics {
		names = append(names, name)
	}
	if r.Topics != nil {
		names = nil
		for _, t := range r.Topics {
			names = append(names, *t.Topic)
		}
	}
	for _, name := range names {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID = &name, [16]byte{1: byte(len(name)), 2: name[0]}
		if f.topics[name] == nil {
			t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		}
		for i := range f.topics[name] {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader, p.Replicas, p.ISR = int32(i), 1, []int32{1}, []int32{1}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// configs has none of the settings that are asked for: they are not Kafka's.
func (f *fakeGroups) configs(r *kmsg.DescribeConfigsRequest, resp *kmsg.DescribeConfigsResponse) {
	for _, asked := range r.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		resp.Resources = append(resp.Resources, out)
	}
}

func (f *fakeGroups) coordinator(r *kmsg.FindCoordinatorRequest, resp *kmsg.FindCoordinatorResponse) {
	resp.NodeID = 1
	resp.Host, resp.Port = f.host()
	for _, key := range r.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.NodeID, c.Host, c.Port = key, 1, resp.Host, resp.Port
		resp.Coordinators = append(resp.Coordinators, c)
	}
}

func (f *fakeGroups) list(r *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, t := range r.Topics {
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewListOffsetsResponseTopicPartition()
			o.Partition, o.Offset = p.Partition, f.topics[t.Topic][p.Partition].find(p.Timestamp, r.IsolationLevel)
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
}

func (l fakeLog) find(timestamp int64, isolation int8) int64 {
	switch {
	case timestamp == -2:
		return l.start
	case timestamp == -1 && isolation == 1:
		return l.stable
	case timestamp == -1:
		return l.high
	case timestamp > (l.high-1)*1000:
		return -1
	}
	return max(l.start, (timestamp+999)/1000)
}

func (f *fakeGroups) listGroups(resp *kmsg.ListGroupsResponse) {
	for name, g := range f.groups {
		out := kmsg.NewListGroupsResponseGroup()
		out.Group, out.ProtocolType, out.GroupState, out.GroupType = name, "consumer", g.state, g.kind
		resp.Groups = append(resp.Groups, out)
	}
}

func (f *fakeGroups) describe(r *kmsg.DescribeGroupsRequest, resp *kmsg.DescribeGroupsResponse) {
	for _, name := range r.Groups {
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.State = name, "Dead"
		g := f.groups[name]
		switch {
		case g == nil || g.kind != "classic":
			if r.Version >= 6 {
				out.ErrorCode = kerr.GroupIDNotFound.Code
			}
		default:
			out.State, out.ProtocolType, out.Protocol = g.state, "consumer", "range"
			for _, m := range g.members {
				out.Members = append(out.Members, m.described())
			}
			if g.tag != nil {
				out.UnknownTags.Set(10000, g.tag)
			}
		}
		if refused := f.refuse[r.Key()]; refused != nil {
			out.ErrorCode = refused.Code
		}
		resp.Groups = append(resp.Groups, out)
	}
}

func (m fakeMember) described() kmsg.DescribeGroupsResponseGroupMember {
	out := kmsg.NewDescribeGroupsResponseGroupMember()
	out.MemberID, out.ClientID, out.ClientHost = m.id, m.client, m.host
	if m.instance != "" {
		out.InstanceID = &m.instance
	}
	wants := kmsg.ConsumerMemberMetadata{Version: 2, Topics: m.topics, Generation: 6}
	for topic, partitions := range m.owned {
		wants.OwnedPartitions = append(wants.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic, Partitions: partitions})
	}
	has := kmsg.ConsumerMemberAssignment{}
	for topic, partitions := range m.assigned {
		has.Topics = append(has.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: partitions})
	}
	out.ProtocolMetadata, out.MemberAssignment = wants.AppendTo(nil), has.AppendTo(nil)
	return out
}

func (f *fakeGroups) describeConsumer(r *kmsg.ConsumerGroupDescribeRequest, resp *kmsg.ConsumerGroupDescribeResponse) {
	for _, name := range r.Groups {
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group = name
		g := f.groups[name]
		if g == nil || g.kind != "consumer" {
			out.ErrorCode = kerr.GroupIDNotFound.Code
			resp.Groups = append(resp.Groups, out)
			continue
		}
		out.State, out.Epoch, out.AssignorName = g.state, 12, "uniform"
		for _, m := range g.members {
			to := kmsg.NewConsumerGroupDescribeResponseGroupMember()
			to.MemberID, to.ClientID, to.ClientHost, to.MemberEpoch, to.SubscribedTopics = m.id, m.client, m.host, 12, m.topics
			for topic, partitions := range m.assigned {
				to.Assignment.TopicPartitions = append(to.Assignment.TopicPartitions, kmsg.AssignmentTopicPartition{Topic: topic, Partitions: partitions})
			}
			out.Members = append(out.Members, to)
		}
		resp.Groups = append(resp.Groups, out)
	}
}

func (f *fakeGroups) fetch(r *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	resp.Topics = f.committed(r.Group)
	for _, g := range r.Groups {
		out := kmsg.NewOffsetFetchResponseGroup()
		out.Group = g.Group
		for _, t := range f.committed(g.Group) {
			to := kmsg.NewOffsetFetchResponseGroupTopic()
			to.Topic = t.Topic
			for _, p := range t.Partitions {
				q := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				q.Partition, q.Offset, q.LeaderEpoch, q.Metadata = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata
				to.Partitions = append(to.Partitions, q)
			}
			out.Topics = append(out.Topics, to)
		}
		resp.Groups = append(resp.Groups, out)
	}
}

func (f *fakeGroups) committed(group string) []kmsg.OffsetFetchResponseTopic {
	var topics []kmsg.OffsetFetchResponseTopic
	if f.groups[group] == nil {
		return nil
	}
	for at, commit := range f.groups[group].commits {
		i := slices.IndexFunc(topics, func(t kmsg.OffsetFetchResponseTopic) bool { return t.Topic == at.topic })
		if i < 0 {
			i = len(topics)
			topics = append(topics, kmsg.OffsetFetchResponseTopic{Topic: at.topic})
		}
		p := kmsg.NewOffsetFetchResponseTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = at.partition, commit.offset, commit.epoch, &commit.metadata
		topics[i].Partitions = append(topics[i].Partitions, p)
	}
	return topics
}
