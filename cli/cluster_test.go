package cli

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/broker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a broker in memory, and a shell whose commands go to it.
type cluster struct {
	t       *testing.T
	address string
}

func startCluster(t *testing.T) cluster { return startClusterWith(t, broker.Config{}) }

func startClusterWith(t *testing.T, cfg broker.Config) cluster {
	t.Helper()
	b, err := broker.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- b.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return cluster{t, l.Addr().String()}
}

func (c cluster) shell(stdin string) *shell {
	return &shell{stdin: stdin, env: map[string]string{"SKEIN_BOOTSTRAP": c.address}}
}

// do runs a command line that must succeed and returns its output.
func (c cluster) do(args ...string) string { return c.feed("", args...) }

func (c cluster) feed(stdin string, args ...string) string {
	c.t.Helper()
	s := c.shell(stdin)
	if code := s.run(c.t.Context(), args...); code != 0 {
		c.t.Fatalf("skein %v: exit %d\n%s%s", args, code, s.stdout.String(), s.stderr.String())
	}
	return s.stdout.String()
}

// fail runs a command line that must fail and returns what it says.
func (c cluster) fail(code int, stdin string, args ...string) string {
	c.t.Helper()
	s := c.shell(stdin)
	if got := s.run(c.t.Context(), args...); got != code {
		c.t.Errorf("skein %v: exit %d, want %d\n%s%s", args, got, code, s.stdout.String(), s.stderr.String())
	}
	return s.stderr.String() + s.stdout.String()
}

func (c cluster) want(got string, wanted ...string) {
	c.t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			c.t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// sortedLines makes output of several partitions comparable.
func sortedLines(out string) string {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestTopicsLiveTheirLife(t *testing.T) {
	c := startCluster(t)
	c.want(c.do("topic", "create", "orders", "--partitions", "3", "--set", "retention.ms=3600000"), "created topic orders: 3 partitions, replication factor 1")
	c.want(c.fail(1, "", "topic", "create", "orders"), "cannot create topic orders", "--if-not-exists")
	c.want(c.do("topic", "create", "orders", "--if-not-exists"), "exists already")
	c.want(c.fail(1, "", "topic", "create", "x", "--set", "retention.msec=1"), "retention.ms")
	c.want(c.fail(1, "", "topic", "create", "x", "--set", "retention.ms=soon"), "retention.ms")
	c.want(c.fail(1, "", "topic", "create", "x", "-r", "3"), "replication factor")
	c.want(c.fail(1, "", "topic", "create", "no blanks"), "cannot create topic no blanks")
	c.want(c.do("topic", "create", "dry", "--dry-run"), "would create topic dry: 1 partition")
	c.do("topic", "create", "events")
	if got, want := c.do("topic", "list"), "TOPIC   PARTITIONS  REPLICATION\nevents  1           1\norders  3           1\n"; got != want {
		t.Errorf("got %s", got)
	}
	if got := c.do("topic", "list", "ord*"); strings.Contains(got, "events") {
		t.Errorf("got %s", got)
	}
	c.want(c.do("topic", "alter", "orders", "--set", "cleanup.policy=compact", "--unset", "retention.ms", "--partitions", "5"),
		"cleanup.policy=compact", "retention.ms is back at its default", "5 partitions")
	c.want(c.do("topic", "alter", "orders", "--set", "segment.ms=70000", "--dry-run"), "would alter")
	c.want(c.fail(1, "", "topic", "alter", "orders", "-p", "2"), "cannot add partitions to topic orders")
	c.want(c.fail(1, "", "topic", "alter", "orders", "-s", "segmnt.ms=70000"), "segment.ms")
	c.want(c.fail(1, "", "topic", "alter", "ordrs", "-s", "segment.ms=70000"), `no topic "ordrs"`, `"orders"`)
	c.want(c.do("topic", "describe", "orders"), "cleanup.policy=compact  (topic)", "PARTITION", "\n4  ")
	c.want(c.fail(1, "", "topic", "delete", "orders", "event"), "deleted topic orders", `no topic "event"`, `"events"`)
	c.want(c.do("topic", "delete", "orders", "--if-exists"), "does not exist")
}

func TestTopicsAreDescribedForPrograms(t *testing.T) {
	c := startCluster(t)
	var created []createdTopic
	decode(t, c.do("topic", "create", "a", "b", "-p", "2", "--json"), &created)
	if len(created) != 2 || !created[0].Created || created[1].Partitions != 2 {
		t.Errorf("got %+v", created)
	}
	c.feed("1\n2\n3\n", "produce", "a", "-p", "1")
	var described []describedTopic
	decode(t, c.do("topic", "describe", "a", "--json"), &described)
	if len(described) != 1 || len(described[0].Partitions) != 2 {
		t.Fatalf("got %+v", described)
	}
	p := described[0].Partitions[1]
	if p.Leader != 1 || *p.Start != 0 || *p.End != 3 || *p.Size == 0 {
		t.Errorf("got %+v", p)
	}
	var listed []listedTopic
	decode(t, c.do("topic", "list", "--json"), &listed)
	if len(listed) != 2 || listed[1] != (listedTopic{Topic: "b", Partitions: 2, ReplicationFactor: 1}) {
		t.Errorf("got %+v", listed)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func TestLinesGoInAndComeOut(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	c.want(c.feed("a\n\nlast", "produce", "t"), "3 records to t acknowledged, 5 B in ")
	if got := c.do("consume", "t", "-e"); got != "a\n\nlast\n" {
		t.Errorf("got %q", got)
	}
	c.feed("k1:v1\nk2:-\n:\n", "produce", "t", "-K", ":", "--null", "-", "-H", "h=1", "--timestamp", "1700000000000", "-q")
	got := c.do("consume", "t", "-e", "--from", "3", "--format", `%o %T %k(%K)=%v(%V) %h\n`, "--null", "~")
	if want := "3 1700000000000 k1(2)=v1(2) h=1\n4 1700000000000 k2(2)=~(-1) h=1\n5 1700000000000 (0)=(0) h=1\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestEveryCodecAndAcknowledgement(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	want := ""
	for _, codec := range codecNames() {
		for _, acks := range []string{"all", "1", "0"} {
			line := codec + " " + acks + "\n"
			c.feed(line, "produce", "t", "--codec", codec, "--acks", acks)
			want += line
		}
	}
	// Who does not wait for an answer may be overtaken by the next command.
	if got := c.do("consume", "t", "--count", "15"); sortedLines(got) != sortedLines(want) {
		t.Errorf("got %q", got)
	}
}

func TestBinaryRecordsComeBackExactly(t *testing.T) {
	c := startCluster(t)
	for _, topic := range []string{"t", "json", "framed", "zero", "zeroed"} {
		c.do("topic", "create", topic, "-p", "3")
	}
	c.feed(`{"key":"k","value":"v","headers":[{"key":"a","value":"1"},{"key":"a","value":null},{"key":"b","value_base64":"/wA="}],"partition":2,"timestamp":1700000000123}
{"key_base64":"/w==","value_base64":"AAEC/w==","partition":1}
{"key":"gone","value":null,"partition":0}
{"key":null,"value":"","partition":0}
{"value":{"total": 12},"partition":0,"timestamp":"2020-11-30T12:00:00Z"}
`, "produce", "t", "--input", "json")
	original := c.do("consume", "t", "-e", "--json")
	c.want(original, `"value_base64":"AAEC/w=="`, `"value":null`, `"value":"{\"total\": 12}"`, `{"key":"a","value":null}`, `"timestamp":1700000000123`)

	c.feed(original, "produce", "json", "-i", "json")
	if got := strings.ReplaceAll(c.do("consume", "json", "-e", "--json"), `"topic":"json"`, `"topic":"t"`); sortedLines(got) != sortedLines(original) {
		t.Errorf("got\n%s\nwant\n%s", got, original)
	}
	frames := c.do("consume", "t", "-e", "-p", "1", "--output", "framed")
	c.feed(frames, "produce", "framed", "-i", "framed", "-p", "0")
	if got := c.do("consume", "framed", "-e", "--output", "framed"); got != frames {
		t.Errorf("got %q, want %q", got, frames)
	}
	c.feed("a\nb\x00\xff\x00\x00", "produce", "zero", "-D", `\0`, "-p", "0")
	if got := c.do("consume", "zero", "-e", "-f", `%v\0`); got != "a\nb\x00\xff\x00\x00" {
		t.Errorf("got %q", got)
	}
	c.feed(c.do("consume", "zero", "-e", "--output", "framed-values"), "produce", "zeroed", "-i", "framed-values", "-p", "0")
	if got := c.do("consume", "zeroed", "-e", "-f", `%v\0`); got != "a\nb\x00\xff\x00\x00" {
		t.Errorf("got %q", got)
	}
}

func TestConsumeStartsWhereItIsTold(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t", "u")
	for i, line := range []string{"a\n", "b\n", "c\n", "d\n"} {
		c.feed(line, "produce", "t", "--timestamp", []string{"1000", "2000", "3000", "4000"}[i])
	}
	for from, want := range map[string]string{
		"beginning": "a\nb\nc\nd\n", "end": "", "2": "c\nd\n", "-1": "d\n", "-9": "a\nb\nc\nd\n", "4": "",
		"@2000": "b\nc\nd\n", "@2001": "c\nd\n", "@9000": "", "1970-01-01T00:00:03Z": "c\nd\n", "-1s": "",
	} {
		if got := c.do("consume", "t", "-e", "--from", from); got != want {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
	if got := c.do("consume", "t", "u", "--count", "2"); got != "a\nb\n" {
		t.Errorf("got %q", got)
	}
	c.want(c.fail(2, "", "consume", "t", "-p", "7"), "no partition 7", "1 partition")
	c.want(c.fail(1, "", "consume", "tt", "-e"), `no topic "tt"`, `"t"`)
	s := c.shell("")
	if code := s.run(t.Context(), "consume", "t", "-e", "--from", "99"); code != 0 || !strings.Contains(s.stderr.String(), "begins at offset 0 and ends before 4") {
		t.Errorf("exit %d, %s", code, s.stderr.String())
	}
}

func TestCompletionOffersTheClustersTopics(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "orders", "events")
	for _, verb := range []string{"consume", "produce", "topic describe", "topic alter", "topic delete", "topic list"} {
		out := c.do(append(append([]string{"__complete"}, strings.Fields(verb)...), "or")...)
		c.want(out, "orders\n", ":4")
	}
}
