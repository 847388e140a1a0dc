package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
	"pgregory.net/rapid"
)

// fourBatches is a log of offsets 0-2, 3-5, 6-8 and 9-11 in one segment.
func fourBatches(t *testing.T) (l *Log, size int) {
	cfg := small()
	cfg.SegmentBytes = 1 << 20
	l, _ = fresh(t, cfg)
	for range 4 {
		b := batch(l, 1, 2, 3)
		write(t, l, b)
		if l.EndOffset() == 3 {
			size = len(b) // of all but the last
		}
	}
	return l, size
}

func TestReadReturnsWholeBatches(t *testing.T) {
	l, size := fourBatches(t)
	for _, c := range []struct {
		name       string
		from, upTo int64
		max        int
		minOne     bool
		want       []int64 // base offsets
		end        int64
	}{
		{"everything", 0, 12, 1 << 20, false, []int64{0, 3, 6, 9}, 12},
		{"from the middle of a batch: all of it (T20)", 4, 12, 1 << 20, false, []int64{3, 6, 9}, 12},
		{"its last offset (T20)", 5, 12, 1 << 20, false, []int64{3, 6, 9}, 12},
		{"as many as fit", 0, 12, 3*size - 1, false, []int64{0, 3}, 6},
		{"exactly as many as fit", 0, 12, 3 * size, false, []int64{0, 3, 6}, 9},
		{"a first batch that is too long (T21)", 3, 12, 10, true, []int64{3}, 6},
		{"the same, not wanted", 3, 12, 10, false, nil, 3},
		{"not even with room for nothing", 3, 12, 0, false, nil, 3},
		{"up to the high watermark", 0, 6, 1 << 20, true, []int64{0, 3}, 6},
		{"nothing below the high watermark", 6, 6, 1 << 20, true, nil, 6},
		{"at the end", 12, 12, 1 << 20, true, nil, 12},
		{"beyond the end is clipped", 9, 500, 1 << 20, true, []int64{9}, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // with and without what a first look leaves behind
				s, err := l.Read(c.from, c.upTo, c.max, c.minOne)
				must(t, err)
				if got := bases(t, bytesOf(t, s)); !slices.Equal(got, c.want) || s.End != c.end {
					t.Fatalf("got batches %v and end %d, want %v and %d", got, s.End, c.want, c.end)
				}
				l = reopen(t, l)
			}
		})
	}
}

func TestReadOutsideOfTheLog(t *testing.T) {
	l, _ := fourBatches(t)
	must(t, l.SetStartOffset(4))
	for _, from := range []int64{0, 3, 13} {
		if _, err := l.Read(from, 12, 100, true); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("offset %d: %v", from, err)
		}
	}
	s, err := l.Read(4, 12, 1, true)
	must(t, err)
	expect(t, "base of the batch that the start is in", s.Base, 3)
	s.Release()
}

// T28: the next offset comes from the batch headers, not from counting.
func TestReadGoesOverGapsThatCompactionLeft(t *testing.T) {
	l, fs := fresh(t, small())
	fill(t, l, 60, 3)
	must(t, l.Close())
	list := *l.segments.Load()
	// As after compaction: one segment lost its middle, one is empty, one its end.
	middle, err := vfs.ReadFile(fs, list[1].log.name)
	must(t, err)
	first, _, err := record.First(middle)
	must(t, err)
	last := middle[len(middle)-len(first):]
	must(t, vfs.WriteFile(fs, list[1].log.name, append(bytes.Clone(first), last...)))
	must(t, vfs.WriteFile(fs, list[2].log.name, nil))
	must(t, vfs.WriteFile(fs, list[3].log.name, first[:0:0]))
	for _, s := range list[1:4] {
		must(t, fs.Remove(s.offsets.file.name))
		must(t, fs.Remove(s.times.file.name))
	}
	l, report := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: 180, Clean: true})
	expect(t, "indexes made anew", len(report.Rebuilt), 6)
	gap := record.Batch(first).Header().LastOffset() + 2
	s, err := l.Read(gap, 180, 1, true)
	must(t, err)
	expect(t, "base behind the gap", s.Base, record.Batch(last).Header().BaseOffset)
	s.Release()
	s, err = l.Read(list[2].base, 180, 1, true)
	must(t, err)
	expect(t, "base behind the empty segments", s.Base, list[4].base)
	s.Release()
	contents(t, l, 0, 300)
}

func TestSliceStaysReadableWhenItsSegmentGoes(t *testing.T) {
	cfg := small()
	cfg.RetentionBytes = 0
	l, fs := fresh(t, cfg)
	fill(t, l, 60, 3)
	s, err := l.Read(0, 180, 500, true)
	must(t, err)
	n, err := l.DeleteOldSegments(0, 180)
	must(t, err)
	if n < 3 {
		t.Fatal(n)
	}
	must(t, l.Reap(1<<40))
	if _, err := fs.Stat(dir + "/00000000000000000000.log.deleted"); !isNotExist(err) {
		t.Fatal(err)
	}
	if got := bases(t, bytesOf(t, s)); got[0] != 0 {
		t.Fatal(got)
	}
	if _, err := l.Read(0, 180, 500, true); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatal(err)
	}
}

func TestSliceReadsLikeAFile(t *testing.T) {
	l, _ := fourBatches(t)
	s, err := l.Read(3, 9, 1<<20, true)
	must(t, err)
	defer s.Release()
	if _, ok := s.OSFile(); ok {
		t.Fatal("a file of the disk behind memory")
	}
	all, err := io.ReadAll(io.NewSectionReader(s, 0, int64(s.Len)))
	must(t, err)
	if got := bases(t, all); !slices.Equal(got, []int64{3, 6}) {
		t.Fatal(got)
	}
	if n, err := s.ReadAt(make([]byte, 10), int64(s.Len)-4); n != 4 || err != io.EOF {
		t.Fatal(n, err)
	}
	if n, err := s.ReadAt(make([]byte, 10), int64(s.Len)); n != 0 || err != io.EOF {
		t.Fatal(n, err)
	}
}

func TestAnIndexThatLiesIsNotBelieved(t *testing.T) {
	cfg := small()
	cfg.SegmentBytes = 5000
	l, fs := fresh(t, cfg)
	fill(t, l, 60, 3)
	want := contents(t, l, 0, 1<<20)
	must(t, l.Close())
	name := (*l.segments.Load())[0].offsets.file.name
	index, err := vfs.ReadFile(fs, name)
	must(t, err)
	for i := offsetWidth; i+offsetWidth < len(index); i += 2 * offsetWidth {
		index[i+7] ^= 1
	}
	must(t, vfs.WriteFile(fs, name, index))
	l, _ = open(t, NewFiles(fs, 4), cfg, Recovery{DurableTo: l.RecoveryPoint(), Clean: true})
	if !bytes.Equal(contents(t, l, 0, 300), want) {
		t.Fatal("other contents")
	}
	expect(t, "caught", (*l.segments.Load())[0].wrong.Load(), true)
	_, err = l.DeleteOldSegments(0, 0)
	must(t, err)
	expect(t, "caught still", (*l.segments.Load())[0].wrong.Load(), false)
	if !bytes.Equal(contents(t, l, 0, 300), want) {
		t.Fatal("other contents")
	}
}

// Any read returns what a look at all batches would, whatever the segment size,
// the index interval and how often the log was opened anew.
func TestReadModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := small()
		cfg.SegmentBytes = rapid.SampledFrom([]int64{150, 400, 3000, 1 << 20}).Draw(rt, "segment")
		cfg.IndexInterval = rapid.SampledFrom([]int64{0, 100, 4096}).Draw(rt, "interval")
		l, _ := fresh(t, cfg)
		var all oracle
		for range rapid.IntRange(1, 40).Draw(rt, "batches") {
			times := make([]int64, rapid.IntRange(1, 5).Draw(rt, "records"))
			all = append(all, batchAt(all.end(), times...))
			must(t, l.Write(all[len(all)-1], 0))
			if rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
				l = reopen(t, l)
			}
		}
		for range 20 {
			from := rapid.Int64Range(0, all.end()).Draw(rt, "from")
			upTo := all[rapid.IntRange(0, len(all)-1).Draw(rt, "up to")].Header().LastOffset() + 1
			max, minOne := rapid.IntRange(0, 600).Draw(rt, "max"), rapid.Bool().Draw(rt, "at least one")
			s, err := l.Read(from, upTo, max, minOne)
			must(t, err)
			got := bytesOf(t, s)
			if problem := all.judge(got, s.End, from, upTo, max, minOne); problem != "" {
				rt.Fatalf("reading %d up to %d, %d bytes, %v: %s", from, upTo, max, minOne, problem)
			}
		}
	})
}

// judge says what is wrong with an answer to Read. One segment's end may cut it
// short, but not to nothing.
func (o oracle) judge(got []byte, end, from, upTo int64, max int, minOne bool) string {
	rest := o.from(from)
	if !bytes.HasPrefix(rest.bytes(), got) {
		return "other bytes"
	}
	n := 0
	for size := 0; size < len(got); n++ {
		size += len(rest[n])
	}
	if n == 0 {
		if from < upTo && len(rest) > 0 && (minOne || len(rest[0]) <= max) {
			return "nothing, though there is something"
		}
		return ""
	}
	last := rest[n-1].Header().LastOffset()
	switch {
	case last >= upTo:
		return fmt.Sprintf("offset %d", last)
	case len(got) > max && (n > 1 || !minOne):
		return fmt.Sprintf("%d bytes", len(got))
	case end != last+1:
		return fmt.Sprintf("end %d after offset %d", end, last)
	}
	return ""
}

// What stands before damage is read; who comes to the damage is told where it is.
func TestDamageIsToldWithItsPlace(t *testing.T) {
	l, size := fourBatches(t)
	damage(t, l, int64(2*size)+8) // the length of the third batch
	s, err := l.Read(0, 12, 3*size-1, true)
	must(t, err)
	if got := bases(t, bytesOf(t, s)); !slices.Equal(got, []int64{0, 3}) || s.End != 6 {
		t.Fatalf("got batches %v and end %d before the damage", got, s.End)
	}
	for _, from := range []int64{6, 7, 9} {
		_, err := l.Read(from, 12, 1<<20, true)
		wantDamage(t, err, l, int64(2*size), 6)
	}
}

func TestDamageAtTheBeginningIsToldWithItsPlace(t *testing.T) {
	l, _ := fourBatches(t)
	damage(t, l, 8)
	_, err := l.Read(4, 12, 1<<20, true)
	wantDamage(t, err, l, 0, 0)
}

// damage flips bits of one byte of the active segment.
func damage(t *testing.T, l *Log, pos int64) {
	t.Helper()
	f, err := l.fs.OpenFile(l.active().log.name)
	must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, pos)
	must(t, err)
	b[0] ^= 0x55
	_, err = f.WriteAt(b, pos)
	must(t, err)
	must(t, f.Close())
	s := l.active()
	s.ends.Store(nil) // what is remembered of an active segment
	s.readOn.Store(nil)
}

func wantDamage(t *testing.T, err error, l *Log, position, offset int64) {
	t.Helper()
	var d *DamageError
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a *DamageError", err)
	}
	if d.File != l.active().log.name || d.Position != position || d.Offset != offset || d.Reason == "" {
		t.Errorf("got %+v, want byte %d and offset %d of %s", d, position, offset, l.active().log.name)
	}
}
