package storage

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// onDisk is an empty log on the real disk, with Kafka's defaults.
func onDisk(b *testing.B) *Log {
	b.Helper()
	l, _, err := Open(context.Background(), NewFiles(vfs.Disk(), 0), filepath.Join(b.TempDir(), "topic-0"), wide(), Recovery{})
	must(b, err)
	b.Cleanup(func() { must(b, l.Delete()) })
	return l
}

// sixteen is a batch of 16 records of 1 KiB.
func sixteen() record.Batch {
	b := record.NewBuilder(0)
	b.LeaderEpoch = 0
	for i := range 16 {
		b.Append(int64(i), nil, make([]byte, 1024))
	}
	return b.Bytes()
}

// appendNext writes the batch at the end of the log.
func appendNext(b *testing.B, l *Log, batch record.Batch) {
	record.PatchOffset(batch, l.EndOffset(), 0)
	if err := l.Write(batch, 0); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWrite16x1KiB(b *testing.B) {
	l, batch := onDisk(b), sixteen()
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		appendNext(b, l, batch)
	}
}

func BenchmarkWrite1x100B(b *testing.B) {
	l := onDisk(b)
	batch := record.NewBuilder(0).Append(1, nil, make([]byte, 100)).Bytes()
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		appendNext(b, l, batch)
	}
}

// What a consumer that keeps up does: the newest batch.
func BenchmarkReadTail(b *testing.B) {
	l, batch := onDisk(b), sixteen()
	for range 1000 {
		appendNext(b, l, batch)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := l.Read(l.EndOffset()-16, l.EndOffset(), 1<<20, true)
		if err != nil || s.Len != len(batch) {
			b.Fatal(s.Len, err)
		}
		s.Release()
	}
}

// What a consumer does that reads an old segment, 1 MiB at a time, or at random.
func BenchmarkReadOld(b *testing.B) {
	for _, size := range []int{16, 1} {
		l := onDisk(b)
		cfg := wide()
		cfg.SegmentBytes = 64 << 20
		l.Reconfigure(cfg)
		batch := record.NewBuilder(0)
		for range size {
			batch.Append(1, nil, make([]byte, 1024))
		}
		bytes := batch.Bytes()
		for l.Segments() < 3 {
			appendNext(b, l, bytes)
		}
		b.Run(fmt.Sprintf("next/%dKiB", size), func(b *testing.B) {
			b.ReportAllocs()
			from := int64(0)
			for b.Loop() {
				s, err := l.Read(from, l.EndOffset(), 1<<20, true)
				must(b, err)
				b.SetBytes(int64(s.Len))
				from = s.End % l.EndOffset()
				s.Release()
			}
		})
		b.Run(fmt.Sprintf("random/%dKiB", size), func(b *testing.B) {
			b.ReportAllocs()
			from := int64(0)
			for b.Loop() {
				s, err := l.Read(from, l.EndOffset(), 1<<20, true)
				must(b, err)
				from = (from + 7919*16) % l.EndOffset()
				s.Release()
			}
		})
	}
}

// BenchmarkOpen1000 opens a thousand partitions that were closed, or killed.
func BenchmarkOpen1000(b *testing.B) {
	fs, root := vfs.Disk(), b.TempDir()
	files := NewFiles(fs, 0)
	batch := sixteen()
	const partitions = 1000
	for i := range partitions {
		l, _, err := Open(context.Background(), files, filepath.Join(root, fmt.Sprint("topic-", i)), wide(), Recovery{})
		must(b, err)
		for range 20 {
			appendNext(b, l, batch)
		}
		must(b, l.Close())
	}
	for _, clean := range []bool{true, false} {
		b.Run(fmt.Sprintf("clean=%v", clean), func(b *testing.B) {
			for b.Loop() {
				for i := range partitions {
					_, _, err := Open(context.Background(), files, filepath.Join(root, fmt.Sprint("topic-", i)), wide(), Recovery{DurableTo: 320, Clean: clean})
					must(b, err)
				}
			}
		})
	}
}
