package upgrade

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/interop/internal/member"
)

func said(at int64, who string, k member.Kind, p int32, numbers ...int64) member.Event {
	e := member.Event{At: at, Member: who, Kind: k, Partitions: []int32{p}}
	if len(numbers) > 0 {
		e.First, e.Last = numbers[0], numbers[len(numbers)-1]
		e.Count = e.Last - e.First + 1
	}
	return e
}

func round(at int64, number int32, protocol string, plan map[string][]int32) generation {
	g := generation{at: at, number: number, protocol: protocol, members: map[string]planned{}}
	for id, partitions := range plan {
		g.members[id] = planned{id, partitions}
	}
	return g
}

// goodHistory: a hands over to b, b dies before its last commit, c takes over.
func goodHistory() history {
	return history{
		events: []member.Event{
			said(10, "a", member.Assigned, 0), said(20, "a", member.Handled, 0, 0, 9), said(30, "a", member.Committed, 0, 10),
			said(40, "a", member.Revoked, 0), said(45, "b", member.Assigned, 0), said(50, "b", member.Handled, 0, 10, 14),
			said(60, "b", member.Committed, 0, 15), said(70, "b", member.Handled, 0, 15, 19), said(80, "b", member.Ended, 9),
			said(100, "c", member.Assigned, 0), said(110, "c", member.Handled, 0, 15, 16), said(120, "c", member.Handled, 0, 17, 24),
		},
		commits:     []commit{{25, 0, 10}, {55, 0, 15}, {130, 0, 25}},
		generations: []generation{round(5, 1, "range", map[string][]int32{"a": {0}}), round(42, 2, "cooperative-sticky", map[string][]int32{"a": {}, "b": {0}})},
		phases:      []phase{{0, "handed over"}, {75, "killed"}},
		ends:        map[int32]int64{0: 25},
	}
}

func TestAGoodHistoryIsJudgedGood(t *testing.T) {
	v := judge(goodHistory())
	if len(v.wrongs) > 0 || v.counts != (counts{}) {
		t.Errorf("%+v: %s", v.counts, strings.Join(v.wrongs, "\n"))
	}
	over, killed := v.phases[0], v.phases[1]
	if !slices.Equal(over.stops, []int64{5}) || !maps.Equal(over.stopped, map[int32]int64{0: 5}) || over.reread != 0 {
		t.Errorf("handed over: %+v", over)
	}
	if over.generations != 2 || over.followed != 0 || !slices.Equal(over.protocols, []string{"range", "cooperative-sticky"}) {
		t.Errorf("handed over: %+v", over)
	}
	if !slices.Equal(killed.stops, []int64{20}) || killed.reread != 5 {
		t.Errorf("killed: %+v", killed)
	}
}

// TestTheOrderOfArrivalDoesNotMatter: stamps say what came first.
func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	h := goodHistory()
	slices.Reverse(h.events)
	if v := judge(h); len(v.wrongs) > 0 {
		t.Error(strings.Join(v.wrongs, "\n"))
	}
}

// TestEachViolationIsFound: one thing is wrong in each history, and counted as what it is.
func TestEachViolationIsFound(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(h *history)
		count      counts
	}{
		{"two owners", "still owned by a", func(h *history) { h.events[3].At = 49 }, counts{overlaps: 1}},
		{"nobody's", `the owner is ""`, func(h *history) { h.events[4].At = 52 }, counts{overlaps: 1}},
		{"handled after it was given up", `the owner is "b"`, func(h *history) {
			h.events = append(h.events, said(48, "a", member.Handled, 0, 10, 10))
		}, counts{overlaps: 1}},
		{"two owners in a plan", "generation 2 gives partition 0", func(h *history) {
			h.generations[1] = round(42, 2, "range", map[string][]int32{"a": {0}, "b": {0}})
		}, counts{overlaps: 1}},
		{"handled again after a clean handover", "1 records are handled again", func(h *history) {
			h.events[5] = said(50, "b", member.Handled, 0, 9, 14)
		}, counts{duplicates: 1}},
		{"handled again by the same owner", "2 records are handled again", func(h *history) {
			h.events[7] = said(70, "b", member.Handled, 0, 13, 19)
		}, counts{duplicates: 2}},
		{"below the commit after a death", "3 records are handled again", func(h *history) {
			h.events[10] = said(110, "c", member.Handled, 0, 12, 16)
		}, counts{duplicates: 3}},
		{"skipped at the beginning", "nobody has handled what is before", func(h *history) {
			h.events[5] = said(50, "b", member.Handled, 0, 12, 14)
		}, counts{lost: 1}},
		{"skipped later", "nobody has handled what is before", func(h *history) {
			h.events[11] = said(120, "c", member.Handled, 0, 18, 24)
		}, counts{lost: 1}},
		{"skipped within", "4 records from 10 to 14", func(h *history) { h.events[5].Count-- }, counts{lost: 1}},
		{"not to the end", "handled up to 25 of 27", func(h *history) { h.ends[0] = 27 }, counts{lost: 2}},
		{"a partition that nobody had", "handled up to 0 of 3", func(h *history) { h.ends[1] = 3 }, counts{lost: 3}},
		{"an offset goes back", "goes back from 15", func(h *history) {
			h.commits = append(h.commits, commit{65, 0, 10})
		}, counts{regressions: 1}},
		{"an offset beyond", "which nobody has handled", func(h *history) { h.commits[0].offset = 11; h.commits = append(h.commits, commit{26, 0, 11}) }, counts{lost: 2, duplicates: 1, regressions: 1}},
		{"a late commit", "accepted while b owned", func(h *history) {
			h.events = append(h.events, said(57, "a", member.Committed, 0, 15))
		}, counts{regressions: 1}},
		{"a commit that is not there", "not written down", func(h *history) {
			h.events = append(h.events, said(57, "b", member.Committed, 0, 12))
		}, counts{regressions: 1}},
		{"thrown out", "thrown out", func(h *history) { h.events[3].Kind = member.Lost }, counts{expelled: 1}},
		{"does not settle", "generation 6 is the 5th", func(h *history) {
			for n := range int32(5) {
				h.generations = append(h.generations, round(43+int64(n), 3+n, "range", map[string][]int32{"a": {}, "b": {0}}))
			}
		}, counts{slow: 1}},
	} {
		h := goodHistory()
		c.spoil(&h)
		v := judge(h)
		if all := strings.Join(v.wrongs, "\n"); !strings.Contains(all, c.want) || v.counts != c.count {
			t.Errorf("%s: %+v, want %+v and %q:\n%s", c.name, v.counts, c.count, c.want, all)
		}
	}
}

// TestWhoLeavesDuringARebalanceLosesNothing: clients call what they own lost then, having committed it. What is handled again is
// a duplicate.
func TestWhoLeavesDuringARebalanceLosesNothing(t *testing.T) {
	h := goodHistory()
	h.events[3].Kind = member.Lost
	h.events = append(h.events, member.Event{At: 35, Member: "a", Kind: member.Leaving})
	if v := judge(h); len(v.wrongs) > 0 {
		t.Error(strings.Join(v.wrongs, "\n"))
	}
	h.events[5] = said(50, "b", member.Handled, 0, 8, 14)
	if v := judge(h); v.counts != (counts{duplicates: 2}) {
		t.Errorf("%v", v.counts)
	}
}

// TestLossesWhileTheBrokerIsAwayAreNobodysFault: members that it does not answer may think the worst.
func TestLossesWhileTheBrokerIsAwayAreNobodysFault(t *testing.T) {
	h := goodHistory()
	h.events[3].Kind = member.Lost
	h.events = append(h.events, member.Event{At: 35, Kind: member.Down}, member.Event{At: 42, Kind: member.Up})
	if v := judge(h); len(v.wrongs) > 0 {
		t.Error(strings.Join(v.wrongs, "\n"))
	}
}

// TestAGroupThatComesBackFromTheNewProtocolBeginsAnew: its generations are epochs, which have gone on; what comes later is counted again.
func TestAGroupThatComesBackFromTheNewProtocolBeginsAnew(t *testing.T) {
	plan := map[string][]int32{"a": {}, "b": {0}}
	h := goodHistory()
	h.generations = append(h.generations, generation{at: 43, gone: true}, round(44, 9, "range", plan))
	if v := judge(h); len(v.wrongs) > 0 || v.generations() != 3 {
		t.Errorf("%d generations: %s", v.generations(), strings.Join(v.wrongs, "\n"))
	}
	for n := range int32(5) {
		h.generations = append(h.generations, round(45+int64(n), 10+n, "range", plan))
	}
	if v := judge(h); v.counts != (counts{slow: 1}) {
		t.Errorf("%v", v.counts)
	}
}
