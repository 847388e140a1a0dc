package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/groups"
)

func TestAResetShowsFirstAndDoesWhenTold(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	before := f.offsets("orders")
	args := []string{"group", "reset-offsets", "orders", "--topic", "orders:0,1,3", "--shift-by", "-100"}
	out := c.fail(1, "", args...)
	c.want(out, "orders  3          -    -    -       nothing is committed that could be shifted", "1 of 3 partitions of the group orders cannot be reset")
	args[4] = "orders:0,1"
	c.want(c.do(args...), "TOPIC   PARTITION  OLD  NEW  CHANGE  NOTE", "orders  0          90   0    -90     -10 is before the log, which begins at 0", "orders  1          200  100  -100\n", "nothing has changed: --execute does it")
	if got := f.offsets("orders"); !maps.Equal(got, before) || len(f.requests) > 0 {
		t.Fatalf("a dry run has changed %v", got)
	}
	c.want(c.do(append(args, "--execute")...), "reset 2 partitions of the group orders")
	before[place{"orders", 0}], before[place{"orders", 1}] = 0, 100
	if got := f.offsets("orders"); !maps.Equal(got, before) {
		t.Errorf("%v, want %v", got, before)
	}
}

func TestEveryWayToSayWhere(t *testing.T) {
	f, c := startGroups(t, newKafka())
	for args, want := range map[string][]int64{
		"--to-earliest":                              {0, 50, 22},
		"--to-latest":                                {100, 1663, 22},
		"--to-current":                               {90, 200, 22},
		"--to-offset 60":                             {60, 60, 22},
		"--shift-by 5":                               {95, 205, 22},
		"--to-datetime 55000":                        {55, 55, 22},
		"--to-datetime @99000":                       {99, 99, 22},
		"--to-datetime 1970-01-01T00:01:00.5Z":       {61, 61, 22},
		"--by-duration P3650D":                       {100, 1663, 22},
		"--to-datetime 1970-01-01T00:00:00 --export": {0, 50, 22},
	} {
		f.stopped()
		c.do(append([]string{"group", "reset-offsets", "orders", "--all-topics", "--execute"}, strings.Fields(args)...)...)
		got := f.offsets("orders")
		for p, offset := range want {
			if got[place{"orders", int32(p)}] != offset {
				t.Errorf("%s: %v, want %v", args, got, want)
				break
			}
		}
	}
	f.stopped()
	c.do("group", "reset-offsets", "orders", "--topic", "orders", "--to-latest", "--execute")
	if got := f.offsets("orders"); got[place{"orders", 3}] != 7 {
		t.Errorf("%v: a topic stands for all its partitions", got)
	}
}

func TestWhatStaysKeepsItsMetadata(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	c.do("group", "reset-offsets", "orders", "--all-topics", "--to-current", "--execute")
	if got := f.groups["orders"].commits[place{"orders", 0}]; got != (fakeCommit{90, 4, "half"}) {
		t.Errorf("%+v", got)
	}
	c.do("group", "reset-offsets", "orders", "--all-topics", "--to-offset", "91", "--execute")
	if got := f.groups["orders"].commits[place{"orders", 0}]; got != (fakeCommit{91, -1, ""}) {
		t.Errorf("%+v", got)
	}
}

func TestOffsetsTravelThroughAFile(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	lines := c.do("group", "reset-offsets", "orders", "--all-topics", "--to-current", "--export")
	if want := "orders,0,90\norders,1,200\norders,2,22\n"; lines != want {
		t.Errorf("got %s", lines)
	}
	file := filepath.Join(t.TempDir(), "offsets.csv")
	if err := os.WriteFile(file, []byte("orders,0,7\norders,3,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.want(c.do("group", "reset-offsets", "orders", "--from-file", file, "--execute"), "reset 2 partitions")
	c.want(c.feed(lines, "group", "reset-offsets", "copy", "--from-file", "-", "--execute", "--create"), "reset 3 partitions of the group copy")
	if got := f.offsets("orders"); got[place{"orders", 0}] != 7 || got[place{"orders", 3}] != 5 || got[place{"orders", 1}] != 200 {
		t.Errorf("%v", got)
	}
	if got := f.offsets("copy"); got[place{"orders", 1}] != 200 || len(got) != 3 {
		t.Errorf("%v", got)
	}
	c.want(c.fail(2, "orders,0,x\n", "group", "reset-offsets", "orders", "--from-file", "-"), `line 1: "x" is not an offset`, "TOPIC,PARTITION,OFFSET")
	c.want(c.fail(1, "nowhere,0,1\norders,9,1\n", "group", "reset-offsets", "orders", "--from-file", "-", "--execute"), "the topic does not exist", "2 of 2 partitions", "take their lines out of the file")
}

func TestARunningGroupKeepsItsOffsets(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	args := []string{"group", "reset-offsets", "orders", "--all-topics", "--to-earliest"}
	s := c.shell("")
	if code := s.run(t.Context(), args...); code != 0 {
		t.Errorf("exit %d", code)
	}
	c.want(s.stderr.String(), "the group orders is Stable with 2 members: --execute will be refused")
	c.want(c.fail(1, "", append(args, "--execute")...), "the group orders is Stable with 2 members", "remove-member orders --all")
	if len(f.requests) > 0 {
		t.Errorf("%T", f.requests[0])
	}
	f.stopped()
	f.refuse[8] = kerr.UnknownMemberID // somebody joined in between
	c.want(c.fail(1, "", append(args, "--execute")...), "cannot reset the group orders", "UNKNOWN_MEMBER_ID", "the group has members")
}

func TestResetSlipsAreNamed(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	f.groups["fresh"] = &fakeGroup{kind: "classic", state: "Empty"}
	for _, s := range []struct {
		code           int
		args, what, do string
	}{
		{1, "ordes --all-topics", `there is no group "ordes"`, `"orders"`},
		{1, "xyzzy --topic orders", `there is no group "xyzzy"`, "--create"},
		{1, "orders --topic oders", `there is no topic "oders"`, `"orders"`},
		{2, "orders --topic orders:9", "topic orders has no partition 9", "it has 4, counted from 0"},
		{1, "fresh --all-topics", "the group fresh has committed nothing", "--topic"},
	} {
		c.want(c.fail(s.code, "", append([]string{"group", "reset-offsets", "--to-earliest"}, strings.Fields(s.args)...)...), s.what, s.do)
	}
	c.want(c.fail(1, "", "group", "reset-offsets", "fresh", "--topic", "orders", "--shift-by", "1"), "4 of 4 partitions", "say where to begin")
	var out resetGroup
	decode(t, c.do("group", "reset-offsets", "orders", "--topic", "orders", "--to-earliest", "--json"), &out)
	if !out.DryRun || out.Group != "orders" || len(out.Partitions) != 4 || *out.Partitions[0].Old != 90 || *out.Partitions[0].New != 0 || out.Partitions[3].Old != nil {
		t.Errorf("%+v", out)
	}
}

func TestGroupsAreDeletedOneByOne(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	f.groups["old"], f.groups["orders"] = f.groups["orders"], nil
	f.orders()
	out := c.fail(1, "", "group", "delete", "old", "orders", "odl")
	c.want(out, "would delete group old (Empty) with 3 committed offsets", "nothing has changed: --execute does it",
		"cannot delete the group orders", "NON_EMPTY_GROUP", "stop them first", `there is no group "odl"`, `"old"`)
	if len(f.requests) > 0 || len(f.groups) != 2 {
		t.Fatal("a dry run has deleted something")
	}
	var list []groups.Deleted
	s := c.shell("")
	if code := s.run(t.Context(), "group", "delete", "old", "orders", "nobody", "--execute", "--json", "--if-exists"); code != 1 {
		t.Errorf("exit %d", code)
	}
	decode(t, s.stdout.String(), &list)
	if len(list) != 3 || !list[0].Deleted || list[0].Offsets != 3 || list[1].Deleted || list[1].Error == "" || list[1].Members != 2 || list[2].Deleted || list[2].Error != "" {
		t.Errorf("%+v", list)
	}
	if f.groups["old"] != nil || f.groups["orders"] == nil {
		t.Error("the wrong group is gone")
	}
	c.want(c.do("group", "delete", "nobody", "--execute", "--if-exists"), "group nobody does not exist")
	f.stopped()
	c.want(c.do("group", "delete", "orders", "--execute"), "deleted group orders with 3 committed offsets")
	f.stopped()
	f.refuse[42] = kerr.NonEmptyGroup // somebody joined in between
	c.want(c.fail(1, "", "group", "delete", "orders", "--execute"), "cannot delete the group orders", "stop them first")
}

func TestOffsetsOfATopicAreDeleted(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.stopped()
	c.want(c.do("group", "delete", "orders", "--topic", "orders:0,1"), "would delete offset 90 of group orders in orders partition 0", "nothing has changed")
	if len(f.requests) > 0 {
		t.Fatal("a dry run has changed something")
	}
	c.want(c.do("group", "delete", "orders", "--topic", "orders:0,1", "--execute"), "deleted offset 200 of group orders in orders partition 1")
	if got := f.offsets("orders"); len(got) != 1 {
		t.Errorf("%v", got)
	}
	c.want(c.fail(1, "", "group", "delete", "orders", "--topic", "oders"), `has committed nothing there for the topic "oders"`, "--if-exists")
	c.want(c.fail(1, "", "group", "delete", "ordes", "--topic", "orders"), `there is no group "ordes"`)
	f.orders()
	c.want(c.fail(1, "", "group", "delete", "orders", "--topic", "orders", "--execute"), "kept offset 90", "cannot delete 3 of 3 offsets", "subscribe to the topic")
}

func TestMembersAreTakenOut(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	c.want(c.do("group", "remove-member", "orders", "--all", "--dry-run"), "would take blue (blue-bad) out (client app-2 at 10.0.0.2)", "would take app-1-f00 out")
	c.want(c.do("group", "remove-member", "orders", "--instance-id", "blue", "--reason", "host replaced"), "took blue (blue-bad) out")
	r := f.requests[0].(*kmsg.LeaveGroupRequest)
	if m := r.Members[0]; len(r.Members) != 1 || m.MemberID != "" || *m.InstanceID != "blue" || *m.Reason != "member was removed by an admin: host replaced" {
		t.Errorf("%+v", m)
	}
	c.want(c.fail(1, "", "group", "remove-member", "orders", "--instance-id", "blau"), `no member with the instance id "blau"`, "no static members")
	c.want(c.fail(1, "", "group", "remove-member", "orders", "--member", "app-1-f0O"), `no member "app-1-f0O"`, `"app-1-f00"`)
	var list []groups.Removed
	decode(t, c.do("group", "remove-member", "orders", "--member", "app-1", "--member", "app-1-f00", "--json"), &list)
	if len(list) != 1 || !list[0].Removed || list[0].Member != "app-1-f00" {
		t.Errorf("%+v", list)
	}
	s := c.shell("")
	if code := s.run(t.Context(), "group", "remove-member", "orders", "--all"); code != 0 {
		t.Errorf("exit %d", code)
	}
	c.want(s.stderr.String(), "has no members")
}
