package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/stats"
)

// key is a place in a table.
type key struct {
	broker, client string
	workers        int
	column         string
}

// findings are all samples, one a round.
type findings struct{ samples map[key][]float64 }

func (f *findings) add(k key, value float64) {
	if f.samples == nil {
		f.samples = map[key][]float64{}
	}
	f.samples[k] = append(f.samples[k], value)
}

// median is NaN where nothing was measured.
func (f *findings) median(k key) float64 { return stats.Median(f.samples[k]) }

// sample is a line of the JSON document.
type sample struct {
	Broker, Client string
	Workers        int
	Column         string
	Samples        []float64
}

func (f *findings) writeJSON(name string) error {
	var lines []sample
	for k, values := range f.samples {
		lines = append(lines, sample{k.broker, k.client, k.workers, k.column, values})
	}
	slices.SortFunc(lines, func(a, b sample) int {
		return strings.Compare(fmt.Sprintf("%s %s %3d %s", a.Broker, a.Client, a.Workers, a.Column), fmt.Sprintf("%s %s %3d %s", b.Broker, b.Client, b.Workers, b.Column))
	})
	text, err := json.MarshalIndent(lines, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// brief is what one client was measured to be, in a line.
func brief(found map[string]float64) string {
	var words []string
	for _, column := range slices.Sorted(maps.Keys(found)) {
		words = append(words, column+" "+result.Number(found[column]))
	}
	return strings.Join(words, ", ")
}
