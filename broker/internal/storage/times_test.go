package storage

import (
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
)

func compressed(base int64, codec record.Codec, times ...int64) record.Batch {
	b := record.NewBuilder(base)
	b.Codec = codec
	for _, time := range times {
		b.Append(time, []byte("key"), make([]byte, 100))
	}
	return b.Bytes()
}

func TestOffsetForTimeFindsTheRecordItself(t *testing.T) {
	cfg := small()
	cfg.SegmentBytes, cfg.IndexInterval = 700, 0
	l, _ := fresh(t, cfg)
	for _, times := range [][]int64{{100, 110, 120}, {90, 140}, {130, 130, 150}, {150}, {145}, {400, 300, 500}} {
		write(t, l, compressed(l.EndOffset(), record.Codec(l.EndOffset()%5), times...))
	}
	for range 2 {
		for _, c := range []struct {
			time, upTo int64
			offset     int64 // -1: none
			timestamp  int64
		}{
			{0, 13, 0, 100}, {100, 13, 0, 100}, {101, 13, 1, 110}, {120, 13, 2, 120}, {121, 13, 4, 140}, {141, 13, 7, 150},
			{151, 13, 10, 400}, {350, 13, 10, 400}, {401, 13, 12, 500}, {500, 13, 12, 500}, {501, 13, -1, 0},
			{141, 8, 7, 150}, {151, 10, -1, 0}, {141, 5, -1, 0},
		} {
			at, found, err := l.OffsetForTime(c.time, c.upTo)
			must(t, err)
			if found != (c.offset >= 0) || found && (at.Offset != c.offset || at.Timestamp != c.timestamp) {
				t.Errorf("time %d up to %d: got %+v (%v), want %+v", c.time, c.upTo, at, found, c)
			}
		}
		l = reopen(t, l)
	}
}

func TestMaxTimestampIsTheFirstRecordThatHasIt(t *testing.T) {
	l, _ := fresh(t, small())
	expectMax := func(upTo, offset, timestamp int64) {
		t.Helper()
		at, found, err := l.MaxTimestamp(upTo)
		must(t, err)
		if found != (offset >= 0) || found && (at.Offset != offset || at.Timestamp != timestamp) {
			t.Fatalf("up to %d: got %+v (%v), want offset %d, time %d", upTo, at, found, offset, timestamp)
		}
	}
	expectMax(0, -1, 0)
	write(t, l, batch(l, -1, -1))
	expectMax(2, -1, 0)
	for _, times := range [][]int64{{5, 9, 7}, {9}, {12, 12, 3}} {
		write(t, l, batch(l, times...))
	}
	expectMax(9, 6, 12)
	expectMax(6, 3, 9)
	must(t, l.SetStartOffset(4))
	expectMax(6, 5, 9) // the first with it has been deleted
	l = reopen(t, l)
	expectMax(9, 6, 12)
	must(t, l.SetStartOffset(8))
	expectMax(9, 8, 3)
	must(t, l.SetStartOffset(9))
	expectMax(9, -1, 0)
}

func TestLogAppendTimeCountsForEveryRecord(t *testing.T) {
	l, _ := fresh(t, small())
	b := record.NewBuilder(0)
	b.LogAppendTime = 1000
	write(t, l, b.Append(10, nil, nil).Append(20, nil, nil).Append(30, nil, nil).Bytes())
	at, found, err := l.OffsetForTime(31, 3)
	must(t, err)
	if !found || at.Offset != 0 || at.Timestamp != 1000 {
		t.Fatalf("%+v", at)
	}
}

// T11, and Kafka's LeaderEpochFileCache.endOffsetFor.
func TestEndOffsetForEpoch(t *testing.T) {
	l, _ := fresh(t, small())
	for _, e := range []int32{2, 2, 5} {
		b := batch(l, 1, 1)
		record.PatchOffset(b, l.EndOffset(), e)
		write(t, l, b)
	}
	for _, c := range []struct {
		asked, current int32
		epoch          int32
		end            int64
	}{
		{-1, 5, -1, -1},
		{0, 5, 0, 0}, // before the first one known: where that begins
		{2, 5, 2, 4},
		{3, 5, 2, 4},
		{5, 5, 5, 6},
		{6, 5, -1, -1},
		{5, 8, 5, 6}, // the current one has written nothing
		{7, 8, 5, 6},
		{8, 8, 8, 6},
		{9, 8, -1, -1},
		{5, -1, 5, 6},
	} {
		epoch, end := l.EndOffsetForEpoch(c.asked, c.current)
		if epoch != c.epoch || end != c.end {
			t.Errorf("asked %d, current %d: got %d, %d", c.asked, c.current, epoch, end)
		}
	}
	for offset, want := range map[int64]int32{0: 2, 3: 2, 4: 5, 5: 5} {
		expect(t, "epoch of offset", l.EpochAt(offset), want)
	}
	empty, _ := fresh(t, small())
	if epoch, end := empty.EndOffsetForEpoch(3, 4); epoch != 3 || end != 0 {
		t.Fatal(epoch, end)
	}
	if epoch, end := empty.EndOffsetForEpoch(3, -1); epoch != -1 || end != -1 {
		t.Fatal(epoch, end)
	}
	expect(t, "epoch in an empty log", empty.EpochAt(0), -1)
}

func TestEpochsFollowTheStartOfTheLog(t *testing.T) {
	l, _ := fresh(t, small())
	for e := range int32(4) {
		b := batch(l, 1, 1)
		record.PatchOffset(b, l.EndOffset(), e)
		write(t, l, b)
	}
	must(t, l.SetStartOffset(5))
	if epoch, end := l.EndOffsetForEpoch(1, 3); epoch != 1 || end != 5 {
		t.Fatal(epoch, end)
	}
	l = reopen(t, l)
	if epoch, end := l.EndOffsetForEpoch(2, 3); epoch != 2 || end != 6 {
		t.Fatal(epoch, end)
	}
}
