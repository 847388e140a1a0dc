package storage

import (
	"math"
	"slices"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
)

func segmentBases(l *Log) (list []int64) {
	for _, s := range *l.segments.Load() {
		list = append(list, s.base)
	}
	return list
}

func expectBases(t *testing.T, l *Log, want ...int64) {
	t.Helper()
	if got := segmentBases(l); !slices.Equal(got, want) {
		t.Fatalf("segments begin at %v, want %v", got, want)
	}
}

func wide() Config {
	cfg := DefaultConfig()
	cfg.RetentionMs = -1
	return cfg
}

func TestRollsWhenTheBatchWouldNotFit(t *testing.T) {
	cfg := wide()
	l, _ := fresh(t, cfg)
	b := batch(l, 1)
	cfg.SegmentBytes = int64(3 * len(b))
	l.Reconfigure(cfg)
	for range 7 {
		write(t, l, batch(l, 1))
	}
	expectBases(t, l, 0, 3, 6)
}

func TestABatchLargerThanASegmentGetsItsOwn(t *testing.T) {
	cfg := wide()
	cfg.SegmentBytes = 10
	l, _ := fresh(t, cfg)
	write(t, l, batch(l, 1))
	write(t, l, batch(l, 1))
	expectBases(t, l, 0, 1)
}

// Kafka measures segment.ms between the first batch's timestamp and the new one's.
func TestRollsByRecordTimestamps(t *testing.T) {
	cfg := wide()
	cfg.SegmentMs = 100
	l, _ := fresh(t, cfg)
	for _, time := range []int64{1000, 1100, 1101, 1050, 1201, 1202} {
		write(t, l, batch(l, time))
	}
	expectBases(t, l, 0, 2, 5)
	l = reopen(t, l)
	write(t, l, batch(l, 1302))
	expectBases(t, l, 0, 2, 5)
	write(t, l, batch(l, 1303))
	expectBases(t, l, 0, 2, 5, 7)
}

// Without a timestamp in the first batch the clock counts.
func TestRollsByTheClockWithoutTimestamps(t *testing.T) {
	cfg := wide()
	cfg.SegmentMs = 100
	l, _ := fresh(t, cfg)
	for i, now := range []int64{5000, 5100, 5101, 5150} {
		must(t, l.Write(batchAt(int64(i), -1), now))
	}
	expectBases(t, l, 0, 2)
}

func TestJitterRollsEarlierAndAlwaysTheSame(t *testing.T) {
	cfg := wide()
	cfg.SegmentMs, cfg.SegmentJitterMs = 1000, 900
	seen := map[int64]bool{}
	for base := range int64(20) {
		s := newSegment(nil, dir, base, "")
		j := s.jitter(&cfg)
		if j < 0 || j >= 900 || j != s.jitter(&cfg) {
			t.Fatal(j)
		}
		seen[j] = true
	}
	if len(seen) < 10 {
		t.Fatal(seen)
	}
	cfg.SegmentJitterMs = 5000
	if j := newSegment(nil, dir, 1, "").jitter(&cfg); j >= 1000 {
		t.Fatal("jitter beyond segment.ms:", j)
	}
}

func TestRollsWhenAnIndexIsFull(t *testing.T) {
	cfg := wide()
	cfg.IndexInterval, cfg.IndexBytes = 0, 4*timeWidth
	l, _ := fresh(t, cfg)
	for i := range int64(10) {
		write(t, l, batch(l, 1000+i))
	}
	expectBases(t, l, 0, 4, 8) // the time index keeps a place for its last entry
	cfg.IndexBytes = 4 * offsetWidth
	l.Reconfigure(cfg)
	for range 6 { // without timestamps the offset index is full first
		write(t, l, batch(l, -1))
	}
	expectBases(t, l, 0, 4, 8, 10, 15)
}

func TestRollsBeforeARelativeOffsetOverflows(t *testing.T) {
	l, _ := fresh(t, wide())
	write(t, l, batch(l, 1))
	far := record.NewBuilder(1)
	far.LastOffsetDelta = math.MaxInt32 - 1
	far.Append(1, nil, nil)
	write(t, l, far.Bytes()) // as a compacted log may have it: it ends at 2^31-1
	expectBases(t, l, 0)
	write(t, l, batch(l, 1))
	expectBases(t, l, 0, 1<<31)
	l = reopen(t, l)
	expect(t, "end", l.EndOffset(), 1<<31+1)
	s, err := l.Read(5, 1<<31, 1000, true)
	must(t, err)
	expect(t, "base", s.Base, 1)
	expect(t, "end", s.End, 1<<31)
	s.Release()
}

func TestEveryRollLeavesASnapshot(t *testing.T) {
	l, fs := fresh(t, small())
	fill(t, l, 60, 3)
	for _, base := range segmentBases(l)[1:] {
		if _, err := fs.Stat(fileName(dir, base, snapshotSuffix)); err != nil {
			t.Error(err)
		}
	}
}

func TestSyncTakesASnapshotNowAndThen(t *testing.T) {
	l, _ := fresh(t, wide())
	for range 5 {
		write(t, l, batch(l, 1))
		l.since = snapshotBytes
		must(t, l.Sync())
	}
	if want := []int64{4, 5}; !slices.Equal(l.snapshots, want) {
		t.Fatalf("snapshots at %v, want the newest two", l.snapshots)
	}
	must(t, l.Close())
}
