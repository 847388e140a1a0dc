// Package peer gives the tests unmodified Kafka clients of other projects, all
// behind one small interface: write the records of a file to a topic, read the
// records of a topic into a file. Go clients run in process; others are the
// small programs under clients/, fed with commands.
package peer

import (
	"context"
	"errors"
	"testing"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/stream"
)

// ErrLacks says that a client does not know what it was asked for, for
// instance a codec.
var ErrLacks = errors.New("the client does not know it")

// Codecs are the compressions of the protocol.
func Codecs() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// Linked is a codec of those clients that can write lz4 frames with linked
// blocks, which no broker may accept: Java cannot read them.
const Linked = "lz4-linked"

// Client describes one client library in one version.
type Client struct {
	Name string // library and version
	// Sends is what gets lost when it produces, Reads when it consumes.
	Sends, Reads stream.Fidelity
	// NeedsGroup says that it cannot consume without a consumer group.
	NeedsGroup bool
	// WritesLinked says that it can be made to produce with codec Linked.
	WritesLinked bool
	// Fast clients take part in tests of millions of records.
	Fast bool

	open func(ctx context.Context, dir string) (Conn, error)
}

// Conn is a client ready to take commands, one at a time.
type Conn interface {
	// Produce sends the records of file (package stream) to topic, with
	// acks=all and, where the client has it, idempotence, and returns when all
	// are acknowledged.
	Produce(ctx context.Context, bootstrap, topic, codec, file string) error
	// Consume reads the first count records of topic, from the beginning of
	// every partition, into file.
	Consume(ctx context.Context, bootstrap, topic string, count int, file string) error
	Close() error
}

// All is every client, in the order of reports.
func All() []Client {
	var all []Client
	all = append(all, goClients()...)
	all = append(all, javaClients()...)
	all = append(all, kcatClient())
	all = append(all, pythonClients()...)
	return append(all, nodeClients()...)
}

// Named is the client whose name begins with prefix.
func Named(prefix string) (Client, bool) {
	for _, c := range All() {
		if len(c.Name) >= len(prefix) && c.Name[:len(prefix)] == prefix {
			return c, true
		}
	}
	return Client{}, false
}

// Open installs the client if need be and starts it; it ends with the test.
// Where the client cannot be had, that is reported and ok is false.
func Open(ctx context.Context, t testing.TB, c Client) (conn Conn, ok bool) {
	t.Helper()
	conn, err := c.open(ctx, t.TempDir())
	if err != nil {
		report.MissingPeer(t, c.Name, err)
		return nil, false
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, true
}
