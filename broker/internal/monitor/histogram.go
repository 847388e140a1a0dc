package monitor

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts durations in buckets whose bounds double: 32 µs, 64 µs, … 8.4 s, and one without bound. Counting is two
// atomic additions and no search; Prometheus' own histogram takes a few times as long, and its observers a map lookup.
// The zero value is empty.
type histogram struct {
	buckets [histogramBuckets + 1]atomic.Uint64
	sum     atomic.Int64 // ns
}

const (
	histogramMinBits = 5 // the first bound is 1<<5 µs
	histogramBuckets = 19
)

// bucketOf returns the first bucket whose bound is d or more.
func bucketOf(d time.Duration) int {
	us := uint64(max(d-1, 0) / time.Microsecond)
	return min(max(bits.Len64(us)-histogramMinBits, 0), histogramBuckets)
}

// bound is the upper bound of bucket i in seconds.
func bound(i int) float64 {
	return (time.Microsecond << (histogramMinBits + i)).Seconds()
}

func (h *histogram) observe(d time.Duration) {
	h.buckets[bucketOf(d)].Add(1)
	h.sum.Add(int64(d))
}

// metric is the histogram as it is now. Counts that come meanwhile are in all of it or not yet in the sum.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	sum := time.Duration(h.sum.Load()).Seconds()
	cumulative := make(map[float64]uint64, histogramBuckets)
	var count uint64
	for i := range histogramBuckets {
		count += h.buckets[i].Load()
		cumulative[bound(i)] = count
	}
	count += h.buckets[histogramBuckets].Load()
	return prometheus.MustNewConstHistogram(desc, count, sum, cumulative, labels...)
}
