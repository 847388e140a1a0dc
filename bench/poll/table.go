package main

import (
	"fmt"
	"io"
	"slices"
)

// most is what polling through the consumer may cost over plain franz-go, in
// time and in processor time. Allocations, of which there are a few a poll, are
// shown for what they are.
const most = 1.05

func (s sample) rate() float64 { return float64(s.Records) / s.Took.Seconds() }

// cpu is in seconds a million records.
func (s sample) cpu() float64 { return s.CPU.Seconds() * 1e6 / float64(s.Records) }

func (s sample) allocations() float64 { return float64(s.Mallocs) / float64(s.Records) }
func (s sample) bytes() float64       { return float64(s.Bytes) / float64(s.Records) }

// measures are the columns; what costs is better when it is less.
var measures = []struct {
	name   string
	of     func(sample) float64
	format string
	gains  bool
	bar    bool
}{
	{"k/s", func(s sample) float64 { return s.rate() / 1000 }, "%.0f", true, true},
	{"CPU a million (s)", sample.cpu, "%.3f", false, true},
	{"allocations a record", sample.allocations, "%.4f", false, false},
	{"bytes allocated a record", sample.bytes, "%.0f", false, false},
}

// pairs are who is compared: the consumer, and franz-go polled alike.
func pairs() [][2]string {
	return [][2]string{{consumerAll, plain}, {consumer500, plain500}}
}

func writeTable(out io.Writer, size int, samples map[string][]sample) {
	fmt.Fprintf(out, "\n| %d B |", size)
	for _, m := range measures {
		fmt.Fprintf(out, " %s |", m.name)
	}
	fmt.Fprint(out, "\n| --- |")
	for range measures {
		fmt.Fprint(out, " ---: |")
	}
	fmt.Fprintln(out)
	for _, reader := range readers() {
		fmt.Fprintf(out, "| %s |", reader)
		for _, m := range measures {
			fmt.Fprintf(out, " "+m.format+" |", median(samples[reader], m.of))
		}
		fmt.Fprintln(out)
	}
	for _, p := range pairs() {
		fmt.Fprintf(out, "| %s: cost |", p[0])
		for _, m := range measures {
			c := cost(samples[p[0]], samples[p[1]], m.of, m.gains)
			text := fmt.Sprintf("%.3f", c)
			if m.bar && c > most {
				text = "**" + text + "**"
			}
			fmt.Fprintf(out, " %s |", text)
		}
		fmt.Fprintln(out)
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	var all []float64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// cost is how many times more the first needs than the second: above 1, it is
// the one that loses.
func cost(mine, theirs []sample, of func(sample) float64, gains bool) float64 {
	m, t := median(mine, of), median(theirs, of)
	if gains {
		return t / m
	}
	return m / t
}
