// Package stats reduces what was measured to a few numbers: percentiles of
// latencies within a run, and the median of the runs. It is pure.
package stats

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Median is the middle of values, or the mean of the two middle ones; NaN
// when there are none. It does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Percentile is the smallest element of sorted that is not below a share p
// (0 < p <= 1) of the elements (the nearest-rank rule: always a value that was
// seen). It is the zero value when there are none.
func Percentile[T cmp.Ordered](sorted []T, p float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Latencies is what a row says about the latencies of a run.
type Latencies struct {
	P50, P99, P999 time.Duration
}

// Summarize sorts all and reads its percentiles.
func Summarize(all []time.Duration) Latencies {
	slices.Sort(all)
	return Latencies{P50: Percentile(all, 0.50), P99: Percentile(all, 0.99), P999: Percentile(all, 0.999)}
}

// Milliseconds is d as a number of milliseconds.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
