package groups

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const topic = "t"

// broker is one in this process that has the topic.
func broker(t *testing.T) (ctx context.Context, addr string) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(6, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx, cluster.ListenAddrs()[0]
}

// The broker holds what the last commit of each connection said: so many
// commits as were counted, and the first one.
func TestEveryCommitIsCounted(t *testing.T) {
	ctx, addr := broker(t)
	const connections = 3
	all, err := NewCommitters(ctx, addr, topic, connections)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	commits, took, err := all.Run(ctx, 4, 20*time.Millisecond)
	if err != nil || commits < connections*4 || took < 20*time.Millisecond {
		t.Fatalf("%d commits in %v, %v", commits, took, err)
	}
	stored := 0
	for i := range connections {
		stored += committed(t, ctx, addr, fmt.Sprintf("commits-%s-%d", topic, i))
	}
	// Each connection's offsets count its requests: one was made to learn its
	// group, one was the first commit.
	if want := commits + 2*connections; stored != want {
		t.Errorf("the offsets add up to %d, want %d", stored, want)
	}
}

func committed(t *testing.T, ctx context.Context, addr, group string) int {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	return int(resp.Topics[0].Partitions[0].Offset)
}

func TestCommitsToATopicThatIsMissingAreAnError(t *testing.T) {
	ctx, addr := broker(t)
	if _, err := NewCommitters(ctx, addr, "missing", 1); err == nil {
		t.Error("a commit that was refused counts")
	}
}

func TestMembersJoinBeatAndLeave(t *testing.T) {
	ctx, addr := broker(t)
	const count = 20
	m, err := Join(ctx, addr, topic, "g", count)
	if err != nil {
		t.Fatal(err)
	}
	took, generation := m.Settled()
	if took <= 0 || generation < 1 {
		t.Errorf("settled after %v in generation %d", took, generation)
	}
	if state, members := describe(t, ctx, addr, "g"); state != "Stable" || members != count {
		t.Errorf("the group is %s with %d members", state, members)
	}
	if beats, err := m.Beat(ctx, 20*time.Millisecond); err != nil || beats < count {
		t.Errorf("%d heartbeats, %v", beats, err)
	}
	if err := m.Leave(); err != nil {
		t.Fatal(err)
	}
	if state, members := describe(t, ctx, addr, "g"); state != "Empty" || members != 0 {
		t.Errorf("after all have left the group is %s with %d members", state, members)
	}
}

func describe(t *testing.T, ctx context.Context, addr, group string) (state string, members int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Groups[0].State, len(resp.Groups[0].Members)
}

func TestHeartbeatsOfAGroupThatIsGoneAreAnError(t *testing.T) {
	ctx, addr := broker(t)
	m, err := Join(ctx, addr, topic, "g", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	m.all[1].id = "a stranger"
	if _, err := m.Beat(ctx, 20*time.Millisecond); err == nil {
		t.Error("heartbeats that were refused count")
	}
}
