package cli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/cli/internal/upgrade"
)

func (c cluster) check(code int, args ...string) (out upgradeCheck) {
	c.t.Helper()
	s := c.shell("")
	if got := s.run(c.t.Context(), append([]string{"group", "upgrade-check", "--json"}, args...)...); got != code {
		c.t.Fatalf("upgrade-check %v: exit %d, want %d\n%s%s", args, got, code, s.stdout.String(), s.stderr.String())
	}
	decode(c.t, s.stdout.String(), &out)
	return out
}

// TestUpgradeCheckSeesListsOfOurOwnBroker: who offers what, who holds the group back, and what comes next.
func TestUpgradeCheckSeesListsOfOurOwnBroker(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "4")
	c.member("app", "orders", "old", 0, kgo.Balancers(kgo.RangeBalancer()))
	c.settled("app", 1)
	both := c.member("app", "orders", "new", 0, kgo.Balancers(kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()))
	c.settled("app", 2)
	got := c.check(0, "app")
	if got.Runs.Protocol != "EAGER" || got.Runs.Assignor != "range" || !got.Runs.Told || got.Broker.Kind != "skein" || !got.Broker.Union || !got.Broker.Remembers {
		t.Errorf("%+v", got)
	}
	offers := map[string]string{}
	for _, m := range got.Members {
		offers[m.ClientID] = strings.Join(m.Offers, ",")
	}
	if offers["old"] != "range" || offers["new"] != "range,cooperative-sticky" {
		t.Errorf("%v", offers)
	}
	if f := got.Restarts[0]; f.Verdict != upgrade.Go || f.Rows[0] != "M1" || f.Stages[len(f.Stages)-1].Protocol != "COOPERATIVE" {
		t.Errorf("%+v", f)
	}
	c.want(c.do("group", "upgrade-check", "app"), "Protocol:    EAGER", "Held back by:\n  ", "it offers [range], and nothing COOPERATIVE",
		"Skein's consumer and [cooperative-sticky, range]: GO", "up with a stock client", "this broker lets it in")

	// Only the old one keeps [cooperative-sticky] out.
	if f := c.check(0, "app", "--client", "stock", "--to", "cooperative-sticky").Restarts[0]; !strings.HasPrefix(f.First, "old-") || f.Rows[0] != "M2" {
		t.Errorf("%+v", f)
	}
	c.member("app", "orders", "old too", 0, kgo.Balancers(kgo.RangeBalancer()))
	c.settled("app", 3)
	c.want(c.fail(3, "", "group", "upgrade-check", "app", "--client", "stock", "--to", "cooperative-sticky"), "STOP (M2)", "do not restart app", "INCONSISTENT_GROUP_PROTOCOL (23)")
	c.want(c.fail(4, "", "group", "upgrade-check", "app", "--to", "home-made,range"), "home-made", "--cooperative or --eager")
	c.check(0, "app", "--to", "home-made,range", "--cooperative", "home-made")
	c.check(3, "app", "--to", "consumer")
	both.Close()
}

// TestUpgradeCheckIsRight: what it says of a newcomer is what the broker does with it.
func TestUpgradeCheckIsRight(t *testing.T) {
	balancers := map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(), "sticky": kgo.StickyBalancer()}
	of := func(list string) kgo.Opt {
		var out []kgo.GroupBalancer
		for name := range strings.SplitSeq(list, ",") {
			out = append(out, balancers[name])
		}
		return kgo.Balancers(out...)
	}
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "4")
	for i, play := range []struct{ there, comes string }{
		{"range", "cooperative-sticky,range"}, {"range", "cooperative-sticky"}, {"sticky", "range"}, {"range,cooperative-sticky", "cooperative-sticky"},
		{"cooperative-sticky", "range"}, {"cooperative-sticky", "range,cooperative-sticky"}, {"sticky,range", "range,sticky"},
	} {
		group := "app-" + string(rune('a'+i))
		c.member(group, "orders", "one", 0, of(play.there))
		c.settled(group, 1)
		c.member(group, "orders", "two", 0, of(play.there))
		c.settled(group, 2)
		f := c.restart(group, play.comes)
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.address), kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"), of(play.comes))
		if err != nil {
			t.Fatal(err)
		}
		if joined := c.joins(cl, group); joined != (f.Admitted == upgrade.Yes) {
			t.Errorf("%s, and %s comes: admitted %v, said %+v", play.there, play.comes, joined, f)
		}
	}
}

// TestUpgradeCheckKnowsThatOurConsumerAdopts: with a list that the group does not run it is let in all the same.
func TestUpgradeCheckKnowsThatOurConsumerAdopts(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "4")
	one := c.member("app", "orders", "one", 0, kgo.Balancers(kgo.RangeBalancer()))
	c.settled("app", 1)
	two := c.member("app", "orders", "two", 0, kgo.Balancers(kgo.RangeBalancer()))
	c.settled("app", 2)
	f := c.check(0, "app", "--to", "cooperative-sticky").Restarts[0]
	if last := f.Stages[len(f.Stages)-1]; f.Adopts != "range" || f.Admitted != upgrade.Yes || last.Assignor != "cooperative-sticky" || last.Protocol != upgrade.Cooperative {
		t.Errorf("%+v", f)
	}
	c.want(c.do("group", "upgrade-check", "app", "--to", "cooperative-sticky"), "offer what the group runs, too: range", "StrictAssignors")
	c.check(3, "app", "--client", "stock", "--to", "cooperative-sticky")

	one.Close()
	c.follow("orders", "--group", "app", "--assignors", "cooperative-sticky", "--json").until("adoption", isEvent("adopted"))
	if d := c.settled("app", 2); d.Assignor != "range" {
		t.Errorf("with an old member the group runs %q", d.Assignor)
	}
	two.Close()
	c.settled("app", 1)
	c.follow("orders", "--group", "app", "--assignors", "cooperative-sticky", "--json")
	c.settled("app", 2)
	if got := c.check(0, "app"); got.Runs.Assignor != "cooperative-sticky" || got.Runs.Protocol != upgrade.Cooperative {
		t.Errorf("in the end: %+v", got.Runs)
	}
}

func (c cluster) restart(group, list string) upgrade.Forecast {
	c.t.Helper()
	s := c.shell("")
	s.run(c.t.Context(), "group", "upgrade-check", group, "--json", "--client", "stock", "--to", list)
	var out upgradeCheck
	decode(c.t, s.stdout.String(), &out)
	return out.Restarts[0]
}

// joins waits until a newcomer is in the group, or has been refused.
func (c cluster) joins(cl *kgo.Client, group string) bool {
	c.t.Helper()
	refused := make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for {
			fetches := cl.PollFetches(context.Background())
			if err := fetches.Err(); err != nil && strings.Contains(err.Error(), "INCONSISTENT_GROUP_PROTOCOL") {
				close(refused)
				return
			}
			if fetches.IsClientClosed() {
				return
			}
		}
	})
	defer polling.Wait()
	defer cl.Close()
	for c.t.Context().Err() == nil {
		select {
		case <-refused:
			return false
		default:
		}
		var list []groupMembers
		decode(c.t, c.do("group", "members", group, "--json"), &list)
		if len(list[0].Members) == 3 && list[0].State == "Stable" {
			return true
		}
	}
	c.t.Fatal("the newcomer is neither in nor out")
	return false
}

// TestUpgradeCheckOnAnotherKafka: which tells of each list what is selected.
func TestUpgradeCheckOnAnotherKafka(t *testing.T) {
	versions := newKafka()
	versions[32], versions[68] = 4, 1
	f, c := startGroups(t, versions)
	f.orders()
	got := c.check(0, "orders")
	if got.Runs.Protocol != "EAGER" || got.Runs.Told || got.Broker.Kind != "other" || got.Members[0].Offers != nil || !got.Broker.Consumer {
		t.Errorf("%+v", got)
	}
	verdicts := []upgrade.Verdict{}
	for _, r := range got.Restarts {
		verdicts = append(verdicts, r.Verdict)
	}
	if !slices.Equal(verdicts, []upgrade.Verdict{upgrade.Go, upgrade.Go, upgrade.Unclear, upgrade.Go}) {
		t.Errorf("%v", verdicts)
	}
	c.want(c.fail(4, "", "group", "upgrade-check", "orders", "--client", "stock", "--to", "cooperative-sticky"), "cannot be told", "partition.assignment.strategy")
	c.want(c.do("group", "upgrade-check", "orders"), "not told", "not Skein", "Skein's consumer with [range, cooperative-sticky]\n    2. the old code with [range]")
	c.check(0, "orders", "--to", "consumer")
	c.want(c.fail(1, "", "group", "upgrade-check", "ordrs"), `did you mean "orders"?`)
	c.want(c.fail(2, "", "group", "upgrade-check", "orders", "--client", "java"), "skein or stock")
	c.want(c.fail(2, "", "group", "upgrade-check", "orders", "--to", "range,range"), "twice")
	c.want(c.fail(2, "", "group", "upgrade-check", "orders", "--to", ""), "at least one assignor")

	f.groups["orders"].kind = "consumer"
	if got := c.check(0, "orders", "--to", "java"); got.Runs.Protocol != "COOPERATIVE" || got.Restarts[0].Rows[0] != "M23" {
		t.Errorf("%+v", got)
	}
}

// TestUpgradeCheckWaitsForTheGroupToSettle, as long as --timeout says.
func TestUpgradeCheckWaitsForTheGroupToSettle(t *testing.T) {
	versions := newKafka()
	versions[32] = 4
	f, c := startGroups(t, versions)
	f.orders()
	f.groups["orders"].state = "PreparingRebalance"
	c.want(c.fail(4, "", "group", "upgrade-check", "orders", "--timeout", "300ms"), "is rebalancing (PreparingRebalance)", "--timeout", "remove-member orders --member ID")
	f.stopped()
	c.want(c.do("group", "upgrade-check", "orders"), "Protocol:    none\n  the group has no members, and so it runs nothing\n", "whoever comes first decides")
	if got := c.check(0, "orders", "--to", "old"); got.Restarts[0].Verdict != upgrade.Go || len(got.Members) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestUpgradeCheckReadsTheBrokersSettings: without union admission nobody comes in by what members hold back.
func TestUpgradeCheckReadsTheBrokersSettings(t *testing.T) {
	c := startClusterWith(t, broker.Config{Settings: map[string]string{
		"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1", "skein.group.union.admission": "false", "skein.group.persist.protocols": "false",
	}})
	c.do("topic", "create", "orders")
	c.member("app", "orders", "one", 0)
	c.settled("app", 1)
	c.want(c.do("group", "upgrade-check", "app"), "skein.group.union.admission=false", "skein.group.persist.protocols=false", "1. Skein's consumer with [range, cooperative-sticky]")
}
