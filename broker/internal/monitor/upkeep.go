package monitor

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// upkeep counts what housekeeping has done to the logs since the start.
type upkeep struct {
	sweeps, segments, cleanings atomic.Uint64
	read, kept                  atomic.Int64
}

// Swept counts one round of retention and the segments that it deleted.
func (m *Monitor) Swept(segments int) {
	m.upkeep.sweeps.Add(1)
	m.upkeep.segments.Add(uint64(segments))
}

// Cleaned counts one compaction of a log: the bytes that it read, and those of them that stayed.
func (m *Monitor) Cleaned(read, kept int64) {
	m.upkeep.cleanings.Add(1)
	m.upkeep.read.Add(read)
	m.upkeep.kept.Add(kept)
}

var (
	sweepsDesc     = prometheus.NewDesc("skein_retention_rounds_total", "Rounds of retention over all logs.", nil, nil)
	sweptDesc      = prometheus.NewDesc("skein_retention_segments_total", "Segments that retention deleted.", nil, nil)
	cleaningsDesc  = prometheus.NewDesc("skein_compactions_total", "Compactions of a log.", nil, nil)
	cleanBytesDesc = prometheus.NewDesc("skein_compaction_bytes_total", "Bytes that compaction read, and those of them that it kept.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (u *upkeep) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sweepsDesc, sweptDesc, cleaningsDesc, cleanBytesDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (u *upkeep) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	counter(sweepsDesc, float64(u.sweeps.Load()))
	counter(sweptDesc, float64(u.segments.Load()))
	counter(cleaningsDesc, float64(u.cleanings.Load()))
	counter(cleanBytesDesc, float64(u.read.Load()), "read")
	counter(cleanBytesDesc, float64(u.kept.Load()), "kept")
}
