package storage

import (
	"context"
	"fmt"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// small is a configuration under which little data makes many segments and index
// entries.
func small() Config {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexInterval = 2000, 200
	cfg.RetentionMs, cfg.FileDeleteDelayMs = -1, 1000
	return cfg
}

const dir = "data/topic-0"

// memory is a file system with a directory for logs.
func memory(t testing.TB) (*vfs.Memory, *Files) {
	t.Helper()
	fs := vfs.NewMemory()
	must(t, fs.MkdirAll("data"))
	must(t, fs.SyncDir("."))
	return fs, NewFiles(fs, 4)
}

func open(t testing.TB, files *Files, cfg Config, rec Recovery) (*Log, Report) {
	t.Helper()
	l, report, err := Open(context.Background(), files, dir, cfg, rec)
	if err != nil {
		t.Fatal(err)
	}
	return l, report
}

// fresh opens an empty log in memory.
func fresh(t testing.TB, cfg Config) (*Log, *vfs.Memory) {
	fs, files := memory(t)
	l, _ := open(t, files, cfg, Recovery{})
	return l, fs
}

// reopen closes the log and opens it again.
func reopen(t testing.TB, l *Log) *Log {
	t.Helper()
	must(t, l.Close())
	again, report := open(t, NewFiles(l.fs, 4), l.Config(), Recovery{DurableTo: l.RecoveryPoint(), Clean: true, StartOffset: l.StartOffset()})
	if report.Scanned > 0 || report.Cut > 0 || len(report.Rebuilt) > 0 {
		t.Fatalf("a closed log needed recovery: %+v", report)
	}
	return again
}

// batch is a batch of records with these timestamps at the log's end.
func batch(l *Log, times ...int64) record.Batch {
	return batchAt(l.EndOffset(), times...)
}

func batchAt(base int64, times ...int64) record.Batch {
	b := record.NewBuilder(base)
	b.LeaderEpoch = 0
	for i, time := range times {
		b.Append(time, nil, fmt.Appendf(nil, "value of offset %d", base+int64(i)))
	}
	return b.Bytes()
}

func write(t testing.TB, l *Log, batches ...record.Batch) {
	t.Helper()
	for _, b := range batches {
		must(t, l.Write(b, 0))
	}
}

// fill writes n batches of size records, one ms apart.
func fill(t testing.TB, l *Log, n, size int) {
	t.Helper()
	for range n {
		times := make([]int64, size)
		for i := range times {
			times[i] = 1000 + l.EndOffset() + int64(i)
		}
		write(t, l, batch(l, times...))
	}
}

// contents reads the log in pieces of at most max bytes.
func contents(t testing.TB, l *Log, from int64, max int) []byte {
	t.Helper()
	var all []byte
	for end := l.EndOffset(); from < end; end = l.EndOffset() {
		s, err := l.Read(from, end, max, true)
		must(t, err)
		// What was below end may have been cleaned away since: then there is something behind it.
		if s.End <= from && l.EndOffset() == end {
			t.Fatalf("reading offset %d of %d brings nothing", from, end)
		}
		all = append(all, bytesOf(t, s)...)
		from = s.End
	}
	return all
}

// bytesOf reads a slice and gives it back.
func bytesOf(t testing.TB, s Slice) []byte {
	t.Helper()
	if s.Len == 0 {
		return nil
	}
	defer s.Release()
	b := make([]byte, s.Len)
	if n, err := s.ReadAt(b, 0); n != len(b) {
		t.Fatal(err)
	}
	return b
}

// bases are the base offsets of the batches in b.
func bases(t testing.TB, b []byte) []int64 {
	t.Helper()
	var list []int64
	for batch, err := range record.Batches(b) {
		must(t, err)
		list = append(list, batch.Header().BaseOffset)
	}
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
