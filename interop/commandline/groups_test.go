package commandline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// groupsTool is Kafka's own tool for groups.
const groupsTool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

// both runs the skein command and Kafka's tool against one broker.
type both struct {
	t     *testing.T
	addr  string
	tools kafka.Tools
	ours  bool
	log   func() string // of the broker; nil: not to be had
	shell
}

// underTest is the broker that the suite tests, as newBoth names it: Skein.
const underTest = "skein"

// newBoth starts a broker: a release of Kafka, or the one under test.
func newBoth(t *testing.T, on string) both {
	t.Helper()
	return newBothWith(t, on, nil)
}

// newBothWith is newBoth with settings by Kafka's names.
func newBothWith(t *testing.T, on string, settings map[string]string) both {
	t.Helper()
	x := both{t: t, shell: newShell(t)}
	if on == underTest {
		x.start(settings)
	} else {
		b := target.Kafka(t, kafka.Options{Version: on, Settings: settings})
		x.addr, x.tools, x.log = b.Addr, b.Tools, b.Tail
	}
	x.env = []string{"SKEIN_BOOTSTRAP=" + x.addr, "SKEIN_TIMEOUT=60s"}
	return x
}

func (x *both) start(settings map[string]string) {
	x.t.Helper()
	all := map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
	maps.Copy(all, settings)
	b := target.Start(x.t, all)
	x.addr, x.ours = b.Addr, b.IsSkein()
	var err error
	if x.tools, err = kafka.Install(x.t.Context(), kafka.V4); err != nil {
		report.MissingPeer(x.t, "kafka "+kafka.V4, err)
		x.t.SkipNow()
	}
}

func (x both) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(x.t.Context(), 3*time.Minute)
}

// skein runs a command that must succeed.
func (x both) skein(args ...string) string {
	x.t.Helper()
	out, code := x.run(x.t, "", nil, args...)
	if code != 0 {
		x.t.Fatalf("skein %v: exit %d\n%s", args, code, out)
	}
	return out
}

// refused runs a command that must fail and name its reason.
func (x both) refused(what string, args ...string) {
	x.t.Helper()
	if out, code := x.run(x.t, "", nil, args...); code != 1 || !strings.Contains(out, what) {
		x.t.Errorf("skein %v: exit %d, no %q in\n%s", args, code, what, out)
	}
}

// has checks that an output tells something.
func (x both) has(out string, wanted ...string) {
	x.t.Helper()
	for _, want := range wanted {
		if !strings.Contains(out, want) {
			x.t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// kafka runs Kafka's tool.
func (x both) kafka(args ...string) string {
	x.t.Helper()
	ctx, cancel := x.context()
	defer cancel()
	out, err := x.tools.Run(ctx, groupsTool, append([]string{"--bootstrap-server", x.addr}, args...)...)
	if err != nil {
		x.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// rows reads a table that Kafka's tool printed, by its headings.
func rows(text string) []map[string]string {
	var headings []string
	var out []map[string]string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			headings = nil
		case words[0] == "GROUP" || words[0] == "TOPIC":
			headings = words
		case headings != nil && len(words) >= 3:
			row := map[string]string{}
			for i := range min(len(words), len(headings)) {
				row[headings[i]] = words[i]
			}
			out = append(out, row)
		}
	}
	return out
}

type describedPartition struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Committed *int64 `json:"committed_offset"`
	End       *int64 `json:"end_offset"`
	Lag       *int64 `json:"lag"`
	Blocked   int64  `json:"blocked_by_transaction"`
	Member    string `json:"member_id"`
}

type describedMember struct {
	ID       string             `json:"member_id"`
	Instance string             `json:"instance_id"`
	Client   string             `json:"client_id"`
	Host     string             `json:"host"`
	Assigned map[string][]int32 `json:"assigned"`
}

type described struct {
	State      string               `json:"state"`
	Type       string               `json:"type"`
	Assignor   string               `json:"assignor"`
	Generation *int32               `json:"generation"`
	Lag        int64                `json:"lag"`
	Blocked    int64                `json:"blocked_by_transaction"`
	Members    []describedMember    `json:"members"`
	Partitions []describedPartition `json:"partitions"`
}

func (x both) describe(group string, args ...string) described {
	x.t.Helper()
	var list []described
	out := x.skein(append([]string{"group", "describe", group, "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		x.t.Fatalf("%v: %s", err, out)
	}
	return list[0]
}

// consumer is one member of a group in this process.
func (x both) consumer(group, topic, client, instance string, more ...kgo.Opt) *kgo.Client {
	x.t.Helper()
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(x.addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID(client),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.Balancers(kgo.RangeBalancer()), kgo.SessionTimeout(30 * time.Second),
	}, more...)
	if instance != "" {
		opts = append(opts, kgo.InstanceID(instance))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(cl.Close)
	return cl
}

// read polls until so many records have come, and commits what came.
func (x both) read(cl *kgo.Client, records int) {
	x.t.Helper()
	ctx, cancel := x.context()
	defer cancel()
	for got := 0; got < records; {
		fetches := cl.PollRecords(ctx, records-got)
		if err := fetches.Err(); err != nil {
			x.t.Fatal(err)
		}
		got += fetches.NumRecords()
		if err := cl.CommitRecords(ctx, fetches.Records()...); err != nil {
			x.t.Fatal(err)
		}
	}
}

// stable waits until the group has so many members and a plan for them.
func (x both) stable(group string, members int) described {
	x.t.Helper()
	ctx, cancel := x.context()
	defer cancel()
	for {
		_, code := x.run(x.t, "", nil, "group", "members", group) // it may not be there yet
		if code == 0 {
			if d := x.describe(group); d.State == "Stable" && len(d.Members) == members {
				return d
			}
		}
		if ctx.Err() != nil {
			x.t.Fatalf("%s does not become stable with %d members", group, members)
		}
	}
}

func (x both) produce(topic string, partitions, each int) {
	x.t.Helper()
	x.skein("topic", "create", topic, "--partitions", strconv.Itoa(partitions))
	var lines strings.Builder
	for i := range each {
		fmt.Fprintf(&lines, "record %d\n", i)
	}
	for p := range partitions {
		if out, code := x.run(x.t, lines.String(), nil, "produce", topic, "--partition", strconv.Itoa(p)); code != 0 {
			x.t.Fatal(out)
		}
	}
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// TestGroupsLookLikeInKafkasOwnTool compares descriptions field by field.
func TestGroupsLookLikeInKafkasOwnTool(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4, kafka.V3} {
		t.Run(on, func(t *testing.T) {
			x := newBoth(t, on)
			x.produce("orders", 4, 10)
			first := x.consumer("app", "orders", "app-1", "")
			x.read(first, 27)
			x.consumer("app", "orders", "app-2", "blue")
			d := x.stable("app", 2)
			x.compareOffsets(d)
			x.compareMembers(d)
			x.compareState(d)
			if list := x.skein("group", "list", "--state", "stable", "--type", "classic"); !strings.Contains(list, "app    Stable  classic  consumer  1") {
				t.Errorf("%s", list)
			}
			x.refused(`there is no group "apq"`, "group", "describe", "apq")
			if x.ours {
				x.has(x.skein("group", "history", "app"), "member joined", "blue")
			} else {
				x.refused("it is no Skein broker", "group", "history", "app")
			}
			if t.Failed() {
				return
			}
			report.Note(t, report.Run, "skein group on "+on, "described as kafka-consumer-groups does")
		})
	}
}

func (x both) compareOffsets(d described) {
	x.t.Helper()
	var ours, theirs []string
	for _, p := range d.Partitions {
		ours = append(ours, fmt.Sprint(p.Topic, " ", p.Partition, " ", number(p.Committed), " ", number(p.End), " ", number(p.Lag), " ", p.Member))
	}
	for _, r := range rows(x.kafka("--describe", "--group", "app")) {
		theirs = append(theirs, strings.Join([]string{r["TOPIC"], r["PARTITION"], r["CURRENT-OFFSET"], r["LOG-END-OFFSET"], r["LAG"], r["CONSUMER-ID"]}, " "))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) || len(ours) != 4 {
		x.t.Errorf("skein:\n%s\nkafka:\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

func (x both) compareMembers(d described) {
	x.t.Helper()
	members := map[string]string{}
	for _, m := range d.Members {
		n := 0
		for _, partitions := range m.Assigned {
			n += len(partitions)
		}
		members[m.ID] = fmt.Sprint("/", m.Host, " ", m.Client, " ", n)
	}
	theirs := map[string]string{}
	for line := range strings.Lines(x.kafka("--describe", "--group", "app", "--members")) {
		// The tool leaves the instance id blank where there is none: count from the end.
		if words := strings.Fields(line); len(words) >= 5 && words[0] == "app" {
			theirs[words[1]] = strings.Join(words[len(words)-3:], " ")
		}
	}
	if !maps.Equal(members, theirs) || len(members) != 2 {
		x.t.Errorf("skein %v, kafka %v", members, theirs)
	}
}

func (x both) compareState(d described) {
	x.t.Helper()
	out := x.kafka("--describe", "--group", "app", "--state")
	for _, want := range []string{d.State, d.Assignor, " 2"} {
		if !strings.Contains(out, want) || want == "" {
			x.t.Errorf("no %q in %s", want, out)
		}
	}
}
