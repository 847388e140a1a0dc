package storage

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// threes is a log whose segments begin at 0, 3, 6 and so on, with records at
// 1000, 1001 and so on.
func threes(t *testing.T, batches int, change func(*Config)) (*Log, *vfs.Memory) {
	t.Helper()
	cfg := wide()
	size := len(batchAt(0, 1))
	cfg.SegmentBytes = int64(3*size + 2)
	l, fs := fresh(t, cfg)
	for i := range batches {
		write(t, l, batchAt(int64(i), 1000+int64(i)))
	}
	change(&cfg)
	l.Reconfigure(cfg)
	return l, fs
}

func deleteOld(t *testing.T, l *Log, now, highWatermark int64, want ...int64) {
	t.Helper()
	before := l.Segments()
	n, err := l.DeleteOldSegments(now, highWatermark)
	must(t, err)
	expectBases(t, l, want...)
	if n < before-l.Segments() {
		t.Fatalf("%d segments deleted, %d are gone", n, before-l.Segments())
	}
	expect(t, "start", l.StartOffset(), max(l.StartOffset(), want[0]))
}

func TestRetentionByTimeUsesTheLargestTimestamp(t *testing.T) {
	l, _ := threes(t, 9, func(c *Config) { c.RetentionMs = 100 })
	deleteOld(t, l, 1102, 9, 0, 3, 6) // the record at 1002 is just not too old
	deleteOld(t, l, 1103, 9, 3, 6)
	l = reopen(t, l)
	deleteOld(t, l, 1103, 9, 3, 6)
}

// The file of a segment comes with its first batch.
func TestRetentionPassesOverALogThatWasNeverWritten(t *testing.T) {
	l, _ := threes(t, 0, func(c *Config) { c.RetentionMs = 100 })
	deleteOld(t, l, 9999, 0, 0)
	deleteOld(t, reopen(t, l), 9999, 0, 0)
}

func TestRetentionRollsTheActiveSegmentWhenAllHasExpired(t *testing.T) {
	l, _ := threes(t, 8, func(c *Config) { c.RetentionMs = 100 })
	deleteOld(t, l, 1107, 8, 6)
	deleteOld(t, l, 1108, 8, 8)
	expect(t, "end", l.EndOffset(), 8)
	deleteOld(t, l, 9999, 8, 8) // an empty active segment stays
	l = reopen(t, l)
	expect(t, "end", l.EndOffset(), 8)
	write(t, l, batch(l, 5000))
	expectBases(t, l, 8)
}

// What is written between the decision and the deed is not deleted.
func TestRetentionSparesWhatHasJustBeenWritten(t *testing.T) {
	for _, more := range []int{1, 4} { // into the segment that had expired, and beyond it
		l, _ := threes(t, 8, func(c *Config) { c.RetentionMs = 100 })
		old, end, err := l.expired(5000, 8)
		must(t, err)
		expect(t, "segments that have expired", len(old), 3)
		for range more {
			write(t, l, batch(l, 5000))
		}
		old, err = l.replaceActive(old, end, 5000)
		must(t, err)
		expect(t, "segments that may go", len(old), 2)
	}
}

func TestRetentionBySizeKeepsAtLeastThatMuch(t *testing.T) {
	l, _ := threes(t, 12, func(*Config) {})
	cfg := l.Config()
	cfg.RetentionBytes = l.Size() - (*l.segments.Load())[0].size.Load() + 1
	l.Reconfigure(cfg)
	deleteOld(t, l, 0, 12, 0, 3, 6, 9)
	cfg.RetentionBytes--
	l.Reconfigure(cfg)
	deleteOld(t, l, 0, 12, 3, 6, 9)
	cfg.RetentionBytes = 0
	l.Reconfigure(cfg)
	deleteOld(t, l, 0, 12, 12)
}

func TestRetentionStopsAtTheHighWatermark(t *testing.T) {
	l, _ := threes(t, 9, func(c *Config) { c.RetentionMs = 0 })
	deleteOld(t, l, 5000, 5, 3, 6)
	deleteOld(t, l, 5000, 6, 6)
}

func TestSegmentsBelowTheStartGo(t *testing.T) {
	for _, clean := range []bool{false, true} {
		l, _ := threes(t, 9, func(c *Config) { c.Delete, c.Compact = !clean, clean; c.RetentionMs = -1 })
		must(t, l.SetStartOffset(5))
		deleteOld(t, l, 5000, 9, 3, 6)
		expect(t, "start", l.StartOffset(), 5)
		must(t, l.SetStartOffset(9))
		deleteOld(t, l, 5000, 9, 6) // never the active one
		expect(t, "start", l.StartOffset(), 9)
	}
}

func TestACompactedLogIsNotDeletedByAgeOrSize(t *testing.T) {
	l, _ := threes(t, 9, func(c *Config) { c.Delete, c.Compact, c.RetentionMs, c.RetentionBytes = false, true, 0, 0 })
	deleteOld(t, l, 5000, 9, 0, 3, 6)
}

func TestSetStartOffset(t *testing.T) {
	l, _ := threes(t, 4, func(*Config) {})
	must(t, l.SetStartOffset(2))
	must(t, l.SetStartOffset(1)) // below the start is no error
	expect(t, "start", l.StartOffset(), 2)
	must(t, l.SetStartOffset(4))
	if err := l.SetStartOffset(5); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatal(err)
	}
	expect(t, "start", l.StartOffset(), 4)
	l = reopen(t, l)
	expect(t, "start", l.StartOffset(), 4)
	expect(t, "end", l.EndOffset(), 4)
}

func TestDeletedFilesWaitForReap(t *testing.T) {
	l, fs := threes(t, 9, func(c *Config) { c.RetentionMs, c.FileDeleteDelayMs = 0, 60 })
	deleteOld(t, l, 5000, 6, 6)
	marked := func() (names []string) {
		all, err := fs.List(dir)
		must(t, err)
		return slices.DeleteFunc(all, func(name string) bool { return !strings.HasSuffix(name, deletedSuffix) })
	}
	if got := marked(); !slices.Contains(got, "00000000000000000003.log.deleted") || !slices.Contains(got, "00000000000000000003.snapshot.deleted") {
		t.Fatal(got)
	}
	must(t, l.Reap(5059))
	if len(marked()) == 0 {
		t.Fatal("gone too early")
	}
	must(t, l.Reap(5060))
	if got := marked(); len(got) > 0 {
		t.Fatal(got)
	}
}

// What is being deleted does not come back, even if its owner has persisted
// nothing of it.
func TestDeletionOutlivesACrash(t *testing.T) {
	l, fs := threes(t, 9, func(c *Config) { c.RetentionMs = 0 })
	must(t, l.Sync())
	deleteOld(t, l, 5000, 6, 6)
	for seed := range uint64(20) {
		after, _ := open(t, NewFiles(fs.CrashClone(seed), 4), l.Config(), Recovery{})
		expectBases(t, after, 6)
		expect(t, "start", after.StartOffset(), 6)
		expect(t, "end", after.EndOffset(), 9)
	}
}

func TestLogWithoutTimestampsAgesByItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // all files are written in the same millisecond
		cfg := wide()
		cfg.SegmentBytes, cfg.RetentionMs = 100, 1000
		l, fs := fresh(t, cfg)
		for range 3 {
			write(t, l, batch(l, -1))
		}
		info, err := fs.Stat((*l.segments.Load())[1].log.name)
		must(t, err)
		deleteOld(t, l, info.ModTime+1000, 2, 0, 1, 2)
		deleteOld(t, l, info.ModTime+1001, 2, 2)
	})
}

func TestAbortedTransactionsOverlap(t *testing.T) {
	l, _ := fresh(t, small())
	put := func(id int64, sequence int32) {
		b := record.NewBuilder(l.EndOffset())
		b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = id, 0, sequence, true
		write(t, l, b.Append(1, nil, nil).Bytes())
	}
	end := func(id int64, kind record.Marker) {
		m := record.ControlMarker(kind, id, 0, 0, 1)
		record.PatchOffset(m, l.EndOffset(), 0)
		write(t, l, m)
	}
	put(1, 0)            // 0
	put(2, 0)            // 1
	end(1, record.Abort) // 2
	put(3, 0)            // 3
	end(2, record.Abort) // 4
	end(3, record.Commit)
	put(1, 1)            // 6
	end(1, record.Abort) // 7
	one, two, again := AbortedTxn{1, 0, 2, 1}, AbortedTxn{2, 1, 4, 3}, AbortedTxn{1, 6, 7, 8}
	for range 2 {
		for _, c := range []struct {
			from, to int64
			want     []AbortedTxn
		}{
			{0, 8, []AbortedTxn{one, two, again}},
			{0, 1, []AbortedTxn{one}},
			{0, 2, []AbortedTxn{one, two}},
			{3, 4, []AbortedTxn{two}}, // begun before, ends behind (T23)
			{5, 6, nil},
			{7, 8, []AbortedTxn{again}},
		} {
			got, err := l.AbortedTransactions(c.from, c.to)
			must(t, err)
			if !slices.Equal(got, c.want) {
				t.Errorf("%d to %d: got %v, want %v", c.from, c.to, got, c.want)
			}
		}
		l = reopen(t, l)
	}
}

func TestFilesDeletedNeverStay(t *testing.T) {
	l, _ := threes(t, 9, func(c *Config) { c.RetentionMs, c.FileDeleteDelayMs = 0, math.MaxInt64 })
	deleteOld(t, l, 5000, 6, 6)
	must(t, l.Reap(1<<50))
	if n := len(l.deleted); n == 0 {
		t.Error("gone")
	}
}
