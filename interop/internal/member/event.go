// Package member has the members of consumer groups that interop runs: each a
// client in a process of its own, which says what it gets, handles, commits and
// gives up. Rooms that let groups live through something start them here, wait
// for what they say by an Observer, and judge the history.
package member

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what an event tells.
type Kind string

const (
	Assigned  Kind = "assigned"  // the client gave the member partitions
	Revoked   Kind = "revoked"   // the client took partitions from it, or it is about to leave
	Lost      Kind = "lost"      // the client says that others may have had them already
	Handled   Kind = "handled"   // the member is done with records First to Last of one partition
	Committed Kind = "committed" // First is the group's offset of a partition: the member was told so, or, without one, the broker was asked from outside
	Failed    Kind = "failed"    // the member cannot go on: Why
	Leaving   Kind = "leaving"   // it is about to be asked to leave
	Ended     Kind = "ended"     // the member's process is gone
	Down      Kind = "down"      // the broker is being started again
	Up        Kind = "up"        // and is there
)

// Event is one moment of a group's life. Members stamp theirs themselves, by
// the clock of the machine that all of them share, before they go on: the order
// of the stamps is the order of cause and effect.
type Event struct {
	At          int64 // microseconds
	Member      string
	Kind        Kind
	Partitions  []int32
	First, Last int64 // of Handled; First is the offset of Committed
	Count       int64
	Why         string // of Failed
}

func (e Event) String() string {
	return fmt.Sprintf("%d.%06d %s %s %v %d-%d %s", e.At/1e6%1e4, e.At%1e6, e.Member, e.Kind, e.Partitions, e.First, e.Last, e.Why)
}

// Now is the clock that members stamp with.
func Now() int64 { return time.Now().UnixMicro() }

// Sorted is a history in the order of time.
func Sorted(history []Event) []Event {
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return sorted
}

// Tell is a history in order, a line an event, but for offsets seen again.
func Tell(history []Event) string {
	var b strings.Builder
	offsets := map[int32]int64{}
	for _, e := range Sorted(history) {
		if e.Kind == Committed {
			if offsets[e.Partitions[0]] == e.First {
				continue
			}
			offsets[e.Partitions[0]] = e.First
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// parse reads what a member says: STAMP assigned|revoked|lost P,P…, STAMP
// handled P FIRST LAST COUNT, STAMP committed P OFFSET, or STAMP failed WHY.
func parse(line string) ([]Event, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return nil, fmt.Errorf("it said %q", line)
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	e := Event{At: at, Kind: Kind(words[1])}
	switch {
	case err != nil:
	case e.Kind == Failed:
		e.Why = strings.Join(words[2:], " ")
	case e.Kind == Handled:
		var p int32
		_, err = fmt.Sscan(strings.Join(words[2:], " "), &p, &e.First, &e.Last, &e.Count)
		e.Partitions = []int32{p}
	case e.Kind == Committed:
		var p int32
		_, err = fmt.Sscan(strings.Join(words[2:], " "), &p, &e.First)
		e.Partitions = []int32{p}
	case len(words) > 2:
		for _, word := range strings.Split(words[2], ",") {
			p, failed := strconv.ParseInt(word, 10, 32)
			if failed != nil {
				err = failed
			}
			e.Partitions = append(e.Partitions, int32(p))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("it said %q: %w", line, err)
	}
	return []Event{e}, nil
}
