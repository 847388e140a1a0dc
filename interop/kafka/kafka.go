// Package kafka starts real Apache Kafka brokers, one node each, on free ports
// of the loopback interface, and runs Kafka's own command-line tools, for the
// interop tests and for the comparisons of bench.
package kafka

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/proc"
)

// Releases that the tests use.
const (
	V4 = "4.4.0"
	V3 = "3.9.1"
	// V2 is from before KIP-447, with a ZooKeeper of its own. It has no Secure listener.
	V2 = "2.4.1"
	// V0 is the oldest that knows today's records and transactions.
	V0 = "0.11.0.3"
)

// brokerLogging gives each log message a line of its own, which log4j2 without
// a configuration does not.
const brokerLogging = `rootLogger.level=info
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %m (%c)%n
`

// oldLogging is for the log4j that old releases have, which says nothing without
// one. The new one refuses a file with these words in it.
const oldLogging = `log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %m (%c)%n
`

//go:embed testdata/*.xml
var poms embed.FS

// startPatience bounds a broker's start, stopPatience its clean end.
const (
	startPatience = 90 * time.Second
	stopPatience  = 30 * time.Second
)

// Options say which broker to start. With Dir alone it is Kafka 4.4 with one
// plaintext listener.
type Options struct {
	Dir      string            // an existing directory for the broker's configuration and log
	DataDir  string            // "data" in Dir when empty; an existing one is taken up again
	Version  string            // V4 when empty
	JVM      []string          // flags of the Java machine; a small one when nil
	Settings map[string]string // broker settings, over the launcher's own
	Secure   bool              // adds a SASL_SSL listener: see Broker.Security
}

// smallJVM starts fast and leaves room for the others on the machine.
func smallJVM() []string { return []string{"-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx768m"} }

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = V4
	}
	if o.DataDir == "" {
		o.DataDir = filepath.Join(o.Dir, "data")
	}
	if o.JVM == nil {
		o.JVM = smallJVM()
	}
	return o
}

// Broker is a running Kafka.
type Broker struct {
	Addr     string // bootstrap address of the plaintext listener
	DataDir  string // log.dirs: holds one directory a partition
	Security *Security
	Tools    Tools
	Began    time.Time // just before the process was started

	process *proc.Process
	keeper  *proc.Process // nil where none is needed
}

// Install makes sure that the release's jars are in the cache.
func Install(ctx context.Context, version string) (Tools, error) {
	name := "testdata/broker4.xml"
	switch {
	case strings.HasPrefix(version, "3."):
		name = "testdata/broker3.xml"
	case strings.HasPrefix(version, "2."):
		name = "testdata/broker2.xml"
	case needsKeeper(version):
		name = "testdata/broker1.xml"
	}
	pom, err := poms.ReadFile(name)
	if err != nil {
		return Tools{}, err
	}
	classPath, err := maven.Libraries(ctx, "kafka", pom, version)
	if err != nil {
		return Tools{}, err
	}
	return Tools{Version: version, classPath: classPath}, nil
}

// ErrUnavailable says that Kafka could not be had on this machine.
var ErrUnavailable = errors.New("not available on this machine")

// Start starts a broker and waits until it serves. The error is
// ErrUnavailable when Kafka could not be had; any other is a fault. Whoever
// starts a broker stops it.
func Start(ctx context.Context, o Options) (*Broker, error) {
	for tries := 1; ; tries++ {
		b, err := Launch(ctx, o)
		if err != nil {
			return nil, err
		}
		if err = b.Await(ctx); err == nil || tries == portTries || !b.process.PortTaken() {
			return b, err
		}
	}
}

// portTries is how often Start looks for ports that nobody takes before Kafka
// does, which must know them beforehand.
const portTries = 5

// Launch is Start without the wait: the process has just been started. ctx
// bounds the preparations.
func Launch(ctx context.Context, o Options) (*Broker, error) {
	o = o.withDefaults()
	tools, err := Install(ctx, o.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	b := &Broker{Tools: tools, DataDir: o.DataDir}
	settings, err := b.settings(o)
	if err != nil {
		return nil, err
	}
	if needsKeeper(o.Version) {
		if err := b.keep(ctx, o, settings); err != nil {
			return nil, err
		}
	}
	config := filepath.Join(o.Dir, "server.properties")
	if err := os.WriteFile(config, []byte(properties(settings)), 0o644); err != nil {
		return nil, err
	}
	if err := b.format(ctx, config); err != nil {
		b.endKeeper()
		return nil, err
	}
	logging, text, flag := filepath.Join(o.Dir, "logging.properties"), brokerLogging, "-Dlog4j2.configurationFile="
	if needsKeeper(o.Version) {
		text, flag = oldLogging, "-Dlog4j.configuration=file:"
	}
	if err := os.WriteFile(logging, []byte(text), 0o644); err != nil {
		return nil, err
	}
	jvm := append([]string{flag + logging}, o.JVM...)
	b.Began = time.Now()
	b.process, err = proc.Start(b.Tools.java(context.Background(), jvm, "kafka.Kafka", config), filepath.Join(o.Dir, "kafka.log"))
	return b, err
}

// Await waits until the broker says that it has started; one that does not is
// killed.
func (b *Broker) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	word := "Kafka Server started"
	switch {
	case b.Tools.Version == V0:
		word = "], started"
	case b.keeper != nil:
		word = "] started"
	}
	_, err := b.process.Await(ctx, word)
	if err != nil {
		b.Kill()
	}
	return err
}

// format prepares an empty data directory; one in use is left as it is.
func (b *Broker) format(ctx context.Context, config string) error {
	if _, err := os.Stat(filepath.Join(b.DataDir, "meta.properties")); err == nil || b.keeper != nil {
		return nil
	}
	_, err := b.Tools.Run(ctx, "kafka.tools.StorageTool", "format", "-t", "c2tlaW4taW50ZXJvcC1rYQ", "-c", config)
	return err
}

func (b *Broker) settings(o Options) (map[string]string, error) {
	client, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	controller, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	b.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(client))
	control := net.JoinHostPort("127.0.0.1", strconv.Itoa(controller))
	s := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  "1",
		"controller.quorum.voters":                 "1@" + control,
		"controller.listener.names":                "CONTROLLER",
		"listeners":                                "PLAINTEXT://" + b.Addr + ",CONTROLLER://" + control,
		"advertised.listeners":                     "PLAINTEXT://" + b.Addr,
		"listener.security.protocol.map":           "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                                 b.DataDir,
		"group.initial.rebalance.delay.ms":         "0",
		"offsets.topic.num.partitions":             "4",
		"offsets.topic.replication.factor":         "1",
		"transaction.state.log.num.partitions":     "4",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
	}
	if strings.HasPrefix(o.Version, "4.") {
		s["share.coordinator.state.topic.replication.factor"] = "1"
		s["share.coordinator.state.topic.min.isr"] = "1"
	}
	if needsKeeper(o.Version) {
		old(s, b.Addr)
	}
	if o.Secure {
		if err := b.secure(o.Dir, s); err != nil {
			return nil, err
		}
	}
	for k, v := range o.Settings {
		s[k] = v
	}
	return s, nil
}

// Kill ends the broker as a crash would.
func (b *Broker) Kill() {
	b.process.Kill()
	b.endKeeper()
}

// Stop ends the broker cleanly.
func (b *Broker) Stop() error {
	defer b.endKeeper()
	return b.process.Stop(stopPatience)
}

// Pid is the broker's process id.
func (b *Broker) Pid() int { return b.process.Pid() }

// Tail is the end of what the broker has printed.
func (b *Broker) Tail() string { return b.process.Tail() }

func properties(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%s=%s\n", k, m[k])
	}
	return b.String()
}

// Tools are the command-line tools of one release.
type Tools struct {
	Version   string
	classPath string
}

// ClassPath is a Java class path that holds the release's jars.
func (t Tools) ClassPath() string { return t.classPath }

// Names of the tools' classes.
const (
	TopicCommand        = "org.apache.kafka.tools.TopicCommand"
	ConfigCommand       = "org.apache.kafka.tools.ConfigCommand"
	GetOffsetShell      = "org.apache.kafka.tools.GetOffsetShell"
	DumpLogSegments     = "org.apache.kafka.tools.DumpLogSegments"
	ConsoleProducer     = "org.apache.kafka.tools.ConsoleProducer"
	ConsoleConsumer     = "org.apache.kafka.tools.consumer.ConsoleConsumer"
	ProducerPerformance = "org.apache.kafka.tools.ProducerPerformance"
	DeleteRecords       = "org.apache.kafka.tools.DeleteRecordsCommand"
	LogDirs             = "org.apache.kafka.tools.LogDirsCommand"
	BrokerApiVersions   = "org.apache.kafka.tools.BrokerApiVersionsCommand"
)

// Run runs one tool to its end and returns what it printed.
func (k Tools) Run(ctx context.Context, class string, args ...string) (string, error) {
	return proc.Output(k.command(ctx, class, args...))
}

// RunWithInput is Run with text on the tool's standard input.
func (k Tools) RunWithInput(ctx context.Context, input, class string, args ...string) (string, error) {
	cmd := k.command(ctx, class, args...)
	cmd.Stdin = strings.NewReader(input)
	return proc.Output(cmd)
}

func (k Tools) command(ctx context.Context, class string, args ...string) *exec.Cmd {
	quiet := []string{"-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"}
	return k.java(ctx, append(smallJVM(), quiet...), class, args...)
}

func (k Tools) java(ctx context.Context, jvm []string, class string, args ...string) *exec.Cmd {
	all := append(slices.Clone(jvm), "-cp", k.classPath, class)
	return exec.CommandContext(ctx, "java", append(all, args...)...)
}
