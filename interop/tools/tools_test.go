// Package tools runs Apache Kafka's own command-line tools against the broker.
package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// session is the tools and the broker that they talk to.
type session struct {
	t      *testing.T
	ctx    context.Context
	tools  kafka.Tools
	broker target.Target
}

func TestKafkasToolsWork(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	tools, err := kafka.Install(ctx, kafka.V4)
	if err != nil {
		report.MissingPeer(t, "kafka "+kafka.V4+" tools", err)
		t.SkipNow()
	}
	s := session{t: t, ctx: ctx, tools: tools, broker: target.Start(t, nil)}
	const topic = "tools"
	s.topics(topic)
	s.produceAndConsume(topic)
	s.offsets(topic)
	s.configs(topic)
	s.deleteRecords(topic)
	s.others(topic)
	report.Note(t, report.Run, "kafka "+kafka.V4+" tools", "topics, console producer and consumer, offsets, configs, delete-records, log-dirs, perf test")
}

// run runs a tool that must succeed.
func (s session) run(input, class string, args ...string) string {
	s.t.Helper()
	out, err := s.tools.RunWithInput(s.ctx, input, class, append([]string{"--bootstrap-server", s.broker.Addr}, args...)...)
	if err != nil {
		s.t.Fatalf("%s %v: %v", class, args, err)
	}
	return out
}

// expect fails unless out holds every piece.
func (s session) expect(what, out string, pieces ...string) {
	s.t.Helper()
	for _, piece := range pieces {
		if !strings.Contains(out, piece) {
			s.t.Errorf("%s: %q is not in what the tool printed:\n%s", what, piece, out)
		}
	}
}

func (s session) topics(topic string) {
	s.run("", kafka.TopicCommand, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=86400000")
	s.expect("list", s.run("", kafka.TopicCommand, "--list"), topic)
	s.run("", kafka.TopicCommand, "--alter", "--topic", topic, "--partitions", "3")
	s.expect("describe", s.run("", kafka.TopicCommand, "--describe", "--topic", topic),
		"PartitionCount: 3", "ReplicationFactor: 1", "retention.ms=86400000", "Partition: 2", "Leader: 1")
	s.run("", kafka.TopicCommand, "--create", "--topic", topic+"-gone", "--partitions", "1")
	s.run("", kafka.TopicCommand, "--delete", "--topic", topic+"-gone")
	if out := s.run("", kafka.TopicCommand, "--list"); strings.Contains(out, topic+"-gone") {
		s.t.Errorf("a deleted topic is listed: %s", out)
	}
}

func (s session) produceAndConsume(topic string) {
	const lines = 50
	var input strings.Builder
	for i := range lines {
		fmt.Fprintf(&input, "key-%d:value-%d\n", i, i)
	}
	s.run(input.String(), kafka.ConsoleProducer, "--topic", topic, "--compression-codec", "zstd",
		"--property", "parse.key=true", "--property", "key.separator=:")
	got, ends := 0, s.ends(topic)
	for partition, end := range ends {
		if end == 0 {
			continue
		}
		// With a partition it needs no group.
		out := s.run("", kafka.ConsoleConsumer, "--topic", topic, "--partition", fmt.Sprint(partition), "--offset", "earliest",
			"--max-messages", fmt.Sprint(end), "--timeout-ms", "60000", "--property", "print.key=true")
		got += strings.Count(out, "\tvalue-")
	}
	if got != lines {
		s.t.Errorf("the console consumer printed %d records of %d; the ends are %v", got, lines, ends)
	}
}

// ends is the end of each of the topic's three partitions.
func (s session) ends(topic string) [3]int {
	s.t.Helper()
	var ends [3]int
	for line := range strings.Lines(s.run("", kafka.GetOffsetShell, "--topic", topic)) {
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) != 3 {
			continue
		}
		partition, err1 := strconv.Atoi(parts[1])
		end, err2 := strconv.Atoi(parts[2])
		if err := errors.Join(err1, err2); err != nil || partition >= len(ends) {
			s.t.Fatalf("GetOffsetShell printed %q: %v", line, err)
		}
		ends[partition] = end
	}
	return ends
}

func (s session) offsets(topic string) {
	s.expect("earliest", s.run("", kafka.GetOffsetShell, "--topic", topic, "--time", "earliest"), topic+":0:0")
}

func (s session) configs(topic string) {
	s.run("", kafka.ConfigCommand, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "max.message.bytes=2000000,cleanup.policy=[compact,delete]")
	s.expect("describe configs", s.run("", kafka.ConfigCommand, "--describe", "--entity-type", "topics", "--entity-name", topic),
		"max.message.bytes=2000000", "cleanup.policy=compact,delete")
	s.run("", kafka.ConfigCommand, "--alter", "--entity-type", "topics", "--entity-name", topic, "--delete-config", "max.message.bytes,cleanup.policy")
	s.expect("describe all", s.run("", kafka.ConfigCommand, "--describe", "--all", "--entity-type", "topics", "--entity-name", topic),
		"max.message.bytes=1048588", "cleanup.policy=delete", "retention.ms=86400000")
	s.expect("describe broker", s.run("", kafka.ConfigCommand, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1"),
		"log.retention.hours=168", "num.partitions=1")
}

func (s session) deleteRecords(topic string) {
	file := filepath.Join(s.t.TempDir(), "delete.json")
	text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"offset":3}]}`, topic)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.expect("delete records", s.run("", kafka.DeleteRecords, "--offset-json-file", file), "low_watermark: 3")
	s.expect("earliest", s.run("", kafka.GetOffsetShell, "--topic", topic, "--time", "earliest"), topic+":0:3")
}

func (s session) others(topic string) {
	s.expect("log dirs", s.run("", kafka.LogDirs, "--describe", "--topic-list", topic), `"partition":"`+topic+`-2"`, `"error":null`)
	s.expect("api versions", s.run("", kafka.BrokerApiVersions), "Produce(0): 0 to 13", "CreateTopics(19): 2 to 7")
	out, err := s.tools.Run(s.ctx, kafka.ProducerPerformance, "--topic", topic, "--num-records", "20000", "--record-size", "100",
		"--throughput", "-1", "--producer-props", "bootstrap.servers="+s.broker.Addr, "acks=all")
	if err != nil {
		s.t.Fatal(err)
	}
	s.expect("performance", out, "20000 records sent")
}
