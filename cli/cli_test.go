package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// output collects what a command writes, from any goroutine.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// shell runs skein command lines in a world of their own.
type shell struct {
	stdin          string
	env            map[string]string
	stdout, stderr output
}

func (s *shell) run(ctx context.Context, args ...string) int {
	return Run(ctx, Env{
		Stdin: strings.NewReader(s.stdin), Stdout: &s.stdout, Stderr: &s.stderr,
		Getenv:  func(name string) string { return s.env[name] },
		Environ: func() []string { return nil },
		Now:     time.Now,
		moment:  time.Minute, // a busy machine completes slowly
		pause:   time.Millisecond,
	}, args)
}

func TestHelpIsForNewcomers(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"-h"}, {"help"}} {
		var s shell
		code := s.run(t.Context(), args...)
		out := s.stdout.String()
		if code != 0 || s.stderr.String() != "" {
			t.Errorf("%v: exit %d, %s", args, code, s.stderr.String())
		}
		for _, want := range []string{"A first minute", "skein serve", "Commands:", "consume", "completion", "--json"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", args, want, out)
			}
		}
	}
}

func TestEveryVerbHasHelpThatFitsATerminal(t *testing.T) {
	for _, verb := range []string{"serve", "topic", "topic create", "topic list", "topic describe", "topic alter", "topic delete", "produce", "consume", "group", "group list", "group describe", "group members", "group lag", "group history", "group reset-offsets", "group delete", "group remove-member", "txn", "txn list", "txn describe", "txn producers", "txn find-hanging", "txn abort", "assign", "assign plan", "assign simulate", "assign verify", "assign explain", "demo", "demo upgrade", "log", "log dump", "log repair", "settings", "version"} {
		var s shell
		if code := s.run(t.Context(), append(strings.Fields(verb), "--help")...); code != 0 {
			t.Errorf("%s: exit %d", verb, code)
		}
		out := s.stdout.String()
		if !strings.Contains(out, "Usage:\n  skein "+verb) || strings.Contains(out, "`") || strings.Contains(out, "(default 0") {
			t.Errorf("%s: %s", verb, out)
		}
		for line := range strings.SplitSeq(out, "\n") {
			if n := len([]rune(line)); n > helpWidth {
				t.Errorf("%s: a line of %d: %s", verb, n, line)
			}
		}
	}
}

func TestHelpKeepsTheOrderOfOptions(t *testing.T) {
	connection := func(verb string) string {
		var s shell
		s.run(t.Context(), append(strings.Fields(verb), "--help")...)
		_, group, _ := strings.Cut(s.stdout.String(), "\n"+groupConnection+":\n")
		return group
	}
	want := connection("produce")
	for _, verb := range []string{"consume", "topic create", "topic list", "topic describe", "group lag", "group reset-offsets"} {
		if got := connection(verb); got != want || want == "" {
			t.Errorf("skein %s has other connection options, or in another order, than produce:\n%s", verb, got)
		}
	}
}

func TestServeHelpListsEverySetting(t *testing.T) {
	var s shell
	s.run(t.Context(), "serve", "--help")
	for _, doc := range settingDocs(true, false) {
		if !strings.Contains(s.stdout.String(), doc.Flag+" ") {
			t.Errorf("%s is missing", doc.Flag)
		}
	}
}

func TestWrongUsageIsNamedAndExitsWithTwo(t *testing.T) {
	for _, c := range []struct{ args, what, do string }{
		{"topci list", `skein has no command "topci"`, `"topic"`},
		{"topic lst", `skein topic has no command "lst"`, `"list"`},
		{"topic list --interal", "unknown flag: --interal", `"--internal"`},
		{"topic list a b", "takes one pattern", "quote"},
		{"topic list [", "not a pattern", ""},
		{"topic create", "needs the name of a topic", "usage: skein topic create"},
		{"topic create a --partitions x", `--partitions: "x" is not a whole number`, "--help"},
		{"consume t --partition x", `--partition: "x" is not a list of whole numbers`, "--help"},
		{"consume t --exit-at-end=x", `--exit-at-end: "x" is neither true nor false`, "--help"},
		{"produce t --delivery-timeout 5", `--delivery-timeout: "5" is not a duration such as 30s`, "--help"},
		{"consume t --count 0", "--count", "at least 1"},
		{"consume t --count -1", "--count", "at least 1"},
		{"topic create a --set b", `"b" is not a setting`, "NAME=VALUE"},
		{"topic create a --config b=c", "no configuration file b=c", "--set"},
		{"topic alter a", "nothing to change", "--partitions"},
		{"topic alter a b --set c=d", "nothing else", ""},
		{"topic alter a --set c=d --unset c", "both set and unset", ""},
		{"produce", "needs the name of a topic", ""},
		{"produce t --input xml", `"xml" is not a form`, "framed"},
		{"produce t --input json -K :", "are about lines", ""},
		{"produce t --codec zip", `"zip" is not a codec`, "zstd"},
		{"produce t --acks 2", `"2" is not known`, "all, 1 or 0"},
		{"produce t --header x", "not a header", "NAME=VALUE"},
		{"produce t --timestamp soon", "--timestamp", ""},
		{"produce t --key-separator \\q", "--key-separator", ""},
		{"produce t --delimiter=", "empty", "framed"},
		{"produce t --max-message-bytes 0", "at least 1", ""},
		{"produce t /no/such/file", "no such file", ""},
		{"consume", "needs the name of a topic", ""},
		{"consume t --from middle", "not a place to start", "beginning"},
		{"consume t --format %z", "unknown", "--help"},
		{"consume t --format %v --json", "about text", ""},
		{"consume t --output xml", "not a form", "framed"},
		{"consume t --isolation dirty", "not a level", "read_committed"},
		{"consume t --profile x", `no profile "x"`, ""},
		{"settings retention.sm", `no setting "retention.sm"`, "retention.ms"},
		{"version 2", "takes no arguments", ""},
		{"log dump", "needs a segment file", ""},
		{"completion bsh", `skein completion has no command "bsh"`, `"bash"`},
	} {
		var s shell
		code := s.run(t.Context(), strings.Fields(c.args)...)
		if out := s.stderr.String(); code != 2 || !strings.Contains(out, c.what) || !strings.Contains(out, c.do) || s.stdout.String() != "" {
			t.Errorf("skein %s: exit %d\n%s%s", c.args, code, out, s.stdout.String())
		}
	}
}

func TestErrorsCanBeJSON(t *testing.T) {
	var s shell
	s.run(t.Context(), "consume", "t", "--json", "--isolation", "dirty")
	var got struct{ Error, Hint string }
	if err := json.Unmarshal([]byte(s.stderr.String()), &got); err != nil || !strings.Contains(got.Error, "dirty") || got.Hint == "" {
		t.Errorf("%v: %s", err, s.stderr.String())
	}
}

func TestAnInterruptIsSilentAndExitsWith130(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var s shell
	if code := s.run(ctx, "topic", "list"); code != 130 || s.stderr.String() != "" {
		t.Errorf("exit %d, %s", code, s.stderr.String())
	}
}

func TestVersionIsPrintedBothWays(t *testing.T) {
	var plain, jsonShell shell
	plain.run(t.Context(), "version")
	jsonShell.run(t.Context(), "version", "--json")
	var got map[string]string
	if err := json.Unmarshal([]byte(jsonShell.stdout.String()), &got); err != nil || got["go"] == "" || !strings.HasPrefix(plain.stdout.String(), "skein ") {
		t.Errorf("%v: %s %s", err, plain.stdout.String(), jsonShell.stdout.String())
	}
}

func TestSettingsAreListedAndExplained(t *testing.T) {
	var list, explain, machine shell
	list.run(t.Context(), "settings", "--topic")
	if out := list.stdout.String(); !strings.Contains(out, "retention.ms ") || strings.Contains(out, "num.partitions") {
		t.Errorf("%s", out)
	}
	explain.run(t.Context(), "settings", "num.partitions")
	for _, want := range []string{"broker setting, int", "--num-partitions", "SKEIN_NUM_PARTITIONS", "default: 1"} {
		if !strings.Contains(explain.stdout.String(), want) {
			t.Errorf("no %q in %s", want, explain.stdout.String())
		}
	}
	machine.run(t.Context(), "settings", "--json")
	var docs []settingDoc
	if err := json.Unmarshal([]byte(machine.stdout.String()), &docs); err != nil || len(docs) < 50 {
		t.Errorf("%d settings, %v", len(docs), err)
	}
}

func TestCompletionOffersSettingsAndChoices(t *testing.T) {
	for args, want := range map[string]string{
		"topic alter t --unset retention.": "retention.bytes",
		"topic create t --set cleanup.":    "cleanup.policy=",
		"produce t --codec ":               "zstd",
		"serve --set num.":                 "num.partitions=",
		"settings log.retention":           "log.retention.hours",
	} {
		var s shell
		s.run(t.Context(), append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if !strings.Contains(s.stdout.String(), want+"\n") {
			t.Errorf("%s: %s", args, s.stdout.String())
		}
	}
	var s shell
	if code := s.run(t.Context(), "completion", "bash"); code != 0 || !strings.Contains(s.stdout.String(), "skein") {
		t.Errorf("exit %d", code)
	}
}

// segment writes one batch of records as a segment file of topic a-b, partition 7.
func segment(t *testing.T, records ...string) string {
	t.Helper()
	var raw []byte
	for i, value := range records {
		r := kmsg.Record{OffsetDelta: int32(i), Value: []byte(value)}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		raw = r.AppendTo(raw)
	}
	b := kmsg.RecordBatch{
		FirstOffset: 40, Magic: 2, LastOffsetDelta: int32(len(records) - 1), FirstTimestamp: 1, MaxTimestamp: 1,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(records)), Records: raw,
	}
	bytes := b.AppendTo(nil)
	binary.BigEndian.PutUint32(bytes[batchLengthAt:], uint32(len(bytes)-batchPrefix))
	binary.BigEndian.PutUint32(bytes[17:], crc32.Checksum(bytes[21:], crc32.MakeTable(crc32.Castagnoli)))
	path := filepath.Join(t.TempDir(), "a-b-7", "00000000000000000040.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLogDumpShowsBatchesAndRecords(t *testing.T) {
	path := segment(t, "one", "two")
	var s shell
	if code := s.run(t.Context(), "log", "dump", "--records", path); code != 0 {
		t.Fatalf("exit %d: %s", code, s.stderr.String())
	}
	for _, want := range []string{"offsets 40 to 41, 2 records", `{"topic":"a-b","partition":7,"offset":41,"timestamp":1,"key":null,"value":"two"}`} {
		if !strings.Contains(s.stdout.String(), want) || strings.Contains(s.stdout.String(), "WRONG") {
			t.Errorf("no %q in %s", want, s.stdout.String())
		}
	}
	var machine shell
	machine.run(t.Context(), "log", "dump", "--json", path)
	var batch dumpedBatch
	if err := json.Unmarshal([]byte(machine.stdout.String()), &batch); err != nil || !batch.Valid || batch.LastOffset != 41 {
		t.Errorf("%v: %s", err, machine.stdout.String())
	}
}

func TestLogDumpTellsDamage(t *testing.T) {
	path := segment(t, "one", "two")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		damaged []byte
		code    int
		want    string
	}{
		"flipped bit": {append(whole[:len(whole)-2:len(whole)-2], 'x', 0), 0, "WRONG CHECKSUM"},
		"torn":        {whole[:len(whole)-3], 1, "at byte 0: unexpected EOF"},
		"no batch":    {make([]byte, 100), 1, "at byte 0: no batch has the length 0"},
	} {
		if err := os.WriteFile(path, c.damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var s shell
		code := s.run(t.Context(), "log", "dump", path)
		if out := s.stdout.String() + s.stderr.String(); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
}
