package storage

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/internal/vfs"
)

// The directory testdata/kafka-4.4 was written by Apache Kafka 4.4.0, with
// index.interval.bytes=500 and segment.index.bytes=160: a plain idempotent
// producer, and a transactional one that aborts every other transaction.
const kafkaDir = "testdata/kafka-4.4"

func kafkaConfig() Config {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexInterval, cfg.IndexBytes, cfg.RetentionMs = 1<<20, 500, 160, -1
	return cfg
}

// fromKafka copies the files that keep says into a log's directory in memory.
func fromKafka(t *testing.T, keep func(name string) bool) *vfs.Memory {
	t.Helper()
	fs := vfs.NewMemory()
	must(t, fs.MkdirAll(dir))
	names, err := os.ReadDir(kafkaDir)
	must(t, err)
	for _, n := range names {
		if keep(n.Name()) {
			must(t, vfs.WriteFile(fs, filepath.Join(dir, n.Name()), kafkaFile(t, n.Name())))
		}
	}
	return fs
}

func kafkaFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(kafkaDir, name))
	must(t, err)
	return b
}

func TestOpensALogThatKafkaClosed(t *testing.T) {
	fs := fromKafka(t, func(string) bool { return true })
	l, report := open(t, NewFiles(fs, 4), kafkaConfig(), Recovery{DurableTo: 125, Clean: true})
	if report.Scanned > 0 || len(report.Rebuilt) > 0 || report.Segments != 2 {
		t.Fatalf("%+v", report)
	}
	expect(t, "end", l.EndOffset(), 125)
	if all := contents(t, l, 0, 3000); int64(len(all)) != l.Size() {
		t.Fatalf("%d bytes of %d", len(all), l.Size())
	}
	aborted, err := l.AbortedTransactions(0, 125)
	must(t, err)
	expect(t, "aborted transactions", len(aborted), 5)
	expect(t, "epoch of the first record", l.EpochAt(0), 0)
	expect(t, "last sequence of producer 0", lastSequence(l, 0), 72)
}

func lastSequence(l *Log, id int64) int32 {
	e := l.Producer(id)
	return e.LastSequence()
}

// What we derive from Kafka's segments alone is, byte for byte, what Kafka wrote.
func TestDerivesTheFilesThatKafkaDoes(t *testing.T) {
	fs := fromKafka(t, func(name string) bool { return strings.HasSuffix(name, logSuffix) })
	l, report := open(t, NewFiles(fs, 4), kafkaConfig(), Recovery{})
	expect(t, "bytes read through", report.Scanned, l.Size())
	must(t, l.Close())
	for _, name := range []string{
		"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.txnindex",
		"00000000000000000073.log", "00000000000000000073.index", "00000000000000000073.timeindex", "00000000000000000073.txnindex",
		epochsName,
	} {
		got, err := vfs.ReadFile(fs, filepath.Join(dir, name))
		must(t, err)
		if want := kafkaFile(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x, Kafka has\n%x", name, got, want)
		}
	}
	for _, name := range []string{"00000000000000000073.snapshot", "00000000000000000125.snapshot"} {
		checkSnapshot(t, fs, name)
	}
}

// checkSnapshot compares the part of a snapshot that Kafka knows.
func checkSnapshot(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	got, err := vfs.ReadFile(fs, filepath.Join(dir, name))
	must(t, err)
	want := kafkaFile(t, name)
	const crcEnd = 6
	if !bytes.Equal(got[crcEnd:len(want)], want[crcEnd:]) {
		t.Errorf("%s is\n%x, Kafka has\n%x", name, got[:len(want)], want)
	}
	if _, err := producers.Restore(want); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// A log written by us has the files that Kafka would have written.
func TestWritesTheFilesThatKafkaDoes(t *testing.T) {
	kafka := fromKafka(t, func(string) bool { return true })
	theirs, _ := open(t, NewFiles(kafka, 4), kafkaConfig(), Recovery{DurableTo: 125, Clean: true})
	l, fs := fresh(t, kafkaConfig())
	must(t, l.Write(contents(t, theirs, 0, 1<<20), 0))
	must(t, l.Close())
	for _, name := range []string{
		"00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.txnindex",
		"00000000000000000073.log", "00000000000000000073.index", "00000000000000000073.timeindex", "00000000000000000073.txnindex",
	} {
		got, err := vfs.ReadFile(fs, filepath.Join(dir, name))
		must(t, err)
		if want := kafkaFile(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x, Kafka has\n%x", name, got, want)
		}
	}
	checkSnapshot(t, fs, "00000000000000000125.snapshot")
	found, err := Verify(context.Background(), fs, dir)
	must(t, err)
	if len(found.Damage)+len(found.Derived) > 0 {
		t.Fatalf("%+v", found)
	}
}
