package tools

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestTheToolForGroupsSaysWhatItSaysOfKafka: every subcommand of
// kafka-consumer-groups, on the broker under test and on a real Kafka in the
// same state; it must print the same, but for ids and addresses.
func TestTheToolForGroupsSaysWhatItSaysOfKafka(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	real := target.Kafka(t, kafka.Options{Settings: map[string]string{"offsets.topic.num.partitions": "1"}})
	ours := target.Start(t, map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"})
	tool := startGroupTool(ctx, t, real.Tools)
	said := [2][]string{}
	commands := [2][]string{}
	for i, addr := range []string{real.Addr, ours.Addr} {
		g := groupState{t: t, ctx: ctx, tool: tool, addr: addr}
		g.live()
		commands[i], said[i] = g.commands, g.said
	}
	for i, command := range commands[0] {
		if said[0][i] != said[1][i] {
			t.Errorf("%s\nof Kafka:\n%s\nof %s:\n%s", command, said[0][i], ours.Name, said[1][i])
		}
		t.Logf("%s\n%s", command, said[0][i])
	}
	if !t.Failed() {
		report.Note(t, report.Shown, "kafka-consumer-groups "+kafka.V4, "%d commands: list, describe, reset-offsets, delete-offsets, delete print what they print of Kafka", len(commands[0]))
	}
}

type groupTool struct {
	input  io.Writer
	output *bufio.Scanner
}

func startGroupTool(ctx context.Context, t *testing.T, tools kafka.Tools) *groupTool {
	t.Helper()
	interop, err := root.Interop()
	if err != nil {
		t.Fatal(err)
	}
	classPath, err := maven.Compile(ctx, "java-grouptool-"+tools.Version, filepath.Join(interop, "clients", "java", "GroupTool.java"), tools.ClassPath())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dlog4j2.level=OFF", "-cp", classPath, "GroupTool")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = cmd.Wait()
	})
	return &groupTool{input, bufio.NewScanner(output)}
}

// groupState is a broker with groups, and what the tool says of them.
type groupState struct {
	t        *testing.T
	ctx      context.Context
	tool     *groupTool
	addr     string
	admin    *kadm.Client
	commands []string
	said     []string
}

var anyID = []struct {
	what *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+ +\(\d+\)`), "BROKER"},
	{regexp.MustCompile(`Exception: .*`), "Exception: WORDS"}, // a broker's own, by its error code
	{regexp.MustCompile(`^\s*at .*`), ""},                     // the tool's stack
	{regexp.MustCompile(` +`), " "},
}

// run has the tool run a command and puts down what it said, in sorted lines:
// groups, members and partitions come in the order of hashes.
func (g *groupState) run(args ...string) {
	g.t.Helper()
	line := strings.Join(append([]string{"--bootstrap-server", g.addr}, args...), "\t")
	if _, err := io.WriteString(g.tool.input, line+"\n"); err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	for g.tool.output.Scan() {
		text := g.tool.output.Text()
		if text == "." {
			slices.Sort(lines)
			g.commands = append(g.commands, strings.Join(args, " "))
			g.said = append(g.said, strings.Join(lines, "\n"))
			return
		}
		for _, id := range anyID {
			text = id.what.ReplaceAllString(text, id.name)
		}
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, text)
		}
	}
	g.t.Fatalf("the tool ended at %v", args)
}

// live: two groups, one with members; then both without.
func (g *groupState) live() {
	g.prepare()
	first, second := g.member("app-1", ""), g.member("app-2", "blue")
	g.stable(2)
	g.commit(first, second)
	g.looks()
	g.run("--delete", "--group", "app")
	g.run("--delete-offsets", "--group", "app", "--topic", "orders")
	g.run("--reset-offsets", "--group", "app", "--all-topics", "--to-earliest", "--execute")
	first.Close()
	second.Close()
	if _, err := g.admin.LeaveGroup(g.ctx, kadm.LeaveGroup("app").InstanceIDs("blue")); err != nil {
		g.t.Fatal(err)
	}
	g.stable(0)
	g.looks()
	g.resets()
	g.deletes()
}

func (g *groupState) prepare() {
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(cl.Close)
	g.admin = kadm.NewClient(cl)
	keep := map[string]string{"retention.ms": "-1"} // the records are old
	if err := admin.CreateTopics(g.ctx, g.addr, 3, keep, "orders", "bills"); err != nil {
		g.t.Fatal(err)
	}
	for i := range int32(30) {
		for _, topic := range []string{"orders", "bills"} {
			r := &kgo.Record{Topic: topic, Partition: i % 3, Value: []byte("x"), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*1000)}
			if err := cl.ProduceSync(g.ctx, r).FirstErr(); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("bills", 0, 7, -1)
	offsets.AddOffset("orders", 1, 2, -1)
	if err := g.admin.CommitAllOffsets(g.ctx, "simple", offsets); err != nil {
		g.t.Fatal(err)
	}
}

func (g *groupState) member(id, instance string) *kgo.Client {
	g.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(g.addr), kgo.ClientID(id), kgo.ConsumerGroup("app"), kgo.ConsumeTopics("orders"),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(), kgo.SessionTimeout(time.Minute), kgo.HeartbeatInterval(200 * time.Millisecond)}
	if instance != "" {
		opts = append(opts, kgo.InstanceID(instance))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(cl.Close)
	return cl
}

func (g *groupState) stable(members int) {
	g.t.Helper()
	for {
		groups, err := g.admin.DescribeGroups(g.ctx, "app")
		if err != nil {
			g.t.Fatal(err)
		}
		if d := groups["app"]; len(d.Members) == members && (d.State == "Stable" || members == 0 && d.State == "Empty") {
			return
		}
	}
}

// commit has each member commit what is its own.
func (g *groupState) commit(members ...*kgo.Client) {
	g.t.Helper()
	groups, err := g.admin.DescribeGroups(g.ctx, "app")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, cl := range members {
		offsets := map[int32]kgo.EpochOffset{}
		for _, m := range groups["app"].Members {
			a, ok := m.Assigned.AsConsumer()
			if id, _ := cl.GroupMetadata(); !ok || id != m.MemberID {
				continue
			}
			for _, p := range a.Topics[0].Partitions {
				offsets[p] = kgo.EpochOffset{Epoch: -1, Offset: 4 + int64(p)}
			}
		}
		var failed error
		cl.CommitOffsetsSync(g.ctx, map[string]map[int32]kgo.EpochOffset{"orders": offsets}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
			failed = err
		})
		if failed != nil || len(offsets) == 0 {
			g.t.Fatalf("committing %v: %v", offsets, failed)
		}
	}
}

func (g *groupState) looks() {
	g.run("--list")
	g.run("--list", "--state")
	g.run("--list", "--state", "stable,empty")
	g.run("--list", "--type")
	g.run("--list", "--type", "classic")
	for _, what := range [][]string{{}, {"--offsets"}, {"--offsets", "--verbose"}, {"--members"}, {"--members", "--verbose"}, {"--state"}, {"--state", "--verbose"}} {
		g.run(append([]string{"--describe", "--group", "app"}, what...)...)
	}
	g.run("--describe", "--group", "simple", "--offsets")
	g.run("--describe", "--all-groups", "--timeout", "7000")
	g.run("--describe", "--all-groups", "--state", "--timeout", "7000")
	g.run("--describe", "--all-groups", "--members")
	g.run("--describe", "--group", "nobody")
	g.run("--describe", "--group", "nobody", "--members", "--timeout", "7000")
	g.run("--describe", "--group", "nobody", "--state")
}

func (g *groupState) resets() {
	reset := func(args ...string) { g.run(append([]string{"--reset-offsets", "--group", "app"}, args...)...) }
	reset("--all-topics", "--to-earliest", "--dry-run")
	reset("--topic", "orders:0,2", "--to-latest")
	reset("--topic", "bills", "--topic", "orders:1", "--to-offset", "3", "--execute", "--timeout", "7000")
	reset("--all-topics", "--shift-by", "2", "--execute")
	reset("--all-topics", "--shift-by", "-100", "--dry-run")
	reset("--topic", "orders", "--to-datetime", time.UnixMilli(1_700_000_015_000).UTC().Format("2006-01-02T15:04:05.000"))
	reset("--topic", "orders", "--by-duration", "PT1H")
	reset("--all-topics", "--to-current", "--export")
	file := filepath.Join(g.t.TempDir(), "offsets.csv")
	if err := os.WriteFile(file, []byte("orders,0,1\nbills,2,9\n"), 0o644); err != nil {
		g.t.Fatal(err)
	}
	g.run("--reset-offsets", "--group", "app", "--from-file", file, "--execute")
	g.commands[len(g.commands)-1] = "--reset-offsets --from-file --execute"
	reset("--topic", "nothere", "--to-earliest")
	g.run("--describe", "--group", "app", "--offsets")
	g.run("--reset-offsets", "--group", "fresh", "--topic", "orders", "--to-latest", "--execute")
	g.run("--reset-offsets", "--all-groups", "--topic", "orders:1", "--to-earliest", "--execute")
}

func (g *groupState) deletes() {
	g.run("--delete-offsets", "--group", "app", "--topic", "orders:0")
	g.run("--delete-offsets", "--group", "app", "--topic", "bills", "--topic", "nothere")
	g.run("--delete-offsets", "--group", "nobody", "--topic", "orders")
	g.run("--describe", "--group", "app", "--offsets")
	g.run("--delete", "--group", "app", "--group", "nobody", "--timeout", "7000")
	g.run("--list", "--state")
	g.run("--delete", "--all-groups")
	g.run("--list")
}
