package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const groupFile = `{"group": "orders", "members": [
  {"id": "app-1", "topics": ["orders"], "owned": {"orders": [0, 1, 2]}},
  {"id": "app-2", "topics": ["orders"], "owned": {"orders": [3, 4, 5]}}],
 "topics": [{"name": "orders", "partitions": 6, "weights": [9, 1, 1, 1, 1, 1]}]}`

func writeGroup(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "group.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSimulateShowsWhoLosesWhat(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "picture.svg")
	s := shell{stdin: groupFile}
	if code := s.run(t.Context(), "assign", "simulate", "-", "--join", "app-3", "--all", "--picture", picture); code != 0 {
		t.Fatalf("exit %d: %s", code, s.stderr.String())
	}
	for _, want := range []string{
		"app-1   3    2     1      0", "app-3   0    2     0      2     joins",
		"cooperative-sticky: 4 stay, 2 move, 0 had no owner; 2 rounds", "proven", "orders-2   app-1  app-3",
	} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, s.stdout.String())
		}
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("picture: %.40s, %v", text, err)
	}
}

func TestSimulateSpeaksJSON(t *testing.T) {
	var s shell
	if code := s.run(t.Context(), "assign", "simulate", writeGroup(t, groupFile), "--assignor", "weighted", "--json"); code != 0 {
		t.Fatalf("exit %d: %s", code, s.stderr.String())
	}
	var out struct {
		Gap struct{ Bound, Reached int64 }
	}
	if err := json.Unmarshal([]byte(s.stdout.String()), &out); err != nil || out.Gap.Bound != 9 || out.Gap.Reached != 9 {
		t.Errorf("%+v, %v: %s", out, err, s.stdout.String())
	}
}

func TestVerifyProvesOrShowsWhatIsBetter(t *testing.T) {
	var good shell
	if code := good.run(t.Context(), "assign", "verify", writeGroup(t, groupFile)); code != 0 || !strings.Contains(good.stdout.String(), "proven") {
		t.Errorf("exit %d: %s%s", code, good.stdout.String(), good.stderr.String())
	}
	plan := `"plan": {"app-1": {"orders": [0, 1, 2, 3]}, "app-2": {"orders": [4, 5]}}}`
	var bad shell
	if code := bad.run(t.Context(), "assign", "verify", writeGroup(t, strings.TrimSuffix(groupFile, "}")+", "+plan)); code != 1 || !strings.Contains(bad.stdout.String(), "one of orders from app-1 to app-2") {
		t.Errorf("exit %d: %s%s", code, bad.stdout.String(), bad.stderr.String())
	}
}

func TestExplainTellsWhyNot(t *testing.T) {
	file := writeGroup(t, groupFile)
	var s shell
	if code := s.run(t.Context(), "assign", "explain", file, "orders-1", "--join", "app-3"); code != 0 {
		t.Fatalf("exit %d: %s", code, s.stderr.String())
	}
	for _, want := range []string{"orders-1 stays with its owner app-1", "not app-2: more moves: 3 in all", "not app-3: it would be as good"} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, s.stdout.String())
		}
	}
	var crowded shell
	crowded.run(t.Context(), "assign", "explain", file, "orders-1", "--join", "app-3=orders,other")
	if !strings.Contains(crowded.stdout.String(), "not app-2") {
		t.Errorf("%s", crowded.stdout.String())
	}
}

func TestAssignMistakesAreNamed(t *testing.T) {
	file := writeGroup(t, groupFile)
	for _, c := range []struct{ args, what, do string }{
		{"assign simulate " + file + " --assignor stickie", `no assignor "stickie"`, "sticky"},
		{"assign simulate " + file + " --leave nobody", `no member "nobody"`, "there are: app-1, app-2"},
		{"assign simulate " + file + " --racks first", "no place for racks", "before-moves"},
		{"assign simulate " + file + " --picture x.png", "no kind of picture", ".svg"},
		{"assign simulate missing.json", "cannot read the group", ""},
		{"assign explain " + file + " orders", "not a partition", "TOPIC-NUMBER"},
		{"assign explain " + file + " orders-99", "no such partition: orders-99", "orders has 6 partitions, counted from 0"},
		{"assign explain " + file + " oders-1", `no topic "oders"`, `"orders"`},
		{"assign explain " + file + " orders-1 --leave app-3", `no member "app-3"`, `"app-1"`},
		{"assign explain " + file, "needs a file with a group and a partition", ""},
	} {
		var s shell
		if code := s.run(t.Context(), strings.Fields(c.args)...); code == 0 || !strings.Contains(s.stderr.String(), c.what) || !strings.Contains(s.stderr.String(), c.do) {
			t.Errorf("%s: exit %d: %s", c.args, code, s.stderr.String())
		}
	}
}

// TestPlanNeedsSubscriptions: while a group rebalances, brokers tell what its members have and not what they want.
func TestPlanNeedsSubscriptions(t *testing.T) {
	f, c := startGroups(t, newKafka())
	f.orders()
	c.want(c.do("assign", "plan", "orders", "--assignor", "sticky"), "sticky: 4 stay", "app-1-f00")
	c.want(c.fail(1, "", "assign", "plan", "ordes"), `there is no group "ordes"`, `did you mean "orders"?`)
	c.want(c.fail(1, "", "assign", "plan", "xyzzy"), `there is no group "xyzzy"`, "`skein group list` shows the groups that there are")
	for _, state := range []string{"PreparingRebalance", "CompletingRebalance"} {
		f.groups["orders"].state = state
		c.want(c.fail(1, "", "assign", "plan", "orders"), "the group orders is rebalancing ("+state+")", "try again in a moment")
	}
	f.groups["orders"].state = "Stable"
	for i := range f.groups["orders"].members {
		f.groups["orders"].members[i].topics = nil
	}
	if out := c.do("assign", "plan", "orders"); strings.Contains(out, "nobody subscribes") {
		t.Errorf("partitions that the group has nothing to do with are told of:\n%s", out)
	}
}
