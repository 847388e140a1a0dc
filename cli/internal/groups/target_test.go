package groups

import (
	"math"
	"strings"
	"testing"
)

func TestTargetsAreFoundInsideOfTheLog(t *testing.T) {
	log := ends{start: 10, high: 50, stable: 50}
	some := known{ends: log, old: at(30), epoch: 7, metadata: "m"}
	none := known{ends: log, epoch: -1}
	for _, c := range []struct {
		name   string
		target Target
		known  known
		want   int64
		note   string
	}{
		{"earliest", Target{Kind: ToEarliest}, some, 10, ""},
		{"latest", Target{Kind: ToLatest}, some, 50, ""},
		{"offset", Target{Kind: ToOffset, Number: 20}, some, 20, ""},
		{"the end itself", Target{Kind: ToOffset, Number: 50}, some, 50, ""},
		{"offset before the log", Target{Kind: ToOffset, Number: 9}, some, 10, "9 is before the log, which begins at 10"},
		{"offset behind the log", Target{Kind: ToOffset, Number: 51}, some, 50, "51 is behind the log, which ends before 50"},
		{"file", Target{Kind: FromFile}, known{ends: log, wanted: 44}, 44, ""},
		{"file behind the log", Target{Kind: FromFile}, known{ends: log, wanted: 99}, 50, "behind"},
		{"time", Target{Kind: ToTime}, known{ends: log, timed: 33}, 33, ""},
		{"time of nothing", Target{Kind: ByDuration}, known{ends: log, timed: 50}, 50, "no record is that young"},
		{"current", Target{Kind: ToCurrent}, some, 30, ""},
		{"current of nothing", Target{Kind: ToCurrent}, none, 50, "nothing is committed: the end"},
		{"current that is gone", Target{Kind: ToCurrent}, known{ends: log, old: at(3)}, 10, "3 is before"},
		{"forward", Target{Kind: ShiftBy, Number: 5}, some, 35, ""},
		{"back", Target{Kind: ShiftBy, Number: -5}, some, 25, ""},
		{"far back", Target{Kind: ShiftBy, Number: -25}, some, 10, "5 is before the log"},
		{"for ever forward", Target{Kind: ShiftBy, Number: math.MaxInt64}, some, 50, ""},
		{"for ever back", Target{Kind: ShiftBy, Number: math.MinInt64}, some, 10, "before"},
	} {
		got := c.target.move("t", 3, c.known)
		if got.New == nil || *got.New != c.want || !strings.Contains(got.Note, c.note) || c.note == "" && got.Note != "" || got.Error != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
		kept := c.name == "current"
		if kept != (got.epoch == 7 && got.metadata == "m") {
			t.Errorf("%s: epoch %d, metadata %q", c.name, got.epoch, got.metadata)
		}
	}
}

func TestNothingCannotBeShifted(t *testing.T) {
	if got := (Target{Kind: ShiftBy, Number: 1}).move("t", 0, known{}); got.New != nil || got.Error == "" {
		t.Errorf("%+v", got)
	}
}
