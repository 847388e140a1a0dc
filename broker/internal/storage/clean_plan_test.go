package storage

import (
	"math"
	"slices"
	"testing"
)

func TestBacklogCountsWhatMayBeCleaned(t *testing.T) {
	parts := []part{
		{base: 0, next: 10, size: 100, newest: 1000, first: 500},
		{base: 10, next: 20, size: 200, newest: 2000, first: 1500},
		{base: 20, next: 30, size: 300, newest: 3000, first: 2500},
	}
	forever := Config{MaxCompactionLagMs: math.MaxInt64}
	for _, c := range []struct {
		name               string
		point, stable, now int64
		cfg                Config
		want               Backlog
	}{
		{"never cleaned", 0, 100, 5000, forever, Backlog{To: 30, Bytes: 600}},
		{"clean up to the second", 10, 100, 5000, forever, Backlog{From: 10, To: 30, CleanBytes: 100, Bytes: 500}},
		{"clean into the second", 15, 100, 5000, forever, Backlog{From: 15, To: 30, CleanBytes: 100, Bytes: 500}},
		{"all clean", 30, 100, 5000, forever, Backlog{From: 30, To: 30, CleanBytes: 600}},
		{"an open transaction in the third", 0, 25, 5000, forever, Backlog{To: 20, Bytes: 300}},
		{"an open transaction in the first", 0, 5, 5000, forever, Backlog{}},
		{"stable up to a segment's end", 0, 20, 5000, forever, Backlog{To: 20, Bytes: 300}},
		{"min.compaction.lag.ms", 0, 100, 5000, Config{MinCompactionLagMs: 2500, MaxCompactionLagMs: math.MaxInt64}, Backlog{To: 20, Bytes: 300}},
		{"min.compaction.lag.ms exactly", 0, 100, 5000, Config{MinCompactionLagMs: 2000, MaxCompactionLagMs: math.MaxInt64}, Backlog{To: 30, Bytes: 600}},
		{"max.compaction.lag.ms passed", 0, 100, 5000, Config{MaxCompactionLagMs: 4400}, Backlog{To: 30, Bytes: 600, Overdue: true}},
		{"max.compaction.lag.ms not passed", 0, 100, 5000, Config{MaxCompactionLagMs: 4500}, Backlog{To: 30, Bytes: 600}},
		{"what is clean is not overdue", 10, 100, 5000, Config{MaxCompactionLagMs: 4000}, Backlog{From: 10, To: 30, CleanBytes: 100, Bytes: 500}},
	} {
		if got := measure(parts, c.point, c.stable, c.now, &c.cfg); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestBacklogIsDueByRatioOrLag(t *testing.T) {
	for _, c := range []struct {
		b    Backlog
		min  float64
		want bool
	}{
		{Backlog{}, 0, false},
		{Backlog{CleanBytes: 100}, 0, false},
		{Backlog{Bytes: 1}, 0.99, true},
		{Backlog{Bytes: 50, CleanBytes: 50}, 0.5, false},
		{Backlog{Bytes: 51, CleanBytes: 49}, 0.5, true},
		{Backlog{Bytes: 1, CleanBytes: 99, Overdue: true}, 0.5, true},
		{Backlog{CleanBytes: 99, Overdue: true}, 0.5, false},
		{Backlog{Bytes: 1, CleanBytes: 99}, 0, true},
	} {
		if got := c.b.Due(c.min); got != c.want {
			t.Errorf("%+v with ratio %v: %v", c.b, c.min, got)
		}
	}
}

func TestGroupsFitASegment(t *testing.T) {
	cfg := Config{SegmentBytes: 100, IndexBytes: 50}
	of := func(sizes ...int64) (parts []part) {
		for i, size := range sizes {
			parts = append(parts, part{base: int64(i), next: int64(i + 1), size: size, indexes: 10})
		}
		return parts
	}
	far := of(1, 1, 1)
	far[2].next = math.MaxInt32 + 2
	for _, c := range []struct {
		name  string
		parts []part
		want  []int
	}{
		{"none", nil, nil},
		{"one", of(70), []int{1}},
		{"together exactly full", of(50, 50, 1), []int{2, 1}},
		{"too large alone", of(500, 1, 1), []int{1, 2}},
		{"by index size", of(1, 1, 1, 1, 1, 1, 1), []int{5, 2}},
		{"by relative offset", far, []int{2, 1}},
		{"empty segments", of(0, 0, 0), []int{3}},
	} {
		if got := groups(c.parts, &cfg); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
