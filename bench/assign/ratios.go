package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// pair is a peer and the form of Skein that does the same.
type pair struct {
	peer, ours string
	// bar is how many times faster Skein is to be in a row; 0 for no bar.
	bar func(r row) float64
}

// pairs lists the comparisons in the order of the columns.
var pairs = []pair{
	{"franz-go", "skein map", mapBar},
	{"franz-go", "map alone", nil},
	{"franz-go bytes", "skein bytes", func(r row) float64 { return from(r, 200_000, 10) }},
	{"java client", "skein", func(r row) float64 { return byKind(r, 5, 1000) }},
	{"java server", "skein", func(r row) float64 { return byKind(r, 1, 5) }},
	{"sarama", "skein", nil},
}

func (r row) equal() bool { return strings.HasPrefix(r.Scenario, "equal") }
func (r row) fresh() bool { return strings.HasSuffix(r.Scenario, "fresh") }

// mapBar: never slower; with a past more, by size.
func mapBar(r row) float64 {
	switch {
	case r.fresh():
		return 1
	case r.Partitions >= 190_000: // zipf's sizes are drawn
		return 10
	case r.Partitions >= 10_000 && r.equal():
		return 5
	case r.Partitions <= 1100: // what 1,000 grow to
		return 1.5
	}
	return 1
}

func from(r row, partitions int, bar float64) float64 {
	if r.Partitions >= partitions-partitions/20 {
		return bar
	}
	return 0
}

func byKind(r row, equal, differing float64) float64 {
	if r.equal() {
		return equal
	}
	return differing
}

// ratio is how many times longer a peer took, by the best call, and by the
// first one. atLeast says that it was ended before it was done.
type ratio struct {
	best, first float64
	atLeast     bool
}

func (r row) ratio(p pair) (ratio, bool) {
	peer, ran := r.Samples[p.peer]
	ours, weRan := r.Samples[p.ours]
	if !ran || !weRan || ours.Err != "" || peer.Err != "" && peer.Err != tooSlow || ours.Best == 0 || peer.Best == 0 {
		return ratio{}, false
	}
	over := func(a, b time.Duration) float64 { return float64(a) / float64(b) }
	if peer.Err == tooSlow {
		return ratio{over(peer.Best, ours.Best), over(peer.Best, ours.First), true}, true
	}
	return ratio{over(peer.Best, ours.Best), over(peer.First, ours.First), false}, true
}

func (x ratio) String() string {
	sign := ""
	if x.atLeast {
		sign = "> "
	}
	return sign + times(x.best) + " (" + sign + times(x.first) + ")"
}

func times(f float64) string {
	switch {
	case f >= 20:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// worst is the least of a row's ratios.
func (r row) worst() float64 {
	worst := 1e9
	for _, p := range pairs {
		if x, ok := r.ratio(p); ok {
			worst = min(worst, x.best)
		}
	}
	return worst
}

// ratioTable prints how many times longer peers take; rows in which one is ahead
// come first, ratios below their bar are bold.
func ratioTable(w io.Writer, rows []row) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(min(a.worst(), 1), min(b.worst(), 1)) })
	var names []string
	for _, p := range pairs {
		names = append(names, p.peer+" ÷ "+p.ours)
	}
	heading(w, "How many times longer a peer takes, best calls (first calls in brackets)", names)
	missed := 0
	for _, r := range rows {
		fmt.Fprintf(w, "| %s", r.Scenario)
		for _, p := range pairs {
			x, ok := r.ratio(p)
			cell := ""
			if ok {
				cell = x.String()
				if p.bar != nil && x.best < p.bar(r) {
					cell = fmt.Sprintf("**%s** of %g", cell, p.bar(r))
					missed++
				}
			}
			fmt.Fprintf(w, " | %s", cell)
		}
		fmt.Fprintln(w, " |")
	}
	fmt.Fprintf(w, "\n%d below their bar.\n", missed)
}
