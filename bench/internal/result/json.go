package result

import (
	"encoding/json"
	"math"
)

// Document is a comparison as JSON: every sample, the medians, the ratios and
// the bars, so that runs can be kept and compared.
type Document struct {
	Machine string `json:"machine"`
	Rounds  int    `json:"rounds"`
	Quick   bool   `json:"quick,omitempty"`
	Rows    []Line `json:"rows"`
}

// Line is one row of a Document.
type Line struct {
	Row
	More    bool               `json:"more_is_better"`
	Limit   float64            `json:"at_most,omitempty"` // of our own figures
	Medians map[Peer]float64   `json:"medians"`
	Samples map[Peer][]float64 `json:"samples"`
	Ratios  []Ratio            `json:"ratios"`
}

// Ratio is how many times better ours is than theirs, and the bar.
type Ratio struct {
	Ours   Peer    `json:"ours"`
	Theirs Peer    `json:"theirs"`
	Gain   float64 `json:"gain"`
	Asked  float64 `json:"asked,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

// JSON is the table as an indented Document.
func (t *Table) JSON(d Document) ([]byte, error) {
	for _, row := range t.seen() {
		d.Rows = append(d.Rows, t.lineOf(row))
	}
	return json.MarshalIndent(d, "", "  ")
}

func (t *Table) lineOf(row Row) Line {
	l := Line{Row: row, More: row.Kind.More(), Medians: map[Peer]float64{}, Samples: map[Peer][]float64{}}
	l.Limit, _ = Limit(row.Kind)
	for _, p := range Peers() {
		if samples := t.Samples(p, row.ID); len(samples) > 0 {
			l.Samples[p], l.Medians[p] = samples, t.Median(p, row.ID)
		}
	}
	for _, p := range Pairs() {
		if gain := t.gain(row, p); !math.IsNaN(gain) {
			l.Ratios = append(l.Ratios, ratioOf(row, p, gain))
		}
	}
	return l
}

func ratioOf(row Row, p Pair, gain float64) Ratio {
	r := Ratio{Ours: p.Ours, Theirs: p.Theirs, Gain: gain}
	if asked, ok := p.Bar(row.Kind); ok {
		met := gain >= asked
		r.Asked, r.Met = asked, &met
	}
	return r
}
