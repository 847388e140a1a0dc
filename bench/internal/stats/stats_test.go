package stats

import (
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{5}, 5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v, want NaN", got)
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("the values are now %v", values)
	}
}

func TestPercentileIsAValueThatWasSeen(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		sorted []int
		p      float64
		want   int
	}{
		{nil, 0.5, 0},
		{[]int{7}, 0.001, 7},
		{[]int{7}, 1, 7},
		{[]int{1, 2}, 0.5, 1},
		{[]int{1, 2}, 0.51, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 0.999, 100},
	} {
		if got := Percentile(c.sorted, c.p); got != c.want {
			t.Errorf("Percentile of %d values at %v = %d, want %d", len(c.sorted), c.p, got, c.want)
		}
	}
}

func TestSummarizeSorts(t *testing.T) {
	all := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	got := Summarize(all)
	want := Latencies{P50: 2 * time.Millisecond, P99: 3 * time.Millisecond, P999: 3 * time.Millisecond}
	if got != want {
		t.Errorf("Summarize = %v, want %v", got, want)
	}
}
