package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/cli/internal/groups"
)

// startGroupCluster is a broker of our own that lets members wait for nobody.
func startGroupCluster(t *testing.T) cluster {
	return startClusterWith(t, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}})
}

// member is a consumer in a group of the cluster; it has read and committed so many records.
func (c cluster) member(group, topic, client string, records int, more ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.address), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID(client),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(50 * time.Millisecond),
	}, more...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	for got := 0; got < records; {
		fetches := cl.PollRecords(c.t.Context(), records-got)
		if err := fetches.Err(); err != nil {
			c.t.Fatal(err)
		}
		got += fetches.NumRecords()
		if err := cl.CommitRecords(c.t.Context(), fetches.Records()...); err != nil {
			c.t.Fatal(err)
		}
	}
	return cl
}

// settled waits until a group is stable with so many members, and each partition has one: a cooperative group is stable in between,
// too, before it gives away what was revoked.
func (c cluster) settled(group string, members int) groupDescription {
	c.t.Helper()
	for c.t.Context().Err() == nil {
		s := c.shell("")
		if s.run(c.t.Context(), "group", "describe", group, "--json") != 0 {
			continue // nobody has joined it yet
		}
		var list []groupDescription
		decode(c.t, s.stdout.String(), &list)
		if d := list[0]; d.State == "Stable" && len(d.Members) == members && !slices.ContainsFunc(d.Partitions, func(p groups.Position) bool { return p.Member == "" }) {
			return d
		}
	}
	c.t.Fatal("the group does not settle")
	return groupDescription{}
}

// TestAGroupOfOurOwnBroker goes through the life of a group with every verb.
func TestAGroupOfOurOwnBroker(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.feed("1\n2\n3\n4\n", "produce", "orders", "-p", "0")
	c.feed("5\n6\n", "produce", "orders", "-p", "1")
	c.want(c.fail(1, "", "group", "describe", "app"), `there is no group "app"`)
	first := c.member("app", "orders", "app-1", 6)
	c.feed("7\n", "produce", "orders", "-p", "1")
	c.member("app", "orders", "app-2", 0, kgo.InstanceID("blue"))
	d := c.settled("app", 2)
	if d.Lag != 1 || d.Type != "classic" || d.Assignor != "cooperative-sticky" || d.Generation == nil || len(d.Rebalances) < 2 || *d.Generation != d.Rebalances[len(d.Rebalances)-1].Generation {
		t.Errorf("%+v", d)
	}
	c.want(c.do("group", "list"), "app    Stable  classic  consumer")
	c.want(c.do("group", "describe", "app"), "Generation:", "SINCE", "member joined", "blue")
	c.want(c.do("group", "members", "app", "--verbose"), "Instance:    blue", "Subscribed:  orders", "Assigned:    orders:")
	c.want(c.do("group", "lag", "app"), "lag of app: 1\n")
	c.want(c.fail(1, "", "group", "delete", "app", "--execute"), "NON_EMPTY_GROUP")
	c.want(c.fail(1, "", "group", "delete", "app", "--topic", "orders", "--execute"), "subscribe to the topic")

	c.want(c.do("group", "remove-member", "app", "--member", "app-1", "--reason", "it hangs"), "took app-1-")
	first.Close()
	c.settled("app", 1)
	c.want(c.do("group", "history", "app"), "member left", "member was removed by an admin: it hangs")
	c.want(c.fail(1, "", "group", "reset-offsets", "app", "--all-topics", "--to-earliest", "--execute"), "its offsets are theirs")
}

func TestOffsetsOfOurOwnBroker(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.feed("1\n2\n3\n4\n", "produce", "orders", "-p", "0")
	c.feed("5\n6\n", "produce", "orders", "-p", "1")
	c.member("app", "orders", "app-1", 6).Close()
	c.want(c.do("group", "describe", "app"), "State:       Empty", "Lag:         0\n")
	c.want(c.do("group", "reset-offsets", "app", "--all-topics", "--shift-by", "-3"), "orders  0          4    1    -3", "-1 is before the log")
	c.do("group", "reset-offsets", "app", "--all-topics", "--shift-by", "-3", "--execute")
	c.want(c.do("group", "lag", "app"), "lag of app: 5\n")
	file := c.do("group", "reset-offsets", "app", "--all-topics", "--to-current", "--export")
	c.want(c.feed(file, "group", "reset-offsets", "copy", "--from-file", "-", "--create", "--execute"), "reset 2 partitions of the group copy")
	c.want(c.do("group", "list"), "copy   Empty  classic  -")
	c.want(c.do("group", "describe", "copy"), "Type:        classic, members assign partitions themselves", "Lag:         5\n")
	c.do("group", "delete", "app", "--topic", "orders:0", "--execute")
	c.want(c.do("group", "lag", "app"), "lag of app: 2\n")
	c.want(c.do("group", "delete", "app", "copy", "--execute"), "deleted group app with 1 committed offset\n", "deleted group copy with 2 committed offsets")
	s := c.shell("")
	s.run(t.Context(), "group", "list")
	if !strings.Contains(s.stderr.String(), "there are no groups") {
		t.Errorf("%s%s", s.stdout.String(), s.stderr.String())
	}
}
