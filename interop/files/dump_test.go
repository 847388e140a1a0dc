package files

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestKafkaReadsAndServesOurFiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	broker := workload(ctx, t)
	read := make(map[string]map[int32][]string)
	for topic := range topicConfigs() {
		read[topic] = readTopic(ctx, t, broker.Addr, topic)
	}
	if err := broker.Stop(); err != nil {
		t.Fatal(err)
	}
	tools, err := kafka.Install(ctx, kafka.V4)
	if err != nil {
		report.MissingPeer(t, "kafka "+kafka.V4, err)
		t.SkipNow()
	}
	t.Run("dump", func(t *testing.T) { dumpAll(ctx, t, tools, broker.DataDir, read) })
	t.Run("serve", func(t *testing.T) { serveByKafka(ctx, t, broker.DataDir, read) })
}

// filesOf lists the files of one kind in all partition directories.
func filesOf(t *testing.T, dataDir, suffix string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dataDir, "*-[0-9]", "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func dumpAll(ctx context.Context, t *testing.T, tools kafka.Tools, dataDir string, read map[string]map[int32][]string) {
	counts := make(map[string]int)
	for _, suffix := range []string{".log", ".index", ".timeindex", ".snapshot", ".txnindex"} {
		files := filesOf(t, dataDir, suffix)
		counts[suffix] = len(files)
		if len(files) == 0 {
			if suffix != ".txnindex" { // written once there are transactions
				t.Errorf("the workload left no %s file", suffix)
			}
			continue
		}
		out, err := tools.Run(ctx, kafka.DumpLogSegments, "--deep-iteration", "--files", strings.Join(files, ","))
		if err != nil {
			t.Errorf("dumping %s files: %v", suffix, err)
			continue
		}
		judge(t, suffix, out, len(files))
		if suffix == ".log" {
			countRecords(t, out, read)
		}
		if suffix == ".index" {
			checkIndexes(ctx, t, tools, files)
		}
	}
	report.Note(t, report.Shown, "DumpLogSegments", "reads our %d segments, %d offset and %d time indexes, %d producer snapshots",
		counts[".log"], counts[".index"], counts[".timeindex"], counts[".snapshot"])
}

// judge looks for what the tool says when a file is wrong.
func judge(t *testing.T, suffix, out string, files int) {
	t.Helper()
	if got := strings.Count(out, "Dumping "); got != files {
		t.Errorf("%s: %d files dumped of %d:\n%s", suffix, got, files, firstLines(out, 20))
	}
	for _, bad := range []string{"isvalid: false", "Mismatches", "mismatch", "out of order", "Invalid", "corrupt", "Exception", "Problem", "invalid bytes"} {
		if at := strings.Index(out, bad); at >= 0 {
			t.Errorf("%s: the tool says %q: %s", suffix, bad, firstLines(out[max(0, at-200):], 4))
		}
	}
}

func checkIndexes(ctx context.Context, t *testing.T, tools kafka.Tools, files []string) {
	t.Helper()
	for _, check := range []string{"--index-sanity-check", "--verify-index-only"} {
		out, err := tools.Run(ctx, kafka.DumpLogSegments, check, "--files", strings.Join(files, ","))
		if err != nil {
			t.Errorf("%s: %v", check, err)
		}
		judge(t, check, out, len(files))
		sane := strings.Count(out, "passed sanity check") + strings.Count(out, "is empty")
		if check == "--index-sanity-check" && sane != len(files) {
			t.Errorf("not every index passed the sanity check:\n%s", firstLines(out, 20))
		}
	}
}

var recordLine = regexp.MustCompile(`(?m)^\| offset: (\d+)`)

// countRecords compares the number of records that the tool prints with what
// clients read. Records that DeleteRecords took away are still in the files;
// the cleaner went on after the clients had read.
func countRecords(t *testing.T, out string, read map[string]map[int32][]string) {
	t.Helper()
	dumped := make(map[string]int)
	for _, part := range strings.Split(out, "Dumping ")[1:] {
		topic := filepath.Base(filepath.Dir(strings.Fields(part)[0]))
		topic = topic[:strings.LastIndexByte(topic, '-')]
		dumped[topic] += len(recordLine.FindAllString(part, -1))
	}
	for topic, byPartition := range read {
		want := 0
		for _, values := range byPartition {
			want += len(values)
		}
		wrong := dumped[topic] != want
		switch topic {
		case trimmed:
			wrong = dumped[topic] < want
		case keyed:
			wrong = dumped[topic] > want || dumped[topic] == 0
		}
		if wrong {
			t.Errorf("%s: the tool shows %d records, clients read %d", topic, dumped[topic], want)
		}
	}
}

func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// serveByKafka lays our partitions in a Kafka's data directory and compares
// what it serves with what we served.
func serveByKafka(ctx context.Context, t *testing.T, dataDir string, read map[string]map[int32][]string) {
	theirs := filepath.Join(t.TempDir(), "data")
	settings := map[string]string{"log.initial.task.delay.ms": "3600000", "log.cleaner.backoff.ms": "3600000"}
	first := target.Kafka(t, kafka.Options{DataDir: theirs, Settings: settings})
	for topic, configs := range topicConfigs() {
		if err := admin.CreateTopics(ctx, first.Addr, partitions, configs, topic); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	for topic := range topicConfigs() {
		for p := range partitions {
			name := topic + "-" + strconv.Itoa(p)
			layFiles(t, filepath.Join(dataDir, name), filepath.Join(theirs, name))
		}
	}
	second := target.Kafka(t, kafka.Options{DataDir: theirs, Settings: settings})
	records := 0
	for topic, want := range read {
		got := readTopic(ctx, t, second.Addr, topic)
		for p, values := range want {
			records += len(values)
			comparePartition(t, topic, p, values, got[p])
		}
	}
	report.Note(t, report.Shown, "Kafka on our files", "serves %d records of our data directory, equal in every byte", records)
}

// comparePartition allows Kafka to begin earlier: it learns the start that
// DeleteRecords set from a file of its own, which is not laid over.
func comparePartition(t *testing.T, topic string, p int32, want, got []string) {
	t.Helper()
	if topic == trimmed && len(got) > len(want) {
		got = got[len(got)-len(want):]
	}
	if topic == keyed && len(want) > len(got) {
		return // the cleaner went on after we had served it
	}
	if len(want) != len(got) {
		t.Errorf("%s/%d: Kafka serves %d records, we served %d", topic, p, len(got), len(want))
		return
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("%s/%d: Kafka serves %.200s, we served %.200s", topic, p, got[i], want[i])
			return
		}
	}
}

// layFiles replaces a partition's files, but for the one that names its topic
// id, which is the other cluster's.
func layFiles(t *testing.T, from, to string) {
	t.Helper()
	const identity = "partition.metadata"
	for _, name := range names(t, to) {
		if name != identity {
			if err := os.Remove(filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range names(t, from) {
		if name == identity {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
