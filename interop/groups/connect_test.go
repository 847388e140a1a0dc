package groups

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/proc"
)

const (
	connectVersion = "4.4.0"
	ticks          = "ticks"
	tasks          = 4
)

// TestConnectWorkersFormAGroup: two workers share the tasks of a connector, the
// broker starts again, one worker is killed, the other takes its tasks over,
// stops, and goes on where it was: every task's numbers are there without a gap,
// and none twice but those around the kill.
func TestConnectWorkersFormAGroup(t *testing.T) {
	classPath, err := connectClassPath(t)
	if err != nil {
		report.MissingPeer(t, "Kafka Connect "+connectVersion, err)
		t.SkipNow()
	}
	c := newConnect(t, classPath)
	a, b := c.start("a"), c.start("b")
	c.config(a, map[string]any{"connector.class": "TickSource", "tasks.max": strconv.Itoa(tasks), "topic": ticks})
	c.read(20)
	c.await("both have tasks", func() bool { return len(c.homes(a)) == 2 })
	c.described(2)
	if c.broker.Restart != nil {
		if err := c.broker.Restart(); err != nil {
			t.Fatal(err)
		}
		c.read(20)
	}
	c.twice = 0
	b.process.Kill()
	c.await("the other has all tasks", func() bool { return slices.Equal(c.homes(a), []string{a.url}) })
	c.read(20)
	t.Logf("%d records came twice around the kill", c.twice)
	c.described(1)
	c.twice = 0
	if err := a.process.Stop(patience); err != nil {
		t.Error(err)
	}
	c.start("a2")
	c.read(20)
	if c.twice > 0 {
		t.Errorf("%d records came twice after a clean stop", c.twice)
	}
	if !t.Failed() {
		report.Note(t, report.Run, "Kafka Connect "+connectVersion, "two workers in a group of type connect")
		report.Note(t, report.Shown, "group of Kafka Connect "+connectVersion, "%d tasks survived a kill and went on where they were: %d records, no gap", tasks, c.records)
	}
}

// connectClassPath installs Connect and the connector of the test, which
// Connect finds by a file of services.
func connectClassPath(t *testing.T) (string, error) {
	interop, err := root.Interop()
	if err != nil {
		return "", err
	}
	java := filepath.Join(interop, "clients", "java")
	pom, err := os.ReadFile(filepath.Join(java, "connect.xml"))
	if err != nil {
		return "", err
	}
	libraries, err := maven.Libraries(t.Context(), "connect", pom, connectVersion)
	if err != nil {
		return "", err
	}
	classPath, err := maven.Compile(t.Context(), "java-ticksource-"+connectVersion, filepath.Join(java, "TickSource.java"), libraries)
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	services := filepath.Join(dir, "META-INF", "services")
	if err := os.MkdirAll(services, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(services, "org.apache.kafka.connect.source.SourceConnector")
	return dir + string(os.PathListSeparator) + classPath, os.WriteFile(file, []byte("TickSource\n"), 0o644)
}

type connect struct {
	t         *testing.T
	broker    target.Target
	classPath string
	dir       string
	client    *kgo.Client
	next      [tasks]int
	records   int
	twice     int
	saw       string // when it looked last
}

type worker struct {
	url     string // as the status of tasks names it
	process *proc.Process
}

func newConnect(t *testing.T, classPath string) *connect {
	t.Helper()
	c := &connect{t: t, classPath: classPath, dir: t.TempDir()}
	c.broker = target.Start(t, map[string]string{"group.initial.rebalance.delay.ms": "300", "offsets.topic.num.partitions": "4"})
	if err := admin.CreateTopics(t.Context(), c.broker.Addr, 1, nil, ticks); err != nil {
		t.Fatal(err)
	}
	var err error
	c.client, err = kgo.NewClient(kgo.SeedBrokers(c.broker.Addr), kgo.ConsumeTopics(ticks), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	return c
}

func (c *connect) start(name string) worker {
	c.t.Helper()
	port, err := proc.FreePort()
	if err != nil {
		c.t.Fatal(err)
	}
	at := "127.0.0.1:" + strconv.Itoa(port)
	file := filepath.Join(c.dir, name+".properties")
	logging := filepath.Join(c.dir, "log4j2.properties")
	err = errors.Join(os.WriteFile(file, []byte(c.settings(at)), 0o644), os.WriteFile(logging, []byte(connectLogging), 0o644))
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile="+logging,
		"-cp", c.classPath, "org.apache.kafka.connect.cli.ConnectDistributed", file)
	p, err := proc.Start(cmd, filepath.Join(c.dir, name+".log"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		p.Kill()
		if c.t.Failed() {
			c.t.Logf("%s said last:\n%s", name, p.Tail())
		}
	})
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if _, err := p.Await(ctx, "Kafka Connect started"); err != nil {
		c.t.Fatal(err)
	}
	return worker{at, p}
}

const connectLogging = `rootLogger.level=info
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %m (%c)%n
logger.clients.name=org.apache.kafka.clients
logger.clients.level=warn
`

func (c *connect) settings(at string) string {
	return strings.Join([]string{
		"bootstrap.servers=" + c.broker.Addr, "group.id=connect", "listeners=http://" + at,
		"key.converter=org.apache.kafka.connect.storage.StringConverter", "value.converter=org.apache.kafka.connect.storage.StringConverter",
		"offset.storage.topic=connect-offsets", "offset.storage.replication.factor=1", "offset.storage.partitions=2",
		"config.storage.topic=connect-configs", "config.storage.replication.factor=1",
		"status.storage.topic=connect-status", "status.storage.replication.factor=1", "status.storage.partitions=1",
		"offset.flush.interval.ms=500", "session.timeout.ms=8000", "heartbeat.interval.ms=500",
		"scheduled.rebalance.max.delay.ms=500", "plugin.discovery=service_load",
	}, "\n") + "\n"
}

// config gives the workers the connector.
func (c *connect) config(w worker, config map[string]any) {
	c.t.Helper()
	body, err := json.Marshal(config)
	if err != nil {
		c.t.Fatal(err)
	}
	var last string
	c.await("the connector is taken", func() bool {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, "http://"+w.url+"/connectors/tick/config", bytes.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			c.t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		c.saw = fmt.Sprint(answer.StatusCode, " ", string(text))
		if c.saw != last {
			last = c.saw
			c.t.Log(last)
		}
		return answer.StatusCode < 300 // 409: a rebalance is under way
	})
}

// homes are the workers whose tasks run, each once, when all tasks run.
func (c *connect) homes(w worker) (homes []string) {
	c.t.Helper()
	answer, err := http.Get("http://" + w.url + "/connectors/tick/status")
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	var status struct {
		Tasks []struct {
			State  string
			Worker string `json:"worker_id"`
		}
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		c.saw = string(text)
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	for _, task := range status.Tasks {
		if task.State != "RUNNING" {
			return nil
		}
		homes = append(homes, task.Worker)
	}
	slices.Sort(homes)
	return slices.Compact(homes)
}

func (c *connect) await(what string, ok func() bool) {
	c.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			c.t.Fatalf("waiting until %s; last seen: %s", what, c.saw)
		}
	}
}

// read reads on until every task has counted so much further; no number may
// come before the one below it.
func (c *connect) read(further int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	goal := c.next
	for i := range goal {
		goal[i] += further
	}
	behind := func() bool {
		for i := range goal {
			if c.next[i] < goal[i] {
				return true
			}
		}
		return false
	}
	for behind() {
		fetches := c.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			c.t.Fatalf("%v; the tasks are at %v of %v", err, c.next, goal)
		}
		fetches.EachRecord(c.count)
	}
}

func (c *connect) count(r *kgo.Record) {
	task, err := strconv.Atoi(string(r.Key))
	if err != nil || task >= tasks {
		c.t.Fatalf("a record of %q", r.Key)
	}
	n, err := strconv.Atoi(string(r.Value))
	switch {
	case err != nil || n > c.next[task]:
		c.t.Fatalf("task %d says %q after %d", task, r.Value, c.next[task]-1)
	case n < c.next[task]:
		c.twice++
	default:
		c.next[task]++
		c.records++
	}
}

// described looks at the group from outside.
func (c *connect) described(members int) {
	c.t.Helper()
	c.await(fmt.Sprintf("the group has %d members", members), func() bool {
		groups, err := kadm.NewClient(c.client).DescribeGroups(c.t.Context(), "connect")
		if err != nil {
			c.t.Fatal(err)
		}
		g := groups["connect"]
		c.saw = fmt.Sprintf("%s, %q, %d members, %v", g.State, g.ProtocolType, len(g.Members), g.Err)
		return g.State == "Stable" && g.ProtocolType == "connect" && len(g.Members) == members
	})
}
