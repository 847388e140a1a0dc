package commandline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestOffsetsAreResetAsKafkasOwnToolDoes plans every reset with both, does one, and hands files to and fro.
func TestOffsetsAreResetAsKafkasOwnToolDoes(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4} {
		t.Run(on, func(t *testing.T) {
			resets(t, newBoth(t, on))
			if t.Failed() {
				return
			}
			report.Note(t, report.Run, "skein group reset-offsets on "+on, "plans and files as kafka-consumer-groups makes them")
		})
	}
}

func resets(t *testing.T, x both) {
	x.produce("orders", 3, 10)
	cl := x.consumer("app", "orders", "app-1", "")
	x.read(cl, 25)
	x.stable("app", 1)
	x.refused("its offsets are theirs", "group", "reset-offsets", "app", "--all-topics", "--to-earliest", "--execute")
	x.refused("NON_EMPTY_GROUP", "group", "delete", "app", "--execute")
	x.refused("subscribe to the topic", "group", "delete", "app", "--topic", "orders", "--execute")
	cl.Close()
	now := time.Now().UTC()
	for _, to := range [][]string{
		{"--to-earliest"}, {"--to-latest"}, {"--to-current"}, {"--to-offset", "4"}, {"--to-offset", "99"}, {"--shift-by", "-3"}, {"--shift-by", "50"},
		{"--by-duration", "PT1H"}, {"--by-duration", "PT0S"},
		{"--to-datetime", now.Add(-time.Hour).Format("2006-01-02T15:04:05.000")}, {"--to-datetime", now.Add(time.Hour).Format("2006-01-02T15:04:05.000")},
	} {
		ours, theirs := x.planned(to...), x.plannedByKafka(to...)
		if !slices.Equal(ours, theirs) || len(ours) == 0 {
			t.Errorf("%v: skein %v, kafka %v", to, ours, theirs)
		}
	}
	x.files()
	x.skein("group", "reset-offsets", "app", "--all-topics", "--to-offset", "3", "--execute")
	for _, r := range rows(x.kafka("--describe", "--group", "app")) {
		if r["CURRENT-OFFSET"] != "3" || r["LAG"] != "7" {
			t.Errorf("%v", r)
		}
	}
	x.end()
}

// end deletes what is there, piece by piece.
func (x both) end() {
	x.t.Helper()
	x.skein("group", "delete", "app", "--topic", "orders:0", "--execute")
	if left := rows(x.kafka("--describe", "--group", "app")); len(left) != 2 {
		x.t.Errorf("%v", left)
	}
	x.skein("group", "delete", "app")
	if list := x.kafka("--list"); !strings.Contains(list, "app") {
		x.t.Errorf("a dry run has deleted the group: %s", list)
	}
	x.skein("group", "delete", "app", "--execute")
	if list := x.kafka("--list"); strings.Contains(list, "app") {
		x.t.Errorf("the group is still there: %s", list)
	}
	x.refused(`there is no group "app"`, "group", "describe", "app")
}

func (x both) planned(to ...string) (plan []string) {
	x.t.Helper()
	var out struct {
		Partitions []struct {
			Topic     string
			Partition int
			New       *int64 `json:"new_offset"`
		}
	}
	text := x.skein(append([]string{"group", "reset-offsets", "app", "--topic", "orders:0,1", "--json"}, to...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		x.t.Fatalf("%v: %s", err, text)
	}
	for _, p := range out.Partitions {
		plan = append(plan, fmt.Sprint(p.Topic, " ", p.Partition, " ", number(p.New)))
	}
	slices.Sort(plan)
	return plan
}

func (x both) plannedByKafka(to ...string) (plan []string) {
	x.t.Helper()
	for _, r := range rows(x.kafka(append([]string{"--reset-offsets", "--group", "app", "--topic", "orders:0,1", "--dry-run"}, to...)...)) {
		plan = append(plan, r["TOPIC"]+" "+r["PARTITION"]+" "+r["NEW-OFFSET"])
	}
	slices.Sort(plan)
	return plan
}

// files: what one exports the other takes.
func (x both) files() {
	x.t.Helper()
	ours := x.skein("group", "reset-offsets", "app", "--all-topics", "--to-current", "--export")
	theirs := x.kafka("--reset-offsets", "--group", "app", "--all-topics", "--to-current", "--export", "--dry-run")
	if a, b := csvLines(ours), csvLines(theirs); !slices.Equal(a, b) || len(a) == 0 {
		x.t.Errorf("skein exports %q, kafka %q", ours, theirs)
	}
	file := x.write(x.t, "ours.csv", "orders,0,1\norders,1,2\n")
	x.kafka("--reset-offsets", "--group", "app", "--from-file", file, "--execute")
	file = x.write(x.t, "theirs.csv", theirs)
	if out := x.skein("group", "reset-offsets", "app", "--from-file", file); !strings.Contains(out, "orders  0          1 ") {
		x.t.Errorf("%s", out)
	}
}

func csvLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Count(line, ",") == 2 {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestAnOpenTransactionIsNoLag: FR-C18 at a real broker.
func TestAnOpenTransactionIsNoLag(t *testing.T) {
	x := newBoth(t, kafka.V4)
	x.produce("orders", 1, 10)
	x.read(x.consumer("app", "orders", "app-1", "", kgo.FetchIsolationLevel(kgo.ReadCommitted())), 8)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	open, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.TransactionalID("slow"), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := open.ProduceSync(ctx, kgo.StringRecord("in doubt")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if d := x.describe("app"); d.Lag != 2 || d.Blocked != 5 {
		t.Errorf("lag %d, blocked %d; want 2 and 5", d.Lag, d.Blocked)
	}
	if d := x.describe("app", "--isolation", "read_uncommitted"); d.Lag != 7 || d.Blocked != 0 {
		t.Errorf("lag %d, blocked %d; want 7 and 0", d.Lag, d.Blocked)
	}
	if err := open.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	awaitMarkers(ctx, t, open, "orders")
	if d := x.describe("app"); d.Lag != 8 || d.Blocked != 0 { // the marker uses an offset up
		t.Errorf("lag %d, blocked %d; want 8 and 0", d.Lag, d.Blocked)
	}
}

// TestMembersAreTakenOut: a static member that nobody waits for any more, and all others.
func TestMembersAreTakenOut(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4} {
		t.Run(on, func(t *testing.T) { takesOut(t, newBoth(t, on)) })
	}
}

func takesOut(t *testing.T, x both) {
	x.produce("orders", 2, 1)
	gone := x.consumer("app", "orders", "app-2", "blue", kgo.SessionTimeout(5*time.Minute))
	x.read(gone, 1)
	x.stable("app", 1)
	gone.Close() // static: it does not leave
	if d := x.describe("app"); len(d.Members) != 1 || d.Members[0].Instance != "blue" {
		t.Fatalf("%+v", d.Members)
	}
	if out := x.skein("group", "remove-member", "app", "--instance-id", "blue", "--reason", "host replaced"); !strings.Contains(out, "took blue") {
		t.Errorf("%s", out)
	}
	const reason = "member was removed by an admin: host replaced"
	if x.ours {
		x.has(x.skein("group", "history", "app"), reason)
	} else if x.log != nil {
		x.has(x.log(), reason)
	}
	if d := x.describe("app"); d.State != "Empty" || len(d.Members) != 0 {
		t.Errorf("%+v", d)
	}
	stays := x.consumer("app", "orders", "app-3", "")
	x.read(stays, 1)
	id := x.stable("app", 1).Members[0].ID
	x.skein("group", "remove-member", "app", "--member", id[:len(id)-8])
	x.refused("no member", "group", "remove-member", "app", "--member", id)
}

// TestGroupsOfTheNewProtocolAreManagedToo: KIP-848, with Kafka's own consumer.
func TestGroupsOfTheNewProtocolAreManagedToo(t *testing.T) {
	x := newBoth(t, kafka.V4)
	x.produce("orders", 2, 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan string)
	go func() {
		out, _ := x.tools.Run(ctx, kafka.ConsoleConsumer, "--bootstrap-server", x.addr, "--topic", "orders", "--group", "modern",
			"--consumer-property", "group.protocol=consumer", "--consumer-property", "auto.offset.reset=earliest", "--consumer-property", "auto.commit.interval.ms=100")
		ended <- out
	}()
	d := x.stable("modern", 1)
	for d.Lag > 0 || len(d.Partitions) < 2 || d.Partitions[0].Committed == nil || d.Partitions[1].Committed == nil {
		d = x.describe("modern")
	}
	if d.Type != "consumer" || d.Assignor != "uniform" || d.Generation == nil || len(d.Members[0].Assigned["orders"]) != 2 {
		t.Errorf("%+v", d)
	}
	cancel() // killed: it does not leave
	t.Logf("the consumer said: %s", <-ended)
	x.refused("its offsets are theirs", "group", "reset-offsets", "modern", "--all-topics", "--to-earliest", "--execute")
	if out := x.skein("group", "remove-member", "modern", "--all"); !strings.Contains(out, "took "+d.Members[0].ID) {
		t.Errorf("%s", out)
	}
	x.skein("group", "reset-offsets", "modern", "--all-topics", "--to-earliest", "--execute")
	if d := x.describe("modern"); d.State != "Empty" || d.Lag != 10 {
		t.Errorf("%+v", d)
	}
	x.skein("group", "delete", "modern", "--execute")
	x.refused(`there is no group "modern"`, "group", "lag", "modern")
}
