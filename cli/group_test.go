package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/groups"
)

func TestGroupsAreListed(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	f.groups["night"] = &fakeGroup{kind: "consumer", state: "Empty"}
	f.groups["shared"] = &fakeGroup{kind: "share", state: "Stable"}
	want := "GROUP   STATE   TYPE      PROTOCOL  COORDINATOR\nnight   Empty   consumer  consumer  1\norders  Stable  classic   consumer  1\nshared  Stable  share     consumer  1\n"
	if got := c.do("group", "list"); got != want {
		t.Errorf("got %s", got)
	}
	for args, want := range map[string]string{
		"--state stable": "orders,shared", "--state Stable,Empty --type classic,Consumer": "night,orders", "n*": "night", "o* --type share": "",
	} {
		var list []groups.Listed
		decode(t, c.do(append([]string{"group", "list", "--json"}, strings.Fields(args)...)...), &list)
		var names []string
		for _, g := range list {
			names = append(names, g.Group)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	s := c.shell("")
	s.run(t.Context(), "group", "list", "zz*")
	c.want(s.stderr.String(), "no group matches; there are 3 others")
	c.want(c.fail(2, "", "group", "list", "--state", "Stabel"), `no state "Stabel"`, `"Stable"`)
	c.want(c.fail(2, "", "group", "list", "--type", "xyz"), `no type "xyz"`, "there are: classic")
}

// TestOldBrokersAreAskedForWhatTheyDoNotTell: Kafka 2.0 lists neither states nor types.
func TestOldBrokersAreAskedForWhatTheyDoNotTell(t *testing.T) {
	f, c := startGroups(t, oldKafka())
	f.orders()
	c.want(c.do("group", "list", "--state", "stable"), "orders  Stable  classic")
	c.want(c.do("group", "describe", "orders"), "State:       Stable", "orders  0          90         0      100  10   -        app-1-f00")
	c.want(c.fail(1, "", "group", "describe", "ordes"), `there is no group "ordes"`, `did you mean "orders"?`)
	c.want(c.do("group", "remove-member", "orders", "--all"), "took app-1-f00 out", "took blue-bad out")
	if len(f.requests) != 2 {
		t.Errorf("%d requests: an old broker takes members out one at a time", len(f.requests))
	}
}

func TestAGroupIsDescribed(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	out := c.do("group", "describe", "orders")
	c.want(out, "Group:       orders", "State:       Stable", "Type:        classic", "Assignor:    range", "Members:     2", "Coordinator: 1 (127.0.0.1:",
		"Lag:         10, and 1463 blocked by open transactions, 1 partition without a committed offset",
		"app-1-f00  -         app-1   10.0.0.1  2", "blue-bad   blue      app-2   10.0.0.2  2",
		"orders  0          90         0      100  10   -        app-1-f00  4      half",
		"orders  1          200        50     200  0    1463     app-1-f00  -      -",
		"orders  2          0          22     22   0    -        blue-bad", "orders  3          -          0      7    -    -        blue-bad")
	if strings.Contains(out, "Generation") || strings.Contains(out, "CAUSE") {
		t.Errorf("Kafka tells neither generation nor history:\n%s", out)
	}
	var described []groupDescription
	decode(t, c.do("group", "describe", "orders", "--json", "--isolation", "read_uncommitted"), &described)
	d := described[0]
	if len(described) != 1 || d.Lag != 1473 || d.Blocked != 0 || d.Uncommitted != 1 || d.Rebalances != nil || d.Coordinator.ID != 1 {
		t.Fatalf("%+v", d)
	}
	if m := d.Members[0]; m.Assigned.String() != "orders:0-1" || m.Owned.String() != "orders:0" || *m.Generation != 6 || m.Subscribed[0] != "orders" {
		t.Errorf("%+v", m)
	}
	if p := d.Partitions[0]; *p.Committed != 90 || *p.LeaderEpoch != 4 || p.Metadata != "half" || p.Member != "app-1-f00" {
		t.Errorf("%+v", p)
	}
}

func TestGroupsOfTheNewProtocolAreDescribed(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	f.groups["orders"].kind = "consumer"
	c.want(c.do("group", "describe", "orders"), "Type:        consumer (assigned by the coordinator)", "Assignor:    uniform", "Generation:  12", "orders  1          200")
	c.want(c.do("group", "members", "orders", "--verbose"), "Member:      app-1-f00", "Generation:  12", "Assigned:    orders:0-1")
	f.groups["orders"].kind = "share"
	c.want(c.fail(1, "", "group", "describe", "orders"), "is a share group, which skein does not know")
}

func TestOneGroupsFailureDoesNotHideTheOthers(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	c.want(c.fail(1, "", "group", "lag", "nobody", "orders"), `there is no group "nobody"`, "lag of orders: 10, and 1463 blocked by open transactions")
	f.refuse[15] = kerr.GroupAuthorizationFailed
	c.want(c.fail(1, "", "group", "describe", "orders"), "cannot describe the group orders", "ask the cluster's operator for an ACL")
}

func TestMembersAreShown(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	if got, want := c.do("group", "members", "orders"), "MEMBER     INSTANCE  CLIENT  HOST      PARTITIONS\napp-1-f00  -         app-1   10.0.0.1  2\nblue-bad   blue      app-2   10.0.0.2  2\n"; got != want {
		t.Errorf("got %s", got)
	}
	c.want(c.do("group", "members", "orders", "--verbose"), "Member:      app-1-f00", "Subscribed:  orders", "Owned:       orders:0\n", "Assigned:    orders:0-1", "Instance:    blue")
	var list []groupMembers
	decode(t, c.do("group", "members", "orders", "--json"), &list)
	if len(list) != 1 || len(list[0].Members) != 2 || list[0].Members[1].InstanceID != "blue" {
		t.Errorf("%+v", list)
	}
	f.stopped()
	s := c.shell("")
	s.run(t.Context(), "group", "members", "orders")
	c.want(s.stderr.String(), "the group orders has no members (Empty)")
}

func TestLagIsToldByPartitionAndInAll(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	f.groups["orders"].commits[place{"gone", 0}] = fakeCommit{offset: 4}
	c.want(c.do("group", "lag", "orders"), "TOPIC   PARTITION  COMMITTED  START  END  LAG  BLOCKED  MEMBER", "gone    0          4          -      -    -    -        -          the topic does not exist",
		"lag of orders: 10, and 1463 blocked by open transactions, 1 partition without a committed offset, 1 partition whose end nobody tells")
	c.want(c.do("group", "lag", "orders", "--topic", "orders:0,2"), "lag of orders: 10\n")
	c.want(c.fail(1, "", "group", "lag", "orders", "--topic", "oders"), `no offsets of the topic "oders"`, `"orders"`)
	f.groups["slow"] = &fakeGroup{kind: "classic", state: "Empty", commits: map[place]fakeCommit{{"orders", 1}: {50, -1, ""}}}
	f.groups["shared"] = &fakeGroup{kind: "share", state: "Stable"}
	sums := "GROUP   STATE   PARTITIONS  LAG  BLOCKED  NOTE\nslow    Empty   1           150  1463\norders  Stable  5           10   1463     1 partition without a committed offset, 1 partition whose end nobody tells\n"
	if got := c.do("group", "lag", "--all"); got != sums {
		t.Errorf("got\n%s", got)
	}
	c.want(c.do("group", "lag", "--all", "--topic", "gone"), "slow    Empty   0           0")
	var list []laggingGroup
	decode(t, c.do("group", "lag", "orders", "--json", "--isolation", "read-uncommitted"), &list)
	if len(list) != 1 || list[0].Lag != 1473 || list[0].Blocked != 0 || list[0].Unknown != 1 || len(list[0].Partitions) != 5 {
		t.Errorf("%+v", list)
	}
}

func TestHistoryNeedsASkeinBroker(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	c.want(c.fail(1, "", "group", "history", "orders"), "does not tell why groups rebalance: it is no Skein broker", "only Skein brokers keep that")
	f.groups["orders"].tag = []byte{1} // an empty list
	s := c.shell("")
	if code := s.run(t.Context(), "group", "history", "orders"); code != 0 {
		t.Errorf("exit %d", code)
	}
	c.want(s.stderr.String(), "has not rebalanced yet (Stable)")
}

func TestHistoryTellsWhoAndWhy(t *testing.T) {
	ms := int64(3005)
	var b strings.Builder
	rebalancesTable(&b, []groups.Rebalance{
		{At: time.UnixMilli(1_700_000_000_000).UTC(), Generation: 1, Cause: "member joined", Member: "app-1-f00", Protocol: "range", Members: 1, Joining: &ms, Syncing: new(int64)},
		{At: time.UnixMilli(1_700_000_060_000).UTC(), Generation: 2, Cause: "session expired", Member: "blue-bad", InstanceID: "blue", Members: 2, Joining: &ms},
		{At: time.UnixMilli(1_700_000_090_000).UTC(), Generation: 3, Cause: "member left", Member: "app-1-f00", Reason: "the consumer is being closed"},
	})
	want := `SINCE                 GENERATION  MEMBERS  PROTOCOL  TOOK    CAUSE            MEMBER     CLIENT SAYS
2023-11-14T22:13:20Z  1           1        range     3.005s  member joined    app-1-f00
2023-11-14T22:14:20Z  2           2        -         -       session expired  blue
2023-11-14T22:14:50Z  3           0        -         -       member left      app-1-f00  the consumer is being closed
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestGroupSlipsAreCaught(t *testing.T) {
	for _, c := range []struct{ args, what, do string }{
		{"group lst", `skein group has no command "lst"`, `"list"`},
		{"group describe", "needs the name of a group", "usage"},
		{"group history a b", "nothing else", ""},
		{"group lag", "needs the name of a group, or --all", ""},
		{"group lag g --all", "--all and the names", "keep one"},
		{"group lag g --isolation dirty", "not a level", "read_committed"},
		{"group lag g --topic t:x", `"x" in "t:x" is not a partition`, "TOPIC:0,1"},
		{"group reset-offsets g --all-topics", "where to", "--to-earliest"},
		{"group reset-offsets g --to-earliest", "which topics", "--all-topics"},
		{"group reset-offsets g --to-earliest --to-latest --all-topics", "--to-earliest and --to-latest", "keep one"},
		{"group reset-offsets g --to-earliest --all-topics --topic t", "--all-topics and --topic", "keep one"},
		{"group reset-offsets g --to-offset -1 --all-topics", "--to-offset -1 is not an offset", "--shift-by"},
		{"group reset-offsets g --to-offset soon --all-topics", `"soon" is not a whole number`, ""},
		{"group reset-offsets g --to-datetime noon --all-topics", "--to-datetime", "UTC"},
		{"group reset-offsets g --by-duration 5 --all-topics", `"5" is not a duration`, "PT1H30M"},
		{"group reset-offsets g --from-file /no/such/file", "no such file", ""},
		{"group reset-offsets g --from-file x --topic t", "cannot read the offsets", ""},
		{"group reset-offsets g --to-latest --all-topics --export --json", "--export writes lines", ""},
		{"group remove-member g", "who is to leave", "--all"},
		{"group remove-member g --all --member x", "--all and the names", ""},
		{"group remove-member g --all --reason " + strings.Repeat("x", 250), "too long", "shorter"},
	} {
		var s shell
		code := s.run(t.Context(), strings.Fields(c.args)...)
		if out := s.stderr.String(); code != 2 || !strings.Contains(out, c.what) || !strings.Contains(out, c.do) || s.stdout.String() != "" {
			t.Errorf("skein %s: exit %d\n%s%s", c.args, code, out, s.stdout.String())
		}
	}
}

func TestDurationsAreReadInBothForms(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "0s": 0, "P7D": 168 * time.Hour, "PT1H": time.Hour, "P1DT2H3M4.5S": 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, "pt5m": 5 * time.Minute,
	} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "5", "-5m", "P", "PT", "P1D2H", "P-1D", "PT-1H", "P1W", "P99999999999D", "P1DT", "PT1X", "soon"} {
		if got, err := parseAge(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestGroupVerbsEndWhenInterrupted(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	ctx, cancel := context.WithCancel(t.Context())
	f.refuse[15] = kerr.CoordinatorLoadInProgress // for ever: the client asks again and again
	s := c.shell("")
	done := make(chan int)
	go func() { done <- s.run(ctx, "group", "describe", "orders", "--timeout", "5m") }()
	cancel()
	if code := <-done; code != 130 || s.stderr.String() != "" {
		t.Errorf("exit %d: %s", code, s.stderr.String())
	}
}

func TestCompletionOffersTheClustersGroups(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	for _, verb := range []string{"describe", "members", "lag", "history", "reset-offsets", "delete", "remove-member", "list"} {
		c.want(c.do("__complete", "group", verb, "or"), "orders\n", ":4")
	}
	c.want(c.do("__complete", "group", "lag", "orders", "--topic", "or"), "orders\n")
	c.want(c.do("__complete", "group", "list", "--state", "S"), "Stable\n")
}

// TestALargeGroupIsShown: as large as they come (FR-B10).
func TestALargeGroupIsShown(t *testing.T) {
	const members, partitions = 7000, 20000
	f, c := startGroups(t, newKafka())
	f.topics["t"] = make([]fakeLog, partitions)
	g := &fakeGroup{kind: "classic", state: "Stable", commits: map[place]fakeCommit{}}
	for i := range members {
		g.members = append(g.members, fakeMember{id: fmt.Sprintf("m-%04d", i), client: "c", host: "/10.0.0.1", topics: []string{"t"}, assigned: map[string][]int32{}})
	}
	for p := range int32(partitions) {
		f.topics["t"][p] = fakeLog{0, 10, 10}
		g.commits[place{"t", p}] = fakeCommit{offset: 7, epoch: -1}
		has := g.members[p%members].assigned
		has["t"] = append(has["t"], p)
	}
	f.groups["large"] = g
	var list []groupDescription
	decode(t, c.do("group", "describe", "large", "--json", "--timeout", "1m"), &list)
	if d := list[0]; len(d.Members) != members || len(d.Partitions) != partitions || d.Lag != 3*partitions || d.Partitions[partitions-1].Member != "m-5999" {
		t.Errorf("%d members, %d partitions, lag %d", len(d.Members), len(d.Partitions), d.Lag)
	}
	c.want(c.do("group", "describe", "large", "--timeout", "1m"), "Members:     7000", "Lag:         60000", "t      19999      7")
	f.groups["large"].members, f.groups["large"].state = nil, "Empty"
	c.want(c.do("group", "reset-offsets", "large", "--all-topics", "--to-earliest", "--execute", "--timeout", "1m"), "reset 20000 partitions of the group large")
}

// Whatever clients call themselves, and whatever a cluster says, it does not steer the terminal.
func TestNamesOfOthersDoNotSteerTheTerminal(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	const clear = "\x1b[2J"
	g := f.groups["orders"]
	f.groups[clear] = g
	for i := range g.members {
		m := &g.members[i]
		m.id, m.client, m.host, m.instance = m.id+clear, m.client+clear, m.host+clear, m.instance+clear
	}
	f.refuse[13] = kerr.UnknownMemberID
	for _, args := range []string{
		"list", "describe orders", "members orders", "members orders --verbose", "lag orders", "describe " + clear, "members " + clear, "lag " + clear,
		"remove-member orders --all --dry-run", "remove-member orders --all", "remove-member orders --instance-id blu", "remove-member orders --instance-id x",
		"remove-member orders --member x", "delete orders " + clear, "reset-offsets " + clear + " --all-topics --to-earliest", "history orders",
	} {
		s := c.shell("")
		s.run(t.Context(), append([]string{"group"}, strings.Fields(args)...)...)
		if out := s.stdout.String() + s.stderr.String(); strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("group %q: %q", args, out)
		}
	}
}
