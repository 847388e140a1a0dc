package stops

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const tick = 10 * time.Millisecond

// script is a trace, one line a moment, in steps of 10 ms: "12 a handled 0
// 5-6", "12 a assigned 0,1", "20 change c: a b c", "20 calm x: a b", "90 end".
// Record n of each partition is written at the moment n+1.
func script(t *testing.T, partitions int, text string) Trace {
	t.Helper()
	trace := Trace{Written: make([][]time.Duration, partitions)}
	for p := range trace.Written {
		for n := range 100 {
			trace.Written[p] = append(trace.Written[p], time.Duration(n+1)*tick)
		}
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var at int
		if _, err := fmt.Sscan(words[0], &at); err != nil {
			t.Fatal(err)
		}
		moment := time.Duration(at) * tick
		switch words[1] {
		case "change", "calm":
			name := strings.TrimSuffix(words[2], ":")
			trace.Changes = append(trace.Changes, Change{At: moment, Name: name, Live: words[3:], Calm: words[1] == "calm"})
		case "end":
			trace.End = moment
		default:
			trace.Events = append(trace.Events, event(t, moment, words[1:]))
		}
	}
	return trace
}

func event(t *testing.T, at time.Duration, words []string) Event {
	t.Helper()
	e := Event{At: at, Member: words[0], Kind: Kind(words[1])}
	for part := range strings.SplitSeq(words[2], ",") {
		var p int32
		if _, err := fmt.Sscan(part, &p); err != nil {
			t.Fatal(err)
		}
		e.Partitions = append(e.Partitions, p)
	}
	if e.Kind == Handled {
		if n, err := fmt.Sscanf(words[3], "%d-%d", &e.First, &e.Last); n != 2 {
			t.Fatal(words, err)
		}
	}
	return e
}

// brief is an outcome as one line: partition, its stop in ticks, owners, and an
// exclamation mark if it had to move.
func brief(o Outcome) string {
	var b strings.Builder
	for _, s := range o.Stops {
		mark := ""
		if s.Needed {
			mark = "!"
		}
		fmt.Fprintf(&b, "%d:%d:%s>%s%s ", s.Partition, s.Took/tick, s.From, s.To, mark)
	}
	fmt.Fprintf(&b, "moves %d of %d, reread %d, skipped %d", o.Moves(), o.Fewest, o.Reread, o.Skipped)
	return b.String()
}

func checkOutcomes(t *testing.T, trace Trace, want ...string) []Outcome {
	t.Helper()
	got := Judge(trace)
	if len(got) != len(want) {
		t.Fatalf("%d outcomes, want %d", len(got), len(want))
	}
	for i, o := range got {
		if brief(o) != want[i] {
			t.Errorf("%s:\n got %s\nwant %s", o.Name, brief(o), want[i])
		}
	}
	return got
}

// One member has two partitions and a second one comes: one of them has to
// move, and the other one goes on.
func TestPartitionThatMovesStandsStillFromItsLastRecordToTheNextOne(t *testing.T) {
	checkOutcomes(t, script(t, 2, `
		0 a assigned 0,1
		1 a handled 0 0-0
		1 a handled 1 0-0
		2 a handled 0 1-1
		2 a handled 1 1-1
		2 change comes: a b
		3 a handled 0 2-2
		3 a handled 1 2-2
		4 a handled 0 3-3
		4 a revoked 1
		5 a handled 0 4-4
		6 a handled 0 5-5
		8 b assigned 1
		9 b handled 1 3-8
		9 a handled 0 6-8
		10 b handled 1 9-9
		10 a handled 0 9-9
		11 end`),
		"0:2:a>a 1:5:a>b! moves 1 of 1, reread 0, skipped 0")
}

// All partitions are taken from all: the one that stays in the end was stopped
// too, though it need not have moved.
func TestPartitionThatStaysAndWasStopped(t *testing.T) {
	outcomes := checkOutcomes(t, script(t, 2, `
		0 a assigned 0,1
		1 a handled 0 0-0
		1 a handled 1 0-0
		2 change comes: a b
		3 a revoked 0,1
		20 a assigned 0
		20 b assigned 1
		21 a handled 0 1-20
		22 b handled 1 1-21
		22 a handled 0 21-21
		23 end`),
		"0:19:a>a 1:20:a>b! moves 1 of 1, reread 0, skipped 0")
	var s Summary
	s.Add(outcomes)
	if Stopped(s.Staying) != 1 || Longest(s.Staying) != 19*tick || Median(s.Moving) != 20*tick || s.Mean() != 39*tick/2 {
		t.Errorf("%+v", s)
	}
}

// Who moves more than the best plan is not excused by it: only as many moves as
// needed count as such, the longest ones.
func TestMovesThatWereNotNeeded(t *testing.T) {
	checkOutcomes(t, script(t, 3, `
		0 a assigned 0,1
		0 b assigned 2
		1 a handled 0 0-0
		1 a handled 1 0-0
		1 b handled 2 0-0
		2 change comes: a b c
		3 a revoked 0,1
		3 b revoked 2
		6 b assigned 1
		6 b handled 1 1-1
		8 a assigned 2
		8 a handled 2 1-1
		9 c assigned 0
		9 c handled 0 1-1
		10 end`),
		"0:7:a>c! 1:4:a>b 2:6:b>a moves 3 of 1, reread 0, skipped 0")
}

// A killed member's partition has to move, however short others stood still.
// What it handled and did not commit is handled again, which is no progress.
func TestKilledMemberAndWhatIsReadAgain(t *testing.T) {
	checkOutcomes(t, script(t, 3, `
		0 a assigned 0,1
		0 b assigned 2
		1 a handled 0 0-0
		1 a handled 1 0-0
		1 b handled 2 0-0
		2 b handled 2 1-1
		3 b handled 2 2-2
		3 change killed: a
		4 a assigned 2
		5 a handled 2 0-2
		8 a handled 2 3-7
		6 a handled 0 1-5
		7 a handled 1 1-6
		8 end`),
		"0:4:a>a 1:5:a>a 2:4:b>a! moves 1 of 1, reread 3, skipped 0")
}

// The record before a change is where a stop begins, which is none of the calm
// time before. A partition that nobody takes up stands still to the end.
func TestStopsAreLaidToChanges(t *testing.T) {
	checkOutcomes(t, script(t, 1, `
		0 a assigned 0
		1 a handled 0 0-0
		2 calm quiet: a
		2 a handled 0 1-1
		3 a handled 0 2-2
		4 change leaves: b
		9 b assigned 0
		9 b handled 0 3-3
		10 b handled 0 4-4
		10 change gone: b
		12 b revoked 0
		30 end`),
		"0:0:a>a moves 0 of 0, reread 0, skipped 0",
		"0:5:a>b! moves 1 of 1, reread 0, skipped 0",
		"0:20:b>b moves 0 of 0, reread 0, skipped 0")
}

func TestRecordsThatNobodyHandledAreCounted(t *testing.T) {
	checkOutcomes(t, script(t, 1, `
		0 a assigned 0
		1 a handled 0 0-0
		2 change comes: a b
		3 b assigned 0
		4 b handled 0 3-4
		5 end`),
		"0:0:a>b moves 1 of 0, reread 0, skipped 2")
}

func TestEventsOfOneMomentStayInTheirOrder(t *testing.T) {
	trace := script(t, 1, `
		5 b assigned 0
		0 a assigned 0
		1 change comes: b
		5 b handled 0 0-0
		6 end`)
	if got := Judge(trace); got[0].Stops[0].From != "a" || got[0].Stops[0].To != "b" {
		t.Errorf("%+v", got)
	}
}

func TestSummaryKeepsCalmTimesApart(t *testing.T) {
	var s Summary
	calm := Outcome{Change: Change{Calm: true}, Stops: []Stop{{Took: 3 * tick}}}
	busy := Outcome{Stops: []Stop{{Took: 20 * tick, From: "a", To: "b", Needed: true}}, Fewest: 1, Reread: 2}
	s.Add([]Outcome{calm, busy})
	s.Add([]Outcome{calm, busy})
	want := Summary{Changes: 2, Moving: []time.Duration{20 * tick, 20 * tick}, Noise: 3 * tick, Moves: 2, Fewest: 2, Reread: 4, Total: 40 * tick, Partitions: 2}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v\nwant %+v", s, want)
	}
	if Median([]time.Duration{1, 3}) != 2 || Median(nil) != 0 || Longest(nil) != 0 {
		t.Error("medians")
	}
}

// What holds up the producer stops nobody: record 2 comes late.
func TestRecordThatIsNotThereIsNotWaitedFor(t *testing.T) {
	trace := script(t, 1, `
		0 a assigned 0
		1 a handled 0 0-0
		2 a handled 0 1-1
		2 calm quiet: a
		50 a handled 0 2-2
		51 end`)
	trace.Written[0] = append(trace.Written[0][:2], 47*tick)
	checkOutcomes(t, trace, "0:3:a>a moves 0 of 0, reread 0, skipped 0")
}
