package monitor

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Round is one round of the committer: what waited together and became durable together.
type Round struct {
	Writes       int
	WALBytes     int64         // by way of the write-ahead log
	SegmentBytes int64         // straight to segments
	WALSync      time.Duration // 0: none
	Took         time.Duration
}

type commits struct {
	rounds, writes, refused atomic.Uint64
	walBytes, segmentBytes  atomic.Int64
	took                    histogram
	walSync, segmentSync    histogram
}

// RoundCommitted counts one round.
func (m *Monitor) RoundCommitted(r Round) {
	c := &m.commits
	c.rounds.Add(1)
	c.writes.Add(uint64(r.Writes))
	c.walBytes.Add(r.WALBytes)
	c.segmentBytes.Add(r.SegmentBytes)
	c.took.observe(r.Took)
	if r.WALSync > 0 {
		c.walSync.observe(r.WALSync)
	}
}

// SegmentSynced counts one sync of a segment, by a round or in the background.
func (m *Monitor) SegmentSynced(took time.Duration) { m.commits.segmentSync.observe(took) }

// WritesRefused counts writes that a full or failing disk did not take.
func (m *Monitor) WritesRefused(writes int) { m.commits.refused.Add(uint64(writes)) }

var (
	roundsDesc      = prometheus.NewDesc("skein_commit_rounds_total", "Commit rounds: each makes durable, together, what waited for it.", nil, nil)
	writesDesc      = prometheus.NewDesc("skein_commit_writes_total", "Batches committed in rounds; over the rounds, how many share a sync.", nil, nil)
	refusedDesc     = prometheus.NewDesc("skein_commit_refused_total", "Batches that the disk did not take.", nil, nil)
	commitBytesDesc = prometheus.NewDesc("skein_commit_bytes_total", "Bytes committed, by road: the write-ahead log, or straight to a segment.", []string{"road"}, nil)
	tookDesc        = prometheus.NewDesc("skein_commit_round_seconds", "Duration of commit rounds.", nil, nil)
	fsyncDesc       = prometheus.NewDesc("skein_fsync_seconds", "Duration of syncs to the disk, by kind of file.", []string{"file"}, nil)
)

// Describe implements prometheus.Collector.
func (c *commits) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{roundsDesc, writesDesc, refusedDesc, commitBytesDesc, tookDesc, fsyncDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *commits) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	counter(roundsDesc, float64(c.rounds.Load()))
	counter(writesDesc, float64(c.writes.Load()))
	counter(refusedDesc, float64(c.refused.Load()))
	counter(commitBytesDesc, float64(c.walBytes.Load()), "wal")
	counter(commitBytesDesc, float64(c.segmentBytes.Load()), "segment")
	to <- c.took.metric(tookDesc)
	to <- c.walSync.metric(fsyncDesc, "wal")
	to <- c.segmentSync.metric(fsyncDesc, "segment")
}
