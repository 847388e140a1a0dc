// Package matrix lets every client read what every client wrote, with every
// codec.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/dataset"
	"github.com/skeinstream/skein/interop/internal/peer"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/stream"
	"github.com/skeinstream/skein/interop/internal/target"
)

func TestMain(m *testing.M) { report.Main(m) }

const (
	partitions         = 3
	keyFindCoordinator = 10
	clientsAtOnce      = 3
)

// one client with one codec writes one topic.
type written struct {
	by     peer.Client
	codec  string
	topic  string
	file   string
	sent   []stream.Record
	failed error
}

func TestEveryClientReadsWhatEveryClientWroteWithEveryCodec(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	broker := target.Start(t, nil)
	conns := openAll(ctx, t)
	all := plan(t, conns)
	createTopics(ctx, t, broker, all)

	t.Run("produce", func(t *testing.T) {
		eachClient(conns, func(c peer.Client, conn peer.Conn) { produceAll(ctx, t, broker, c, conn, all) })
	})
	groups, err := admin.Advertises(ctx, broker.Addr, keyFindCoordinator)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("consume", func(t *testing.T) {
		eachClient(conns, func(c peer.Client, conn peer.Conn) {
			if c.NeedsGroup && !groups {
				report.Note(t, report.Lacks, c.Name+" consuming", "it has no consumer without a group, and the broker has no groups yet; others read what it wrote")
				return
			}
			consumeAll(ctx, t, broker, c, conn, all)
		})
	})
}

// TestLinkedLz4IsRefused: such a batch would make its partition unreadable for
// every Java consumer (T38).
func TestLinkedLz4IsRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	broker := target.Start(t, nil)
	for _, c := range peer.All() {
		if !c.WritesLinked {
			continue
		}
		conn, ok := peer.Open(ctx, t, c)
		if !ok {
			continue
		}
		if err := admin.CreateTopics(ctx, broker.Addr, partitions, nil, "linked"); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "records")
		if err := stream.WriteAll(file, dataset.Awkward(1, partitions)); err != nil {
			t.Fatal(err)
		}
		err := conn.Produce(ctx, broker.Addr, "linked", peer.Linked, file)
		if err == nil {
			t.Errorf("%s produced lz4 frames with linked blocks, which Java cannot read, and was not refused", c.Name)
			continue
		}
		report.Note(t, report.Refused, c.Name+" with "+peer.Linked, "%v", err)
	}
}

func openAll(ctx context.Context, t *testing.T) map[string]peer.Conn {
	t.Helper()
	conns := make(map[string]peer.Conn)
	for _, c := range peer.All() {
		if conn, ok := peer.Open(ctx, t, c); ok {
			conns[c.Name] = conn
		}
	}
	return conns
}

func plan(t *testing.T, conns map[string]peer.Conn) []*written {
	t.Helper()
	dir := t.TempDir()
	var all []*written
	for _, c := range peer.All() {
		if conns[c.Name] == nil {
			continue
		}
		for _, codec := range peer.Codecs() {
			topic := topicName(c.Name, codec)
			w := &written{by: c, codec: codec, topic: topic, file: filepath.Join(dir, topic)}
			w.sent = dataset.Awkward(uint64(len(all)), partitions)
			if err := stream.WriteAll(w.file, w.sent); err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
	}
	return all
}

func topicName(client, codec string) string {
	return strings.NewReplacer(" ", "-", "@", "", "/", "-").Replace(client) + "-" + codec
}

func createTopics(ctx context.Context, t *testing.T, broker target.Target, all []*written) {
	t.Helper()
	var names []string
	for _, w := range all {
		names = append(names, w.topic)
	}
	// The records are old; they must outlive the test.
	keep := map[string]string{"retention.ms": "-1"}
	if err := admin.CreateTopics(ctx, broker.Addr, partitions, keep, names...); err != nil {
		t.Fatal(err)
	}
}

// eachClient runs f for every client, a few at a time.
func eachClient(conns map[string]peer.Conn, f func(peer.Client, peer.Conn)) {
	var group errgroup.Group
	group.SetLimit(clientsAtOnce)
	for _, c := range peer.All() {
		if conn := conns[c.Name]; conn != nil {
			group.Go(func() error { f(c, conn); return nil })
		}
	}
	_ = group.Wait()
}

func produceAll(ctx context.Context, t *testing.T, broker target.Target, c peer.Client, conn peer.Conn, all []*written) {
	began := time.Now()
	count := 0
	for _, w := range all {
		if w.by.Name != c.Name {
			continue
		}
		w.failed = conn.Produce(ctx, broker.Addr, w.topic, w.codec, w.file)
		switch {
		case errors.Is(w.failed, peer.ErrLacks):
			report.Note(t, report.Lacks, c.Name+" producing "+w.codec, "%v", w.failed)
		case w.failed != nil:
			t.Errorf("%s producing with %s: %v", c.Name, w.codec, w.failed)
		default:
			count++
		}
	}
	report.Note(t, report.Run, c.Name, "produced with %d codecs", count)
	t.Logf("%s produced in %v", c.Name, time.Since(began).Round(time.Millisecond))
}

func consumeAll(ctx context.Context, t *testing.T, broker target.Target, c peer.Client, conn peer.Conn, all []*written) {
	began := time.Now()
	dir := t.TempDir()
	read := 0
	for _, w := range all {
		if w.failed != nil {
			continue
		}
		err := consumeOne(ctx, broker, c, conn, w, filepath.Join(dir, "read"))
		switch {
		case errors.Is(err, peer.ErrLacks):
			report.Note(t, report.Lacks, c.Name+" consuming "+w.codec, "%v", err)
		case err != nil:
			t.Errorf("%s reading what %s wrote with %s: %v", c.Name, w.by.Name, w.codec, err)
		default:
			read++
		}
	}
	report.Note(t, report.Shown, c.Name+" reading", "%d topics of all clients and codecs, equal in every byte", read)
	t.Logf("%s read in %v", c.Name, time.Since(began).Round(time.Millisecond))
}

func consumeOne(ctx context.Context, broker target.Target, c peer.Client, conn peer.Conn, w *written, file string) error {
	if err := conn.Consume(ctx, broker.Addr, w.topic, len(w.sent), file); err != nil {
		return err
	}
	read, err := stream.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading its output: %w", err)
	}
	return dataset.Compare(w.sent, read, w.by.Sends, c.Reads)
}
