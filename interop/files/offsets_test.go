package files

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

var update = flag.Bool("update", false, "write what Kafka does into the test data of other packages")

// offsetFixture is what the group coordinator's own tests compare their records with.
const offsetFixture = "internal/group/testdata/kafka-4.4-offsets.txt"

const (
	offsetGroup = "golden"
	offsetTopic = "orders"
)

// commitCase is one OffsetCommit of one partition.
type commitCase struct {
	version, partition int32
	offset             int64
	epoch              int32
	metadata           string
	keep               int64 // milliseconds; −1: not said
}

func commitCases() []commitCase {
	return []commitCase{
		{2, 0, 10, -1, "", -1}, {2, 1, 11, -1, "md", 3_600_000}, {3, 2, 12, -1, "md", -1}, {4, 3, 13, -1, "", 60_000},
		{5, 4, 14, -1, "md", -1}, {6, 5, 15, 3, "md", -1}, {7, 6, 16, 0, "", -1}, {8, 7, 17, 7, "ümläut🙂", -1},
		{9, 8, 18, -1, "", -1}, {10, 9, 19, 2, "md", -1}, {10, 10, -1, -1, "", -1}, {8, 11, 1 << 60, 1 << 30, strings.Repeat("x", 300), -1},
		{4, 11, 1, -1, "", 0},
	}
}

// line writes the case as the scripts of the group coordinator's tests do.
func (c commitCase) line() string {
	s := fmt.Sprintf("commit %s v=%d", offsetGroup, c.version)
	if c.keep >= 0 {
		s += fmt.Sprintf(" keep=%d", c.keep)
	}
	s += fmt.Sprintf(" %s/%d=%d", offsetTopic, c.partition, c.offset)
	if c.epoch >= 0 {
		s += fmt.Sprintf(",epoch=%d", c.epoch)
	}
	if c.metadata != "" {
		s += ",meta=" + c.metadata
	}
	return s
}

// TestOffsetRecordsAreKafkas: the same commits leave the same records in __consumer_offsets, and Kafka's dump tool reads
// ours as it reads its own.
func TestOffsetRecordsAreKafkas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	settings := map[string]string{"offsets.topic.num.partitions": "1"}
	theirs := target.Kafka(t, kafka.Options{Settings: settings})
	want := commitAll(ctx, t, theirs.Addr)
	checkFixture(t, want)
	ours, err := skein.Start(t, skein.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	if served, err := admin.Advertises(ctx, ours.Addr, kmsg.OffsetCommit.Int16()); err != nil || !served {
		report.Note(t, report.Lacks, "skein", "no OffsetCommit yet: its records were not compared (%v)", err)
		return
	}
	got := commitAll(ctx, t, ours.Addr)
	for i := range want {
		if masked(t, got[i]) != masked(t, want[i]) {
			t.Errorf("%s:\nwe write     %s\nKafka writes %s", want[i].command, got[i], want[i])
		}
	}
	if err := ours.Stop(); err != nil {
		t.Fatal(err)
	}
	dump := func(dataDir string) []string { return dumpOffsets(ctx, t, theirs.Tools, dataDir) }
	if ours, theirs := dump(ours.DataDir), dump(theirs.DataDir); !slices.Equal(ours, theirs) || len(ours) < len(want) {
		t.Errorf("the dump tool reads ours as\n%s\nand Kafka's as\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	report.Note(t, report.Shown, "offset records", "%d commits and deletes leave records equal to Kafka's in every byte but ids and times; the dump tool reads them", len(want))
}

// offsetWrite is a command and the record that came of it; a nil value is a tombstone.
type offsetWrite struct {
	command    string
	key, value []byte
}

func (w offsetWrite) String() string {
	if w.value == nil {
		return fmt.Sprintf("key %x", w.key)
	}
	return fmt.Sprintf("key %x\nvalue %x", w.key, w.value)
}

// commitAll sends every case, deletes the first offset, and reads what that has left.
func commitAll(ctx context.Context, t *testing.T, addr string) []offsetWrite {
	t.Helper()
	if err := admin.CreateTopics(ctx, addr, 16, nil, offsetTopic); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, c := range commitCases() {
		sendCommit(ctx, t, addr, c)
		commands = append(commands, c.line())
	}
	client := versioned(t, addr, 0)
	defer client.Close()
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = offsetGroup
	r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: offsetTopic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	if response, err := r.RequestWith(ctx, client); err != nil || response.ErrorCode != 0 || response.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("deleting an offset: %+v %v", response, err)
	}
	commands = append(commands, fmt.Sprintf("drop %s %s/0", offsetGroup, offsetTopic))
	writes := readOffsets(ctx, t, addr)
	if len(writes) != len(commands) {
		t.Fatalf("%d records of %d commands", len(writes), len(commands))
	}
	for i := range writes {
		writes[i].command = commands[i]
	}
	return writes
}

// versioned is a client that speaks one version of OffsetCommit.
func versioned(t *testing.T, addr string, version int16) *kgo.Client {
	t.Helper()
	only := kversion.Stable()
	only.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), version)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxVersions(only))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func sendCommit(ctx context.Context, t *testing.T, addr string, c commitCase) {
	t.Helper()
	client := versioned(t, addr, int16(c.version))
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, offsetTopic)
	if err != nil {
		t.Fatal(err)
	}
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.RetentionTimeMillis = offsetGroup, c.keep
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = c.partition, c.offset, c.epoch
	if c.metadata != "" {
		p.Metadata = &c.metadata
	}
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: offsetTopic, TopicID: topics[offsetTopic].ID, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	response, err := r.RequestWith(ctx, client)
	if err != nil {
		t.Fatalf("%s: %v", c.line(), err)
	}
	if err := kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode); err != nil || response.Version != int16(c.version) {
		t.Fatalf("%s: version %d: %v", c.line(), response.Version, err)
	}
}

// readOffsets reads the offsets topic to its end and keeps the records of our group's offsets.
func readOffsets(ctx context.Context, t *testing.T, addr string) []offsetWrite {
	t.Helper()
	const topic = "__consumer_offsets"
	start := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(start))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	var writes []offsetWrite
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			var k kmsg.OffsetCommitKey
			if r.Key[1] <= 1 && k.ReadFrom(r.Key) == nil && k.Group == offsetGroup {
				writes = append(writes, offsetWrite{key: r.Key, value: r.Value})
			}
		})
	}
	return writes
}

// masked writes down a record without what differs between two runs: times, and the topic's id.
func masked(t *testing.T, w offsetWrite) string {
	t.Helper()
	if w.value == nil {
		return hex.EncodeToString(w.key)
	}
	v := kmsg.NewOffsetCommitValue()
	if err := v.ReadFrom(w.value); err != nil {
		t.Fatalf("%s: %v", w.command, err)
	}
	if v.Version == 1 {
		v.ExpireTimestamp -= v.CommitTimestamp
	}
	v.CommitTimestamp = 0
	if v.TopicID != [16]byte{} {
		v.TopicID = [16]byte{1}
	}
	return fmt.Sprintf("%x %x (%d bytes)", w.key, v.AppendTo(nil), len(w.value))
}

// checkFixture compares with the file that the coordinator's own tests read, or writes it.
func checkFixture(t *testing.T, writes []offsetWrite) {
	t.Helper()
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(source, filepath.FromSlash(offsetFixture))
	if *update {
		text := "# OffsetCommit and OffsetDelete requests, and the records that Apache Kafka " + kafka.V4 + " made of them, in hex.\n# Written by interop: go test ./files -run OffsetRecords -update\n"
		for _, w := range writes {
			text += w.command + "\n" + w.String() + "\n"
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		if !strings.Contains(string(text), "\n"+w.command+"\nkey "+hex.EncodeToString(w.key)+"\n") {
			t.Errorf("%s does not have %q: run with -update", offsetFixture, w.command)
		}
	}
}

var (
	decodedOffset = regexp.MustCompile(`key: \{"type":"?[01]"?.*`)
	variable      = regexp.MustCompile(`"(commitTimestamp|expireTimestamp|topicId)":("[^"]*"|[-0-9]+)`)
)

// dumpOffsets is what Kafka's tool reads of the offsets in a data directory, without what differs between two runs.
func dumpOffsets(ctx context.Context, t *testing.T, tools kafka.Tools, dataDir string) []string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dataDir, "__consumer_offsets-0", "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments of __consumer_offsets in %s: %v", dataDir, err)
	}
	out, err := tools.Run(ctx, kafka.DumpLogSegments, "--offsets-decoder", "--deep-iteration", "--files", strings.Join(segments, ","))
	if err != nil {
		t.Fatal(err)
	}
	lines := decodedOffset.FindAllString(out, -1)
	for i, l := range lines {
		lines[i] = variable.ReplaceAllString(l, `"$1":…`)
	}
	return lines
}
