package result

import (
	"fmt"
	"math"
)

// Pair is two peers that are set side by side.
type Pair struct {
	Ours, Theirs Peer
	Synced       bool // both sync before they acknowledge
	Equal        bool // at equal durability: the bars hold
}

// Title is the head of the pair's column.
func (p Pair) Title() string { return fmt.Sprintf("%s ÷ %s", p.Ours.Title(), p.Theirs.Title()) }

// Pairs are the comparisons of the table. kfake in memory writes nothing at
// all, so the second last is as equal as it gets, and carries no bar.
func Pairs() []Pair {
	return []Pair{
		{Ours: Skein, Theirs: KafkaSync, Synced: true, Equal: true},
		{Ours: Skein, Theirs: KfakeSync, Synced: true, Equal: true},
		{Ours: SkeinOS, Theirs: Kafka, Equal: true},
		{Ours: SkeinOS, Theirs: Kfake, Equal: true},
		{Ours: Skein, Theirs: Kafka},
	}
}

// Gain tells how many times better ours is than theirs: above 1 is ahead, for
// rates as for costs. It is NaN when either was not measured, or is too small
// to be seen.
func Gain(k Kind, ours, theirs float64) float64 {
	if ours == 0 || theirs == 0 {
		return math.NaN()
	}
	if k.More() {
		ours, theirs = theirs, ours
	}
	return theirs / ours
}

// level is how far behind still counts as level: what runs of the same broker
// differ by.
const level = 0.95

// Bar is the gain asked of a row of a pair; ok is false where nothing is.
func (p Pair) Bar(k Kind) (gain float64, ok bool) {
	switch {
	case !p.Equal:
		return 0, false
	case p.Theirs == KafkaSync || p.Theirs == Kafka:
		return barToKafka(k, p.Synced)
	case p.Theirs == KfakeSync:
		return barToKfake(k)
	}
	return 0, false
}

// Limit is the most that a row of ours may show, whatever others do; ok is
// false where there is none.
func Limit(k Kind) (most float64, ok bool) {
	switch k {
	case CommitCPU:
		return 10, true
	case StormGenerations:
		return 2, true
	}
	return 0, false
}

func barToKafka(k Kind, synced bool) (gain float64, ok bool) {
	switch k {
	case StormTime, StormGenerations: // most of it is a wait that the settings ask for
		return 0, false
	case TxnShare: // a broker whose plain producing is slow has the greater share
		return 0, false
	case Txn1Rate:
		return 30, true
	case Txn8Rate:
		return 10, true
	case TxnCommitP99:
		return 5, true
	case Start:
		return 20, true
	case MemoryIdle:
		return 10, true
	case MemoryLoaded:
		return 4, true
	case ProduceCPU:
		return 2, true
	case ProduceP99:
		if synced {
			return 3, true
		}
		return 2, true
	}
	return 1, true
}

func barToKfake(k Kind) (gain float64, ok bool) {
	switch k {
	case ProduceRate, ProduceCPU, ProduceMedian, ProduceP99:
		return level, true
	case CommitCPU:
		return 1, true
	case Txn1Rate:
		return 2, true
	}
	return 0, false
}

// Verdict is one bar and how it was met.
type Verdict struct {
	Row   Row
	Pair  Pair    // of a limit, our side only
	Asked float64 // the gain asked, or the limit
	Got   float64 // the gain seen, or our own figure; NaN when not measured
}

// Limits tells whether the bar is a limit.
func (v Verdict) Limits() bool { return v.Pair.Theirs == "" }

// Met tells whether the bar was met.
func (v Verdict) Met() bool {
	if v.Limits() {
		return v.Got <= v.Asked
	}
	return v.Got >= v.Asked
}

// sides are whose figures the bar is about, and what is asked of them.
func (v Verdict) sides() (who, asked string) {
	if v.Limits() {
		return v.Pair.Ours.Title(), "at most " + Number(v.Asked)
	}
	return v.Pair.Title(), Number(v.Asked)
}

// Measured tells whether there was anything to judge.
func (v Verdict) Measured() bool { return !math.IsNaN(v.Got) }

// Verdicts judges every bar that was measured, the missed ones first, each
// part in the order of the rows.
func (t *Table) Verdicts() []Verdict {
	var missed, met []Verdict
	for _, row := range Rows() {
		for _, v := range t.judge(row) {
			switch {
			case !v.Measured():
			case v.Met():
				met = append(met, v)
			default:
				missed = append(missed, v)
			}
		}
	}
	return append(missed, met...)
}

// judge is every bar of a row.
func (t *Table) judge(row Row) []Verdict {
	var all []Verdict
	for _, pair := range Pairs() {
		if asked, ok := pair.Bar(row.Kind); ok {
			all = append(all, Verdict{Row: row, Pair: pair, Asked: asked, Got: t.gain(row, pair)})
		}
	}
	if most, ok := Limit(row.Kind); ok {
		for _, ours := range []Peer{Skein, SkeinOS} {
			all = append(all, Verdict{Row: row, Pair: Pair{Ours: ours}, Asked: most, Got: t.Median(ours, row.ID)})
		}
	}
	return all
}
