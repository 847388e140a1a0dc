package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/upgrade"
)

// What a message says to do is true where it is said.

// Of a group without members nobody can be named, and nobody has to be.
func TestNobodyIsTakenOutOfAnEmptyGroup(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders")
	c.do("group", "reset-offsets", "app", "--topic", "orders", "--to-earliest", "--create", "--execute")
	for _, who := range []string{"--member", "--instance-id"} {
		out := c.fail(1, "", "group", "remove-member", "app", who, "app-1")
		c.want(out, "the group app has no members (Empty)", `no "app-1"`, "it can be deleted")
		if strings.Contains(out, "skein group members") || strings.Contains(out, "name one with --member") {
			t.Errorf("%s: %s", who, out)
		}
	}
	c.do("group", "remove-member", "app", "--all")
	c.want(c.do("group", "delete", "app", "--execute"), "deleted group app")
}

// TestRefusalsOfMembersSayWhatHelps: a member that has gone by itself is no reason to ask for rights, and the other way round.
func TestRefusalsOfMembersSayWhatHelps(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	f.refuse[13] = kerr.UnknownMemberID
	c.want(c.fail(1, "", "group", "remove-member", "orders", "--all"), "it has left already", "`skein group members orders` shows who is there now")
	f, c = startGroups(t, oldKafka()) // which says of each what it says of the group
	f.orders()
	f.refuse[13] = kerr.GroupAuthorizationFailed
	c.want(c.fail(1, "", "group", "remove-member", "orders", "--all"), "GROUP_AUTHORIZATION_FAILED", "ask the cluster's operator for an ACL")
}

// A group of Kafka Connect, say, has no assignor that could be listed.
func TestGroupsOfOthersAreNotForConsumers(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders")
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.address))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = "workers", "connect", 30_000, 30_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "sessioned"}}
	joined, err := join.RequestWith(t.Context(), cl)
	if err == nil && joined.ErrorCode == kerr.MemberIDRequired.Code {
		join.MemberID = joined.MemberID
		joined, err = join.RequestWith(t.Context(), cl)
	}
	if err != nil || joined.ErrorCode != 0 {
		t.Fatalf("%v, %+v", err, joined)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation, sync.ProtocolType, sync.Protocol = "workers", joined.MemberID, joined.Generation, &join.ProtocolType, joined.Protocol
	if synced, err := sync.RequestWith(t.Context(), cl); err != nil || synced.ErrorCode != 0 {
		t.Fatalf("%v, %+v", err, synced)
	}
	out := c.fail(1, "", "consume", "orders", "--group", "workers")
	c.want(out, `the group workers is not one of consumers: it is of type "connect"`, "choose another group")
	if strings.Contains(out, "--assignors") {
		t.Errorf("it says that an assignor helps:\n%s", out)
	}
}

// A topic that is like none of the group's is no slip of the pen.
func TestWhatAGroupHasIsShownBesideWhatItHasNot(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	c.want(c.fail(1, "", "group", "lag", "orders", "--topic", "telemetry"), `no offsets of the topic "telemetry"`, "`skein group lag orders` shows what it has")
	c.want(c.fail(1, "", "group", "lag", "orders", "--topic", "order"), `did you mean "orders"?`)
}

// Advice is of no use that was taken already, or refers to what is not there.
func TestAdviceFollowsWhatWasDone(t *testing.T) {
	damaged := []repairedLog{{State: logOffline}}
	if hint := hintOf(t, remaining(damaged, false)); !strings.Contains(hint, "--apply repairs") {
		t.Errorf("before a repair: %s", hint)
	}
	if hint := hintOf(t, remaining(damaged, true)); strings.Contains(hint, "--apply") || !strings.Contains(hint, "later version") {
		t.Errorf("after a repair: %s", hint)
	}
	check := upgradeCheck{Group: "g", Restarts: []upgrade.Forecast{{Verdict: upgrade.Stop, Why: []string{"so"}}}}
	if hint := hintOf(t, check.conclude()); hint != "" {
		t.Errorf("where no ways are shown: %s", hint)
	}
	check.Paths = []upgrade.Path{{}}
	if hint := hintOf(t, check.conclude()); hint != "see the ways above" {
		t.Errorf("where some are: %s", hint)
	}
	old, gone := int64(1), groups.Move{Error: "there is no such topic"}
	gone.Old = &old
	for _, c := range []struct {
		moves []groups.Move
		kind  groups.Kind
		want  string
	}{
		{[]groups.Move{{Error: "nothing is committed"}}, groups.ShiftBy, "say where to begin"},
		{[]groups.Move{gone}, groups.ShiftBy, "the notes say why"},
		{[]groups.Move{gone, {}}, groups.ToLatest, "leave them out with --topic"},
		{[]groups.Move{gone}, groups.FromFile, "take their lines out"},
	} {
		if hint := hintOf(t, impossible("g", c.moves, groups.Target{Kind: c.kind})); !strings.HasPrefix(hint, c.want) {
			t.Errorf("%s of %v: %s", c.kind, c.moves, hint)
		}
	}
}

func hintOf(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		t.Fatalf("%v is no advice", err)
	}
	return e.Hint
}
