package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The rules, by the words that violations carry.
const (
	RuleVisible  = "an aborted or unfinished record is visible"
	RuleUnknown  = "a record that nobody has sent is visible"
	RuleLost     = "an acknowledged record is lost"
	RuleTorn     = "a transaction is torn"
	RuleTwice    = "a record is there twice"
	RuleOrder    = "the records of a key are out of order"
	RuleRepeat   = "what was read has changed"
	RuleHeld     = "readers are held up by a transaction that is over"
	RuleOld      = "readers are held up by a transaction that is out of time"
	RuleOffset   = "a committed offset is wrong"
	RuleBack     = "a committed offset went back"
	RuleExactly  = "an input was not transformed exactly once"
	RuleZombie   = "a zombie was served"
	RuleNotQuiet = "a transaction hangs"
)

// Check judges a history. No violations: the broker has kept its promises, as far as these clients can tell.
func Check(h *History) []Violation {
	j := newJudge(h)
	for _, check := range []func(){j.reads, j.held, j.whole, j.plain, j.order, j.offsets, j.transforms, j.zombies, j.quiet} {
		check()
	}
	return j.found
}

// judge is a history with what the checks look up in it.
type judge struct {
	*History
	owners  map[string]owner        // by value
	counts  map[Partition][]string  // what counts at the end, by partition, in order
	times   map[string]int          // how often a value counts at the end
	visible map[*Txn]int            // how many of its writes count at the end
	first   map[Partition][]located // everything at the end with its transaction
	found   []Violation
}

// owner is who has written a value; txn is nil for records outside of transactions.
type owner struct {
	txn   *Txn
	write *Write
}

type located struct {
	offset int64
	txn    *Txn
}

func newJudge(h *History) *judge {
	j := &judge{History: h, owners: map[string]owner{}, counts: map[Partition][]string{}, times: map[string]int{}, visible: map[*Txn]int{}, first: map[Partition][]located{}}
	for _, t := range h.Txns {
		for _, w := range t.Writes {
			j.owners[w.Value] = owner{t, w}
		}
	}
	for _, w := range h.Plain {
		j.owners[w.Value] = owner{nil, w}
	}
	for _, at := range j.partitions() {
		for _, s := range h.Final.Logs[at].Committed {
			j.counts[at] = append(j.counts[at], s.Value)
			if j.times[s.Value]++; j.owners[s.Value].txn != nil && j.times[s.Value] == 1 {
				j.visible[j.owners[s.Value].txn]++
			}
		}
		for _, s := range h.Final.Logs[at].All {
			j.first[at] = append(j.first[at], located{s.Offset, j.owners[s.Value].txn})
		}
	}
	return j
}

// partitions are those of the end, in order.
func (j *judge) partitions() []Partition {
	return slices.SortedFunc(maps.Keys(j.Final.Logs), comparePartitions)
}

func comparePartitions(a, b Partition) int {
	if a.Topic != b.Topic {
		return strings.Compare(a.Topic, b.Topic)
	}
	return int(a.Index - b.Index)
}

func (j *judge) broken(rule, format string, args ...any) {
	j.found = append(j.found, Violation{rule, fmt.Sprintf(format, args...)})
}

// mayCount says whether a transaction may be committed.
func (t *Txn) mayCount() bool { return t.Outcome == Committed || t.Outcome == Asked }

// whole: of each transaction everything counts, or nothing (R-E8); all if the commit was acknowledged, nothing if nobody has
// asked for it.
func (j *judge) whole() {
	for _, t := range j.Txns {
		switch n := j.visible[t]; {
		case n > 0 && !t.mayCount():
			j.broken(RuleVisible, "at the end %d of %d records of %v count", n, len(t.Writes), t)
		case n == 0 && t.Outcome == Committed && len(t.Writes) > 0:
			j.broken(RuleLost, "nothing of the %d records of %v counts", len(t.Writes), t)
		case n != len(t.Writes) && n > 0:
			j.broken(RuleTorn, "%d of %d records of %v count", n, len(t.Writes), t)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(j.times)) {
		if n := j.times[value]; n > 1 {
			j.broken(RuleTwice, "%s counts %d times", value, n)
		}
		if j.owners[value].write == nil {
			j.broken(RuleUnknown, "%s", value)
		}
	}
}

// plain: what is outside of transactions is there once it was acknowledged. That it is there once says whole.
func (j *judge) plain() {
	for _, w := range j.Plain {
		if w.Acked && j.times[w.Value] == 0 {
			j.broken(RuleLost, "%s of %v", w.Value, w.At)
		}
	}
}

// order: what counts of a key is in its order.
func (j *judge) order() {
	for _, at := range j.partitions() {
		last := map[string]*Write{}
		for _, value := range j.counts[at] {
			w := j.owners[value].write
			if w == nil || w.Key == "" {
				continue
			}
			if before := last[w.Key]; before != nil && before.Order >= w.Order {
				j.broken(RuleOrder, "in %v %s comes after %s", at, w.Value, before.Value)
			}
			last[w.Key] = w
		}
	}
}

// quiet: at the end nothing is open any more (R-E9).
func (j *judge) quiet() {
	for _, at := range j.partitions() {
		if l := j.Final.Logs[at]; l.Stable != l.High {
			j.broken(RuleNotQuiet, "%v is stable up to %d of %d; there is %v", at, l.Stable, l.High, j.txnFrom(at, l.Stable))
		}
	}
}

// txnFrom is the transaction of the first record at an offset or behind it, nil if it has none.
func (j *judge) txnFrom(at Partition, offset int64) *Txn {
	all := j.first[at]
	i, _ := slices.BinarySearchFunc(all, offset, func(l located, o int64) int { return int(l.offset - o) })
	if i == len(all) || all[i].offset != offset {
		return nil
	}
	return all[i].txn
}
