package kgobalancer_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/assign/kgobalancer"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMetadataReadsAsKgosOwn: kgo's own balancer, leading, sees in our members
// what it sees in its own.
func TestMetadataReadsAsKgosOwn(t *testing.T) {
	current := map[string][]int32{"a": {1, 2}, "b": {0}}
	for _, c := range []struct {
		ours assign.Assignor
		kgos kgo.GroupBalancer
	}{
		{assign.CooperativeSticky{}, kgo.CooperativeStickyBalancer()},
		{assign.Range{}, kgo.RangeBalancer()},
		{assign.RoundRobin{}, kgo.RoundRobinBalancer()},
		{assign.Sticky{}, kgo.StickyBalancer()},
	} {
		b := kgobalancer.New(c.ours)
		if b.ProtocolName() != c.kgos.ProtocolName() || b.IsCooperative() != c.kgos.IsCooperative() {
			t.Errorf("%s, cooperative %v: kgo has %s, %v", b.ProtocolName(), b.IsCooperative(), c.kgos.ProtocolName(), c.kgos.IsCooperative())
		}
		var ours, kgos kmsg.ConsumerMemberMetadata
		if err := ours.ReadFrom(b.JoinGroupMetadata([]string{"a", "b"}, current, 7)); err != nil {
			t.Fatal(err)
		}
		if err := kgos.ReadFrom(c.kgos.JoinGroupMetadata([]string{"a", "b"}, current, 7)); err != nil {
			t.Fatal(err)
		}
		if b.IsCooperative() {
			ours.UserData, kgos.UserData = nil, nil // ours is Kafka's four bytes; kgo says more, and reads neither
		}
		if !reflect.DeepEqual(ours, kgos) {
			t.Errorf("%s: %+v, kgo's %+v", b.ProtocolName(), ours, kgos)
		}
	}
}

// TestLeadsAnyMembers: members of kgo's own balancer are planned for, with racks
// from the client's metadata.
func TestLeadsAnyMembers(t *testing.T) {
	b := kgobalancer.New(assign.CooperativeSticky{}, kgobalancer.Rack("r1"))
	stock := kgo.CooperativeStickyBalancer()
	instance := "i"
	joined := []kmsg.JoinGroupResponseMember{
		{MemberID: "m1", ProtocolMetadata: b.JoinGroupMetadata([]string{"t"}, nil, -1)},
		{MemberID: "m2", InstanceID: &instance, ProtocolMetadata: stock.JoinGroupMetadata([]string{"t"}, map[string][]int32{"t": {0, 1}}, 3)},
	}
	g, topics, err := b.MemberBalancer(joined)
	if err != nil || !reflect.DeepEqual(topics, map[string]struct{}{"t": {}}) {
		t.Fatalf("topics %v, %v", topics, err)
	}
	rack := "r1"
	g.(kgo.GroupMemberBalancerInfo).SetBalanceInfo(kgo.BalanceInfo{
		Topics: func() map[string]kgo.TopicMetadata {
			partitions := make([]kgo.PartitionMetadata, 4)
			partitions[3].Replicas = []int32{1}
			return map[string]kgo.TopicMetadata{"t": {Partitions: partitions}}
		},
		Brokers: func() map[int32]kgo.BrokerMetadata { return map[int32]kgo.BrokerMetadata{1: {Rack: &rack}} },
	})
	into, err := g.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"t": 4})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]int32{"m1": {2, 3}, "m2": {0, 1}}
	for _, s := range into.IntoSyncAssignment() {
		got, err := stock.ParseSyncAssignment(s.MemberAssignment)
		if err != nil || !reflect.DeepEqual(got["t"], want[s.MemberID]) {
			t.Errorf("%s gets %v, %v, want %v", s.MemberID, got, err, want[s.MemberID])
		}
	}
}

func TestMembersThatCannotBeReadAreNamed(t *testing.T) {
	_, _, err := kgobalancer.New(assign.Range{}).MemberBalancer([]kmsg.JoinGroupResponseMember{{MemberID: "m1", ProtocolMetadata: []byte{1}}})
	if err == nil {
		t.Error("a member with torn metadata was planned for")
	}
}

// TestGroupOfBothBalancers: three clients, one of them with kgo's own balancer,
// share a topic on a broker that speaks the real protocol.
func TestGroupOfBothBalancers(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(12, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changes := make(chan func(owned map[string]int), 100)
	for i, b := range []kgo.GroupBalancer{kgobalancer.New(assign.CooperativeSticky{}), kgo.CooperativeStickyBalancer(), kgobalancer.New(assign.CooperativeSticky{})} {
		client := join(t, cluster.ListenAddrs(), b, fmt.Sprintf("member %d", i), changes)
		defer client.Close()
	}
	owned := map[string]int{}
	for owned["member 0"] != 4 || owned["member 1"] != 4 || owned["member 2"] != 4 {
		select {
		case change := <-changes:
			change(owned)
		case <-ctx.Done():
			t.Fatalf("partitions by member: %v, want 4 each", owned)
		}
	}
}

// join starts a member that tells every change of what it owns.
func join(t *testing.T, addrs []string, b kgo.GroupBalancer, name string, changes chan<- func(map[string]int)) *kgo.Client {
	t.Helper()
	tell := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			n := sign * len(topics["t"])
			changes <- func(owned map[string]int) { owned[name] += n }
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.Balancers(b),
		kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(tell(1)), kgo.OnPartitionsRevoked(tell(-1)), kgo.OnPartitionsLost(tell(-1)))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestEagerMembersRemember: R-A14: kgo lets go of everything before it joins
// again and says that it has nothing; the leader hears what the member had
// nevertheless. Cooperative members are believed.
func TestEagerMembersRemember(t *testing.T) {
	owned := []assign.TopicPartitions{{Topic: "a", Partitions: []int32{1, 2}}}
	assigned := assign.Assignment{Partitions: owned}.Append(nil, assign.HighestVersion)
	for _, a := range []assign.Assignor{assign.Sticky{}, assign.CooperativeSticky{}} {
		b := kgobalancer.New(a)
		got, err := b.ParseSyncAssignment(assigned)
		if err != nil {
			t.Fatal(err)
		}
		got["a"][0] = 99 // the caller's own
		s, err := assign.DecodeSubscription(b.JoinGroupMetadata([]string{"a"}, nil, 7))
		if err != nil {
			t.Fatal(err)
		}
		remembered, generation := assign.DecodeStickyUserData(s.UserData)
		eager := !b.IsCooperative()
		if eager && (!reflect.DeepEqual(remembered, owned) || generation != 7) || !eager && len(s.Owned) > 0 {
			t.Errorf("%s sends %v, generation %d, owned %v", a.Name(), remembered, generation, s.Owned)
		}
	}
}
