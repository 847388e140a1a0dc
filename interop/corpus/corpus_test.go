// Package corpus sends a real text of more than a million records through one
// client and compares what others read, byte for byte.
package corpus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
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
	records    = 1_050_000
	partitions = 4
	// readersAtOnce keeps two cores busy without starving the broker.
	readersAtOnce = 2
)

func TestAMillionRecordsThroughOneClientAreReadAlikeByOthers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "corpus")
	want := writeCorpus(ctx, t, file)
	broker := target.Start(t, nil)
	for _, way := range []struct{ client, codec string }{
		{"franz-go", "zstd"}, {"sarama", "snappy"}, {"java 4", "lz4"}, {"confluent-kafka", "none"},
	} {
		topic := "corpus-" + way.codec
		if err := admin.CreateTopics(ctx, broker.Addr, partitions, nil, topic); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		produce(ctx, t, broker, way.client, topic, way.codec, file)
		t.Logf("%s produced %d records with %s in %v", way.client, records, way.codec, time.Since(began).Round(time.Millisecond))
		readByAll(ctx, t, broker, topic, file, want)
	}
}

func writeCorpus(ctx context.Context, t *testing.T, file string) sums {
	t.Helper()
	w, err := stream.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	count, err := dataset.Corpus(ctx, records, partitions, time.Now().Add(-time.Hour).UnixMilli(), w.Write)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Logf("the corpus: %+v", count)
	if count.Records != records || count.Empty == 0 || count.Huge == 0 || count.NotUTF8 == 0 {
		t.Fatalf("the corpus lacks something: %+v", count)
	}
	want, err := sumFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func produce(ctx context.Context, t *testing.T, broker target.Target, client, topic, codec, file string) {
	t.Helper()
	c, ok := peer.Named(client)
	if !ok {
		t.Fatalf("no client %s", client)
	}
	conn, ok := peer.Open(ctx, t, c)
	if !ok {
		t.Skip("the producer cannot be had here")
	}
	if err := conn.Produce(ctx, broker.Addr, topic, codec, file); err != nil {
		t.Fatal(err)
	}
}

func readByAll(ctx context.Context, t *testing.T, broker target.Target, topic, file string, want sums) {
	var group errgroup.Group
	group.SetLimit(readersAtOnce)
	for _, c := range peer.All() {
		if !c.Fast {
			continue
		}
		conn, ok := peer.Open(ctx, t, c)
		if !ok {
			continue
		}
		out := filepath.Join(t.TempDir(), "read")
		group.Go(func() error {
			began := time.Now()
			if err := readOne(ctx, broker, conn, topic, out, file, want); err != nil {
				t.Errorf("%s: %v", c.Name, err)
				return nil
			}
			report.Note(t, report.Shown, topic+" read by "+c.Name, "%d records equal in every byte, in %v", records, time.Since(began).Round(100*time.Millisecond))
			return nil
		})
	}
	_ = group.Wait()
}

func readOne(ctx context.Context, broker target.Target, conn peer.Conn, topic, out, file string, want sums) error {
	defer os.Remove(out)
	if err := conn.Consume(ctx, broker.Addr, topic, records, out); err != nil {
		return err
	}
	got, err := sumFile(out)
	if err != nil {
		return err
	}
	if got == want {
		return nil
	}
	return firstDifference(file, out)
}

// sums is a checksum of each partition's records in order.
type sums [partitions][sha256.Size]byte

func sumFile(file string) (sums, error) {
	var all sums
	var hashes [partitions]hash.Hash
	for i := range hashes {
		hashes[i] = sha256.New()
	}
	in, err := stream.Open(file)
	if err != nil {
		return all, err
	}
	defer in.Close()
	var one []byte
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return all, err
		}
		one = stream.Append(one[:0], r)
		hashes[r.Partition].Write(one)
	}
	for i := range hashes {
		hashes[i].Sum(all[i][:0])
	}
	return all, nil
}

func firstDifference(sent, read string) error {
	want, err := stream.ReadAll(sent)
	if err != nil {
		return err
	}
	got, err := stream.ReadAll(read)
	if err != nil {
		return err
	}
	if err := dataset.Compare(want, got, stream.Fidelity{}, stream.Fidelity{}); err != nil {
		return err
	}
	return fmt.Errorf("the checksums differ and the records do not")
}
