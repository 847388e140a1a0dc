package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/stops"
)

// writeTrace writes down what happened in a life, a line a moment, in
// milliseconds since its first one, so that a figure can be looked into.
func writeTrace(name string, t stops.Trace) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing a trace: %w", err)
	}
	defer f.Close()
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for _, e := range t.Events {
		text := fmt.Sprintf("%s %s %v", e.Member, e.Kind, e.Partitions)
		if e.Kind == stops.Handled {
			text += fmt.Sprintf(" %d-%d", e.First, e.Last)
		}
		lines = append(lines, line{e.At, text})
	}
	for _, c := range t.Changes {
		lines = append(lines, line{c.At, fmt.Sprintf("== %s: %s", c.Name, strings.Join(c.Live, " "))})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	w := bufio.NewWriter(f)
	for _, l := range lines {
		fmt.Fprintf(w, "%10.3f %s\n", float64((l.at-lines[0].at).Microseconds())/1000, l.text)
	}
	return w.Flush()
}

// fileName replaces what does not belong into a file's name.
func fileName(r rune) rune {
	if strings.ContainsRune(" ,/", r) {
		return '-'
	}
	return r
}
