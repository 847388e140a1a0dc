package assign

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/assign/kgobalancer"
	"github.com/skeinstream/skein/assign/saramabalancer"
	"github.com/skeinstream/skein/interop/internal/peer"
)

// place is where a member joins.
type place struct{ addr, group, topic string }

// heartbeat is how soon members hear of a rebalance.
const heartbeat = 300 * time.Millisecond

// starter starts one kind of member under a name of its own; the member leaves
// the group when stop is called.
type starter struct {
	name string
	// knows lists the assignors that it has.
	knows []string
	start func(t *testing.T, at place, assignor, id string) (stop func(), err error)
}

var allAssignors = []string{"cooperative-sticky", "sticky", "range", "roundrobin"}

// Ours come first.
var starters = []starter{
	{"skein in franz-go", allAssignors, func(t *testing.T, at place, assignor, id string) (func(), error) {
		return startFranz(at, id, kgobalancer.New(ours(assignor)))
	}},
	{"skein in sarama", allAssignors, func(t *testing.T, at place, assignor, id string) (func(), error) {
		return startSarama(t, at, id, saramabalancer.New(ours(assignor)))
	}},
	{"java", allAssignors, startJava},
	{"librdkafka", []string{"cooperative-sticky", "range", "roundrobin"}, startPython},
	{"franz-go", allAssignors, func(t *testing.T, at place, assignor, id string) (func(), error) {
		return startFranz(at, id, map[string]kgo.GroupBalancer{
			"cooperative-sticky": kgo.CooperativeStickyBalancer(), "sticky": kgo.StickyBalancer(), "range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
		}[assignor])
	}},
	{"sarama", allAssignors, func(t *testing.T, at place, assignor, id string) (func(), error) {
		return startSarama(t, at, id, map[string]sarama.BalanceStrategy{
			"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky(), "sticky": sarama.NewBalanceStrategySticky(),
			"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		}[assignor])
	}},
}

func ours(name string) assign.Assignor {
	return map[string]assign.Assignor{
		"cooperative-sticky": assign.CooperativeSticky{}, "sticky": assign.Sticky{}, "range": assign.Range{}, "roundrobin": assign.RoundRobin{},
	}[name]
}

func startFranz(at place, id string, b kgo.GroupBalancer) (stop func(), err error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(at.addr), kgo.ClientID(id), kgo.ConsumerGroup(at.group), kgo.ConsumeTopics(at.topic),
		kgo.Balancers(b), kgo.HeartbeatInterval(heartbeat), kgo.DisableAutoCommit())
	if err != nil {
		return nil, err
	}
	return c.Close, nil
}

// idle is a Sarama handler that reads nothing.
type idle struct{}

func (idle) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (idle) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (idle) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case _, open := <-c.Messages():
			if !open {
				return nil
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func startSarama(t *testing.T, at place, id string, s sarama.BalanceStrategy) (stop func(), err error) {
	config := sarama.NewConfig()
	config.Version, config.ClientID = sarama.V3_6_0_0, id
	config.Consumer.Group.Heartbeat.Interval = heartbeat
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{s}
	config.Consumer.Offsets.AutoCommit.Enable = false
	g, err := sarama.NewConsumerGroup([]string{at.addr}, at.group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{at.topic}, idle{}); err != nil && ctx.Err() == nil {
				t.Logf("%s: %v", id, err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		if err := g.Close(); err != nil {
			t.Logf("%s, closing: %v", id, err)
		}
	}, nil
}

func startJava(t *testing.T, at place, assignor, id string) (stop func(), err error) {
	classPath, err := program(t.Context(), "Member")
	if err != nil {
		return nil, err
	}
	class := map[string]string{"cooperative-sticky": "CooperativeSticky", "sticky": "Sticky", "range": "Range", "roundrobin": "RoundRobin"}[assignor]
	return startProgram(t, id, exec.Command("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp", classPath, "Member",
		at.addr, at.group, at.topic, id, fmt.Sprintf("org.apache.kafka.clients.consumer.%sAssignor", class)))
}

func startPython(t *testing.T, at place, assignor, id string) (stop func(), err error) {
	cmd, err := peer.Python(t.Context(), "member.py", at.addr, at.group, at.topic, id, assignor)
	if err != nil {
		return nil, err
	}
	return startProgram(t, id, cmd)
}

// startProgram starts a member that leaves when its standard input ends; one that
// does not is killed.
func startProgram(t *testing.T, id string, cmd *exec.Cmd) (stop func(), err error) {
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		input.Close()
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Logf("%s: %v", id, err)
		}
	}, nil
}
