package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/interop/internal/peer"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
)

// Fences: what keeps a worker that was taken for dead from committing.
const (
	byGroup     = "group"     // the group's metadata in its transaction (KIP-447)
	byPartition = "partition" // a transactional id for each partition of the input
)

// client is a library in one version, as a worker.
type client struct {
	name     string
	fence    string
	assignor string
	moments  []kind // what it says within its transactions
	short    bool   // others have to wait until its transactions are out of time
	lacks    string // what it cannot do, so that its program goes around it
	byLine   bool   // it goes nowhere but to its bootstrap address, so that its network can be cut
	unit     string // what it tells of; empty: transactions
	command  commandFor
}

const streamsVersion = "4.4.0"

var withinTransactions = []kind{began, ending}

// allClients is every client; goWorker is the built program of the Go ones.
func allClients(goWorker string) []client {
	return []client{
		javaClient("2.3.1", byPartition),
		javaClient("2.8.2", byGroup),
		javaClient("3.9.1", byGroup),
		javaClient("4.4.0", byGroup),
		{name: "Kafka Streams " + streamsVersion, fence: byGroup, moments: []kind{handled}, short: true, command: streams},
		{name: "confluent-kafka 2.16.1", fence: byGroup, assignor: "range", moments: withinTransactions,
			lacks: "starting over from its bootstrap servers under a transaction: send_offsets_to_transaction hangs then, with Kafka too",
			command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
				return peer.Python(ctx, "exactlyonce_confluent.py", args...)
			}},
		lineClient(goWorker, "franz-go 1.22.3", "franz-go", byGroup),
		lineClient(goWorker, "franz-go 1.22.3 as before KIP-890", "franz-go-39", byGroup),
		ourClient(goWorker, ours, "skein", byGroup),
		ourClient(goWorker, oursParallel, "skein-parallel", byGroup),
		ourClient(goWorker, oursByPartition, "skein", byPartition),
		saramaClient(goWorker, "sarama 1.61.1", byPartition),
		saramaClient(goWorker, "sarama 1.61.1 with the group's metadata", byGroup),
		{name: "kafkajs 2.2.4", fence: byPartition, assignor: "roundrobin", moments: withinTransactions,
			command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
				return peer.Node(ctx, "exactlyonce_kafkajs.js", args...)
			}},
	}
}

// javaFlags make many small machines start fast side by side.
var javaFlags = []string{"-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}

func javaClient(version, fence string) client {
	return client{name: "java " + version, fence: fence, assignor: "range", moments: withinTransactions,
		command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
			return peer.Java(ctx, version, "ExactlyOnce", javaFlags, args...)
		}}
}

func goClient(program, name, library, fence string) client {
	return client{name: name, fence: fence, assignor: "range", moments: withinTransactions,
		command: func(_ context.Context, args ...string) (*exec.Cmd, error) {
			return exec.Command(program, append([]string{library}, args...)...), nil
		}}
}

// Names of package exactlyonce as a worker.
const (
	ours            = "skein exactlyonce"
	oursParallel    = "skein exactlyonce with a call for each partition"
	oursByPartition = "skein exactlyonce with a producer for each partition"
)

func lineClient(program, name, library, fence string) client {
	c := goClient(program, name, library, fence)
	c.byLine = true
	return c
}

// ourClient has transactional ids that die with its workers. If who is about to
// fence one is killed, too, others wait until it is out of time.
func ourClient(program, name, library, fence string) client {
	c := lineClient(program, name, library, fence)
	c.unit, c.short = "calls", true
	return c
}

// saramaClient waits for stable offsets before it can fence by partition.
func saramaClient(program, name, fence string) client {
	c := goClient(program, name, "sarama", fence)
	c.short = fence == byPartition
	c.lacks = "AddMessageToTxn that goes with Java in one group: it says leader epoch 0, and a Java member goes back to where that ended"
	return c
}

// streams is a Kafka Streams application with exactly_once_v2.
func streams(ctx context.Context, args ...string) (*exec.Cmd, error) {
	interop, err := root.Interop()
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(interop, "clients", "java", "ExactlyOnceStreams.java"))
	if err != nil {
		return nil, err
	}
	tools, err := kafka.InstallStreams(ctx, streamsVersion)
	if err != nil {
		return nil, err
	}
	classPath, err := tools.Compile(ctx, "ExactlyOnceStreams", source)
	if err != nil {
		return nil, err
	}
	all := append(append([]string{"-XX:+UseSerialGC", "-XX:-UsePerfData"}, javaFlags...), "-cp", classPath, "ExactlyOnceStreams")
	return exec.Command("java", append(all, args...)...), nil
}

// buildGoWorker builds the program of the Go clients into dir.
func buildGoWorker(ctx context.Context, dir string) (string, error) {
	source, err := root.Interop()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "worker")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", name, "./clients/go/worker")
	cmd.Dir = source
	_, err = proc.Output(cmd)
	return name, err
}

// named are the clients whose names begin so, in that order.
func named(clients []client, prefixes ...string) (picked []client, err error) {
	for _, prefix := range prefixes {
		found := false
		for _, c := range clients {
			if !found && strings.HasPrefix(c.name, prefix) {
				picked, found = append(picked, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: no client %s", errors.ErrUnsupported, prefix)
		}
	}
	return picked, nil
}
