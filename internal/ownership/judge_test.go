package ownership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// told reads a history, one event a line and each a tenth of a second after the other; "+500ms" lets time pass before it.
//
//	a assigned 0,1      a handled 0 0-9      a committed 0 10      a joined 3 range      began up clean 3
func told(t *testing.T, script string) (history []Event) {
	t.Helper()
	at := time.Unix(1_700_000_000, 0)
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at = at.Add(100 * time.Millisecond)
		if pause, err := time.ParseDuration(words[0]); err == nil && strings.HasPrefix(words[0], "+") {
			at, words = at.Add(pause), words[1:]
		}
		if words[0] == "began" {
			words = append([]string{""}, words...)
		}
		e := Event{At: at, Member: words[0], Kind: Kind(words[1])}
		if err := e.read(words[2:]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		history = append(history, e)
	}
	return history
}

func (e *Event) read(words []string) (err error) {
	rest := strings.Join(words, " ")
	switch e.Kind {
	case Handled:
		var p int32
		_, err = fmt.Sscanf(rest, "%d %d-%d", &p, &e.First, &e.Last)
		e.Partitions, e.Count = []int32{p}, e.Last-e.First+1
	case Committed, Refused:
		var p int32
		_, err = fmt.Sscanf(rest, "%d %d", &p, &e.First)
		e.Partitions = []int32{p}
		if e.Member == "outside" {
			e.Member = ""
		}
	case Joined:
		_, err = fmt.Sscanf(rest, "%d %s", &e.Generation, &e.Assignor)
	case Began:
		e.Phase, e.Clean = words[0], slices.Contains(words, "clean")
		if len(words) > 2 {
			_, err = fmt.Sscan(words[2], &e.Limit)
		}
	case Assigned, Revoked, Lost:
		for _, word := range strings.Split(rest, ",") {
			var p int32
			_, err = fmt.Sscan(word, &p)
			e.Partitions = append(e.Partitions, p)
		}
	}
	return err
}

// bad are histories with one thing that must not be, and the words in which it is told.
type bad map[string]struct{ script, wrong string }

func (b bad) areFound(t *testing.T) {
	t.Helper()
	for name, c := range b {
		v := Judge(told(t, c.script), nil)
		if len(v.Wrongs) != 1 || !strings.Contains(v.Wrongs[0], c.wrong) || v.Good() {
			t.Errorf("%s: %q", name, v.Wrongs)
		}
	}
}

// C26 of the requirements: what must never be is found, in words that say where.
func TestWhatMustNeverBe(t *testing.T) {
	bad{
		"INV1: two owners": {`
			a assigned 0,1
			b assigned 1`, "partition 1 is still owned by a"},
		"INV2: an offset goes back": {`
			a assigned 0
			a handled 0 0-9
			a committed 0 10
			a committed 0 4`, "the offset of partition 0 goes back from 10"},
		"INV2: an offset that was told goes back": {`
			a assigned 0
			a handled 0 0-9
			outside committed 0 10
			outside committed 0 4`, "goes back from 10"},
		"INV2: a commit of who is not the owner": {`
			a assigned 0
			a handled 0 0-9
			a revoked 0
			b assigned 0
			a committed 0 10`, "partition 0 is owned by b"},
		"a record of who is not the owner": {`
			a assigned 0
			a revoked 0
			a handled 0 0-4`, `partition 0 is owned by ""`},
		"a record that an owner leaves out": {`
			a assigned 0
			a handled 0 0-4
			a handled 0 6-7`, "partition 0 goes on at 6, not at 5"},
		"a record between two owners": {`
			a assigned 0
			a handled 0 0-4
			a revoked 0
			b assigned 0
			b handled 0 6-7`, "partition 0 begins at 6: nobody has handled 5"},
		"a committed record again": {`
			a assigned 0
			a handled 0 0-4
			a committed 0 5
			a ended
			b assigned 0
			b handled 0 3-7`, "begins at 3, below the committed offset 5"},
		"a commit of what nobody has handled": {`
			a assigned 0
			a handled 0 0-4
			a committed 0 9`, "nobody has handled partition 0 beyond 5"},
	}.areFound(t)
}

// What may be where somebody dies, and nowhere else.
func TestWhatMustNotBeWithoutACause(t *testing.T) {
	bad{
		"a record again where all is clean": {`
			began up clean
			a assigned 0
			a handled 0 0-4
			a revoked 0
			b assigned 0
			b handled 0 3-7`, "2 of partition 0's records are handled again"},
		"a record again after an owner that could commit it": {`
			began crash any
			a assigned 0
			a handled 0 0-4
			a revoked 0
			a ended
			b assigned 0
			b handled 0 3-7`, "2 of partition 0's records are handled again"},
		"a live member thrown out": {`
			began up clean
			a assigned 0
			a lost 0`, "a live member was thrown out"},
		"more generations than it may take": {`
			began crash any 2
			a joined 4 range
			a joined 5 range
			b joined 5 range
			b joined 6 range`, `"crash" takes more than 2 generations`},
	}.areFound(t)
}

func TestWhatNobodyHandledIsLost(t *testing.T) {
	v := Judge(told(t, `
		a assigned 0,1
		a handled 0 0-9`), map[int32]int64{0: 10, 1: 3})
	if v.Lost != 3 || v.Partitions[1].Lost != 3 || len(v.Wrongs) != 1 || !strings.Contains(v.Wrongs[0], "partition 1 was handled up to 0 of 3") {
		t.Errorf("%+v", v)
	}
}

// A crash may have what was not committed handled again; a good history of one has nothing wrong, and its numbers are right.
func TestACrash(t *testing.T) {
	v := Judge(told(t, `
		began before clean
		a joined 1 range
		a assigned 0,1
		a handled 0 0-4
		a handled 1 0-4
		a committed 0 5
		began crash any 3
		+900ms a ended
		b joined 2 cooperative-sticky
		b assigned 0,1
		+1s b handled 0 5-9
		b handled 1 0-9
		b handled 1 10-10
		b refused 1 3`), map[int32]int64{0: 10, 1: 11})
	if !v.Good() || v.Duplicates != 5 || v.Records != 21 || v.Generations != 2 || v.Commits != 1 || v.Refused != 1 {
		t.Errorf("%+v", v)
	}
	before, crash := v.Phases[0], v.Phases[1]
	if before.Stopped != 0 || before.Duplicates != 0 || before.Assignor != "range" || before.Took != 600*time.Millisecond {
		t.Errorf("before: %+v", before)
	}
	if crash.Stopped != 2 || crash.Duplicates != 5 || crash.Generations != 1 || crash.Assignor != "cooperative-sticky" || crash.Longest != 2600*time.Millisecond {
		t.Errorf("crash: %+v", crash)
	}
	one := v.Partitions[1]
	if one.Stops != 1 || one.Stopped != 2600*time.Millisecond || one.Longest != one.Stopped || one.Pause != 100*time.Millisecond || one.Records != 11 {
		t.Errorf("partition 1: %+v", one)
	}
}

// A member that is thrown out, and one whose commit is refused, leave what they have handled to be handled again.
func TestWhoCannotCommitLeavesRecordsBehind(t *testing.T) {
	for _, script := range []string{"a lost 0", `a refused 0 5
			a revoked 0`} {
		v := Judge(told(t, `
			began pause any
			a assigned 0
			a handled 0 0-4
			`+script+`
			b assigned 0
			b handled 0 0-7`), map[int32]int64{0: 8})
		if !v.Good() || v.Duplicates != 5 {
			t.Errorf("%s: %+v", script, v)
		}
	}
}

// What stays with its owner is not stopped, however often the group rebalances.
func TestWhatStaysIsNotStopped(t *testing.T) {
	v := Judge(told(t, `
		a joined 1 cooperative-sticky
		a assigned 0,1
		a handled 0 0-4
		a handled 1 0-4
		a committed 1 5
		a revoked 1
		a joined 2 cooperative-sticky
		a handled 0 5-6
		b joined 2 cooperative-sticky
		b assigned 1
		b handled 1 5-6`), map[int32]int64{0: 7, 1: 7})
	if !v.Good() || v.Partitions[0].Stops != 0 || v.Partitions[1].Stops != 1 || v.Phases[0].Stopped != 1 {
		t.Errorf("%+v", v)
	}
}

// The order of the times counts, not that in which events were collected; and who looks in between changes nothing.
func TestOrderAndLookingInBetween(t *testing.T) {
	history := told(t, `
		a assigned 0
		a handled 0 0-4
		a revoked 0
		b assigned 0
		b handled 0 5-6`)
	want := fmt.Sprint(Judge(history, nil))
	w := NewWatch()
	for _, e := range history {
		w.See(e)
		w.Verdict(map[int32]int64{0: 100})
	}
	if got := fmt.Sprint(w.Verdict(nil)); got != want || w.Owner(0) != "b" {
		t.Errorf("looked at in between: %s\nat the end: %s", got, want)
	}
	slices.Reverse(history)
	if got := fmt.Sprint(Judge(history, nil)); got != want {
		t.Errorf("collected backwards: %s\nin order: %s", got, want)
	}
}
