package fetchsession

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func name(index int32) Key { return Key{Topic: "t", Index: index} }

func order(s *Session) (indexes []int32) {
	for p := range s.All() {
		indexes = append(indexes, p.Index)
	}
	return indexes
}

func sessionOf(indexes ...int32) *Session {
	var s Session
	s.Reset(false)
	for _, i := range indexes {
		s.Put(name(i), Want{})
	}
	return &s
}

// cached is a session with an id, so that its answers are incremental.
func cached(indexes ...int32) *Session {
	s := sessionOf(indexes...)
	New(1, func() int32 { return 7 }).Keep(s, Head{}, 0)
	return s
}

// TestOrderOfPartitions holds Put, Forget and the rotation of Report to a plain list.
func TestOrderOfPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := cached(), []int32(nil)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.Int32Range(0, 6).Draw(t, "partition")
			at := slices.Index(want, i)
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				s.Put(name(i), Want{Offset: int64(i)})
				if at < 0 {
					want = append(want, i)
				}
			case 1:
				s.Forget(name(i))
				if at >= 0 {
					want = slices.Delete(want, at, at+1)
				}
			case 2:
				for p := range s.All() {
					if p.Index == i {
						s.Report(p, Result{Records: true})
						want = append(slices.Delete(want, at, at+1), i)
						break
					}
				}
			}
			if got := order(s); !slices.Equal(got, want) || s.Len() != len(want) {
				t.Fatalf("order %v of %d, want %v", got, s.Len(), want)
			}
		}
	})
}

func TestPutChangesWhatIsAskedInPlace(t *testing.T) {
	s := sessionOf(1, 2)
	s.Put(name(1), Want{Offset: 9})
	if got := order(s); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("order %v", got)
	}
	for p := range s.All() {
		if p.Index == 1 && p.Offset != 9 {
			t.Errorf("offset %d, want the later 9", p.Offset)
		}
	}
}

// TestReport is the table of KIP-227: which partitions an incremental answer names.
func TestReport(t *testing.T) {
	quiet := Result{HighWatermark: 5, Start: 1}
	tests := []struct {
		name string
		then Result
		want bool
	}{
		{"nothing new", quiet, false},
		{"records", Result{HighWatermark: 5, Start: 1, Records: true}, true},
		{"high watermark", Result{HighWatermark: 6, Start: 1}, true},
		{"log start", Result{HighWatermark: 5, Start: 2}, true},
		{"error", Result{HighWatermark: 5, Start: 1, Failed: true}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := cached(0)
			p := &s.slots[0]
			if !s.Report(p, quiet) {
				t.Fatal("a new partition is always told")
			}
			if got := s.Report(p, test.then); got != test.want {
				t.Errorf("told: %v, want %v", got, test.want)
			}
		})
	}
}

// TestErrorIsResentAndSoIsItsEnd is T25: a cached high watermark of -1 after an error.
func TestErrorIsResentAndSoIsItsEnd(t *testing.T) {
	s := cached(0)
	p := &s.slots[0]
	steps := []struct {
		r    Result
		want bool
	}{
		{Result{HighWatermark: 5, Start: 0}, true},
		{Result{HighWatermark: -1, Start: -1, Failed: true}, true},
		{Result{HighWatermark: -1, Start: -1, Failed: true}, true},
		{Result{HighWatermark: 5, Start: 0}, true},
		{Result{HighWatermark: 5, Start: 0}, false},
	}
	for i, step := range steps {
		if got := s.Report(p, step.r); got != step.want {
			t.Errorf("step %d: told %v, want %v", i, got, step.want)
		}
	}
}

func TestOwes(t *testing.T) {
	s := cached(0)
	p := &s.slots[0]
	if !p.Owes(0) {
		t.Error("a new partition owes its state")
	}
	s.Report(p, Result{HighWatermark: 5, Start: 0})
	if p.Owes(0) {
		t.Error("owes what was told")
	}
	if !p.Owes(3) {
		t.Error("a moved log start is news")
	}
	s.Report(p, Result{HighWatermark: 5, Start: 0, Failed: true})
	if !p.Owes(0) {
		t.Error("what follows an error is news")
	}
}

func TestWalkSeesEachPartitionOnceThoughReportMovesThem(t *testing.T) {
	s := cached(1, 2, 3)
	var seen []int32
	for p := range s.All() {
		seen = append(seen, p.Index)
		s.Report(p, Result{Records: p.Index != 2})
	}
	if !slices.Equal(seen, []int32{1, 2, 3}) {
		t.Errorf("saw %v", seen)
	}
	if got := order(s); !slices.Equal(got, []int32{2, 1, 3}) {
		t.Errorf("order %v", got)
	}
}

func TestSessionlessKeepsItsOrder(t *testing.T) {
	s := sessionOf(3, 1, 2)
	for p := range s.All() {
		s.Report(p, Result{Records: true})
	}
	if got := order(s); !slices.Equal(got, []int32{3, 1, 2}) {
		t.Errorf("order %v", got)
	}
}
