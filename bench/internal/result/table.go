package result

import (
	"math"

	"github.com/skeinstream/skein/bench/internal/stats"
)

// Table collects the samples of a comparison: one a peer, row and round.
type Table struct {
	samples map[cell][]float64
}

type cell struct {
	peer Peer
	row  string
}

// Add records one sample of a row.
func (t *Table) Add(p Peer, row string, value float64) {
	if t.samples == nil {
		t.samples = make(map[cell][]float64)
	}
	c := cell{p, row}
	t.samples[c] = append(t.samples[c], value)
}

// Samples are all samples of a row in the order they were taken.
func (t *Table) Samples(p Peer, row string) []float64 { return t.samples[cell{p, row}] }

// Median is the median of a row's samples; NaN when there are none.
func (t *Table) Median(p Peer, row string) float64 { return stats.Median(t.Samples(p, row)) }

func (t *Table) gain(row Row, pair Pair) float64 {
	return Gain(row.Kind, t.Median(pair.Ours, row.ID), t.Median(pair.Theirs, row.ID))
}

// seen are the rows that have a number of at least one peer.
func (t *Table) seen() []Row {
	var rows []Row
	for _, row := range Rows() {
		for _, p := range Peers() {
			if !math.IsNaN(t.Median(p, row.ID)) {
				rows = append(rows, row)
				break
			}
		}
	}
	return rows
}

// ordered are the rows seen, those that miss a bar first.
func (t *Table) ordered() []Row {
	var missed, rest []Row
	for _, row := range t.seen() {
		if t.misses(row) {
			missed = append(missed, row)
		} else {
			rest = append(rest, row)
		}
	}
	return append(missed, rest...)
}

func (t *Table) misses(row Row) bool {
	for _, v := range t.Verdicts() {
		if v.Row.ID == row.ID && !v.Met() {
			return true
		}
	}
	return false
}
