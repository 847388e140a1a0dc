package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
)

// table prints ratios, then times, quality and memory, as Markdown.
func table(w io.Writer, peers []string, rows []row) {
	ratioTable(w, rows)
	heading(w, "Time of one plan, best of repeats (first in brackets)", peers)
	for _, r := range rows {
		cells(w, r, peers, func(p string, s sample) string { return fmt.Sprintf("%s (%s)", short(s.Best), short(s.First)) })
	}
	heading(w, "Excess of the sum of squared loads over the fairest / moves above the fewest", peers)
	for _, r := range rows {
		cells(w, r, peers, func(p string, s sample) string { return r.quality(p) })
	}
	heading(w, "Bytes allocated a partition by one plan / largest size of the process", peers)
	for _, r := range rows {
		cells(w, r, peers, func(p string, s sample) string {
			return fmt.Sprintf("%.0f / %.0f MiB", float64(s.Allocated)/float64(max(r.Partitions, 1)), float64(s.Peak)/(1<<20))
		})
	}
	heading(w, "Bytes that one plan leaves to the collector besides itself, a partition", []string{"skein"})
	for _, r := range rows {
		cells(w, r, []string{"skein"}, func(p string, s sample) string {
			return fmt.Sprintf("%.1f", float64(s.Allocated-s.Output)/float64(max(r.Partitions, 1)))
		})
	}
}

func heading(w io.Writer, title string, peers []string) {
	fmt.Fprintf(w, "\n### %s\n| scenario | %s |\n|---|%s\n", title, strings.Join(peers, " | "), strings.Repeat("---|", len(peers)))
}

func cells(w io.Writer, r row, peers []string, text func(string, sample) string) {
	fmt.Fprintf(w, "| %s", r.Scenario)
	for _, p := range peers {
		cell := ""
		if s, ran := r.Samples[p]; ran {
			if cell = s.Err; cell == "" {
				cell = text(p, s)
			}
		}
		fmt.Fprintf(w, " | %s", cell)
	}
	fmt.Fprintln(w, " |")
}

// quality compares with Skein's plan, which is proven.
func (r row) quality(p string) string {
	s, ok := r.Scores[p]
	best, proven := r.Scores["skein"]
	if !ok || !proven {
		return ""
	}
	excess, moves := squares(s)-squares(best), s.Moves-best.Moves
	if r.Optimal[p] == "" {
		return "optimal"
	}
	return fmt.Sprintf("+%d / %+d of %d", excess, moves, best.Moves)
}

func squares(s assign.Score) (sum int64) {
	for _, load := range s.Loads {
		sum += int64(load) * int64(load)
	}
	return sum
}

// short is a time with three digits.
func short(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms >= 1:
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.3f ms", ms)
}
