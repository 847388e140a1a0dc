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
		return barToKafka(k, p.Synced), true
	case p.Theirs == KfakeSync:
		return level, ofProduce(k)
	}
	return 0, false
}

func barToKafka(k Kind, synced bool) float64 {
	switch k {
	case Start:
		return 20
	case MemoryIdle:
		return 10
	case MemoryLoaded:
		return 4
	case ProduceCPU:
		return 2
	case ProduceP99:
		if synced {
			return 3
		}
		return 2
	}
	return 1
}

func ofProduce(k Kind) bool {
	return k == ProduceRate || k == ProduceCPU || k == ProduceMedian || k == ProduceP99
}

// Verdict is one bar and how it was met.
type Verdict struct {
	Row   Row
	Pair  Pair
	Asked float64 // the gain asked
	Got   float64 // the gain seen; NaN when not measured
}

// Met tells whether the bar was met.
func (v Verdict) Met() bool { return v.Got >= v.Asked }

// Measured tells whether there was anything to judge.
func (v Verdict) Measured() bool { return !math.IsNaN(v.Got) }

// Verdicts judges every bar that was measured, the missed ones first, each
// part in the order of the rows.
func (t *Table) Verdicts() []Verdict {
	var missed, met []Verdict
	for _, row := range Rows() {
		for _, pair := range Pairs() {
			asked, ok := pair.Bar(row.Kind)
			v := Verdict{Row: row, Pair: pair, Asked: asked, Got: t.gain(row, pair)}
			switch {
			case !ok || !v.Measured():
			case v.Met():
				met = append(met, v)
			default:
				missed = append(missed, v)
			}
		}
	}
	return append(missed, met...)
}
