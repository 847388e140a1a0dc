package groupsim

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
)

// counter is where requests are given to a coordinator like Kafka's, one after the other.
type counter struct {
	t     *testing.T
	k     *kafka
	now   time.Time
	last  machine.Token
	heard map[machine.Token]any
}

func newCounter(t *testing.T, partitions int32) *counter {
	topics := []assign.Topic{{Name: "t", Partitions: partitions}}
	w := &world{script: &Script{}}
	w.script.Broker = "kafka"
	return &counter{t: t, k: newKafka(w.settings(), func() []assign.Topic { return topics }), now: time.Unix(0, 0), heard: map[machine.Token]any{}}
}

func (c *counter) take(out machine.Output) {
	for _, r := range out.Records {
		c.k.Apply(r)
	}
	for _, r := range out.Replies {
		c.heard[r.To] = r.Value
	}
}

// ask gives in what a member asks, and lets time pass until it is answered.
func (c *counter) ask(in any) any {
	c.t.Helper()
	token := c.send(in)
	for range 20 {
		if value := c.heard[token]; value != nil {
			return value
		}
		c.now = c.now.Add(500 * time.Millisecond)
		c.take(c.k.Tick(c.now))
	}
	c.t.Fatalf("%T is not answered", in)
	return nil
}

func (c *counter) send(in any) machine.Token {
	c.last++
	c.take(c.k.Step(c.now, c.last, in))
	return c.last
}

func (c *counter) joinOf(member string, list []string, owned ...int32) group.Join {
	s := assign.Subscription{Topics: []string{"t"}, Generation: -1}
	if len(owned) > 0 {
		s.Owned = []assign.TopicPartitions{{Topic: "t", Partitions: owned}}
	}
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, groupName, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(session.Milliseconds()), int32(pollMax.Milliseconds())
	for _, name := range list {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, s.Append(nil, assign.HighestVersion)
		r.Protocols = append(r.Protocols, p)
	}
	return group.Join{Request: r, ClientID: "c", NewID: itoa(int(c.last))}
}

func (c *counter) join(member string, list []string, owned ...int32) *kmsg.JoinGroupResponse {
	c.t.Helper()
	return c.ask(c.joinOf(member, list, owned...)).(*kmsg.JoinGroupResponse)
}

func (c *counter) sync(member string, generation int32, protocol string, plan ...kmsg.SyncGroupRequestGroupAssignment) (partitions []int32, code int16) {
	c.t.Helper()
	kind := "consumer"
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation, r.ProtocolType, r.Protocol, r.GroupAssignment = 5, groupName, member, generation, &kind, &protocol, plan
	resp := c.ask(group.Sync{Request: r}).(*kmsg.SyncGroupResponse)
	a, _ := assign.DecodeAssignment(resp.MemberAssignment)
	for _, tp := range flat(a.Partitions) {
		partitions = append(partitions, tp.Partition)
	}
	slices.Sort(partitions)
	return partitions, resp.ErrorCode
}

func (c *counter) heartbeat(member string, generation int32, want *kerr.Error) {
	c.t.Helper()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, groupName, member, generation
	c.code("Heartbeat", c.ask(group.Heartbeat{Request: r}).(*kmsg.HeartbeatResponse).ErrorCode, want)
}

func (c *counter) commit(member string, generation int32, want *kerr.Error) {
	c.t.Helper()
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 8, groupName, member, generation
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = 1
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	c.code("OffsetCommit", c.ask(group.Commit{Request: r}).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, want)
}

// beat is a heartbeat of the new protocol; owned is nil where nothing is said about that.
func (c *counter) beat(member string, epoch int32, owned []int32) *kmsg.ConsumerGroupHeartbeatResponse {
	c.t.Helper()
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.MemberEpoch, r.RebalanceTimeoutMillis = groupName, member, epoch, -1
	if epoch == 0 {
		r.RebalanceTimeoutMillis, r.SubscribedTopicNames = int32(pollMax.Milliseconds()), []string{"t"}
	}
	if owned != nil {
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: topicID("t"), Partitions: owned}}
	}
	return c.ask(modernBeat{Request: r}).(*kmsg.ConsumerGroupHeartbeatResponse)
}

func (c *counter) code(what string, code int16, want *kerr.Error) {
	c.t.Helper()
	wanted := int16(0)
	if want != nil {
		wanted = want.Code
	}
	if code != wanted {
		c.t.Errorf("%s: %v, not %v", what, kerr.ErrorForCode(code), kerr.ErrorForCode(wanted))
	}
}

// answered says what a JoinGroup is to bring a classic member in a group of the new protocol: its own epoch, the first name of its
// list, and no leader (R-H8).
func (c *counter) answered(resp *kmsg.JoinGroupResponse, epoch int32, protocol string) {
	c.t.Helper()
	if resp.ErrorCode != 0 || resp.Generation != epoch || textOf(resp.Protocol) != protocol || resp.LeaderID != "" || len(resp.Members) > 0 {
		c.t.Errorf("epoch %d under %s is wanted: %+v", epoch, protocol, resp)
	}
}

// classic begins a classic group of one member, which has everything in generation 1.
func (c *counter) classic(partitions ...int32) (member string) {
	c.t.Helper()
	member = c.join("", []string{cs, rg}).MemberID
	if resp := c.join(member, []string{cs, rg}); resp.ErrorCode != 0 || resp.LeaderID != member {
		c.t.Fatalf("%+v", resp)
	}
	plan := kmsg.NewSyncGroupRequestGroupAssignment()
	plan.MemberID = member
	plan.MemberAssignment = assign.Assignment{Partitions: []assign.TopicPartitions{{Topic: "t", Partitions: partitions}}}.Append(nil, assign.HighestVersion)
	if has, code := c.sync(member, 1, cs, plan); code != 0 || !slices.Equal(has, partitions) {
		c.t.Fatalf("%v, %d", has, code)
	}
	return member
}

// What the coordinator answers a member that comes to a classic group, and those that are there, until it goes (R-H7 to R-H9).
func TestAGroupGoesToTheNewProtocolAndBack(t *testing.T) {
	c := newCounter(t, 4)
	a := c.classic(0, 1, 2, 3)
	if resp := c.beat("k", 0, []int32{}); resp.ErrorCode != 0 || resp.MemberEpoch != 2 || len(resp.Assignment.Topics) > 0 {
		t.Errorf("the first of the new protocol is told %+v, and nothing is free", resp)
	}
	c.heartbeat(a, 1, kerr.RebalanceInProgress) // it is behind
	c.answered(c.join(a, []string{cs}, 0, 1, 2, 3), 1, cs)
	keeps, code := c.sync(a, 1, cs)
	if code != 0 || len(keeps) != 2 {
		t.Fatalf("of 4 partitions %v stay, %d", keeps, code)
	}
	c.heartbeat(a, 1, kerr.RebalanceInProgress) // it is to give two up
	c.commit(a, 1, nil)
	c.commit(a, 2, kerr.IllegalGeneration)
	c.answered(c.join(a, []string{cs}, keeps...), 2, cs)
	if has, code := c.sync(a, 2, cs); code != 0 || !slices.Equal(has, keeps) {
		t.Errorf("it has %v, %d", has, code)
	}
	c.heartbeat(a, 2, nil)
	c.heartbeat(a, 1, kerr.IllegalGeneration)
	c.commit(a, 1, kerr.IllegalGeneration)
	if resp := c.beat("k", 2, nil); resp.ErrorCode != 0 || len(resp.Assignment.Topics) != 1 || len(resp.Assignment.Topics[0].Partitions) != 2 {
		t.Errorf("the newcomer is told %+v, and two are free", resp)
	}
	c.commit("k", 2, kerr.UnsupportedVersion) // K18: members of the new protocol commit with v9
	c.code("a JoinGroup without a name in common", c.join("", []string{rg}).ErrorCode, kerr.InconsistentGroupProtocol)

	c.beat("k", -1, nil)
	c.heartbeat(a, 2, kerr.RebalanceInProgress)
	resp := c.join(a, []string{cs}, keeps...)
	if resp.ErrorCode != 0 || resp.Generation != 3 || resp.LeaderID != a || len(resp.Members) != 1 {
		t.Errorf("back in a classic group: %+v", resp)
	}
	c.code("the new protocol in a classic group, by one that is not in it", c.beat("k", 2, nil).ErrorCode, kerr.GroupIDNotFound)
}

// Who waits for a round when the group is converted is told to join again (R-H7).
func TestWhoWaitsForARoundOfAGroupThatIsConverted(t *testing.T) {
	c := newCounter(t, 4)
	a := c.classic(0, 1, 2, 3)
	b := c.join("", []string{cs}).MemberID
	waits := c.send(c.joinOf(b, []string{cs}))
	if c.heard[waits] != nil {
		t.Fatalf("it does not wait: %+v", c.heard[waits])
	}
	c.beat("k", 0, []int32{})
	if resp, ok := c.heard[waits].(*kmsg.JoinGroupResponse); !ok || resp.ErrorCode != kerr.RebalanceInProgress.Code {
		t.Errorf("it is told %+v", c.heard[waits])
	}
	c.heartbeat(a, 1, kerr.RebalanceInProgress)
}

// A member waits for what another has not given up, and joins again when it has (R-H3, R-H8).
func TestWhatIsNotGivenUpIsWaitedFor(t *testing.T) {
	c := newCounter(t, 3)
	a := c.classic(0, 1, 2)
	c.beat("k", 0, []int32{})
	b := c.join("", []string{cs, rg}).MemberID
	c.answered(c.join(b, []string{cs, rg}), 3, cs)
	if has, code := c.sync(b, 3, cs); code != 0 || len(has) > 0 {
		t.Errorf("all is held still, and it is given %v, %d", has, code)
	}
	c.heartbeat(b, 3, nil)
	c.answered(c.join(a, []string{cs}, 0, 1, 2), 1, cs)
	keeps, code := c.sync(a, 1, cs)
	if code != 0 || len(keeps) != 1 {
		t.Fatalf("of 3 partitions %v stay, %d", keeps, code)
	}
	c.heartbeat(b, 3, nil)
	c.answered(c.join(a, []string{cs}, keeps...), 3, cs)
	c.heartbeat(b, 3, kerr.RebalanceInProgress)
	c.answered(c.join(b, []string{cs, rg}), 3, cs)
	if has, code := c.sync(b, 3, cs); code != 0 || len(has) != 1 || slices.Equal(has, keeps) {
		t.Errorf("it has %v, %d", has, code)
	}
}
