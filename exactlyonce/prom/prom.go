// Package prom shows the figures of exactly-once processing to Prometheus. Those of the consumer, rebalances and lag, are shown by
// consumer/prom, of Processor.Consumer.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/skeinstream/skein/exactlyonce"
)

// Source is what is collected from: a *exactlyonce.Processor.
type Source interface{ Stats() exactlyonce.Stats }

// Collector collects from one processor when it is asked to; it holds nothing, and asks no broker.
type Collector struct {
	source          Source
	counts          []count
	aborted         *prometheus.Desc
	took, takes     *prometheus.Desc
	commit, commits *prometheus.Desc
}

type count struct {
	of   func(exactlyonce.Stats) float64
	kind prometheus.ValueType
	desc *prometheus.Desc
}

// New makes a collector to be registered. Labels tell processors of one process apart, {"group": "billing"}; nil are none.
func New(source Source, labels prometheus.Labels) *Collector {
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("skein_exactlyonce_"+name, help, variable, labels)
	}
	return &Collector{
		source: source, counts: counts(desc),
		aborted: desc("transactions_aborted_total", "Transactions that were aborted: their records are processed again.", "reason"),
		took:    desc("transaction_time_seconds", "From the beginning of a transaction with records to its commit."),
		takes:   desc("transaction_time_max_seconds", "The longest of them."),
		commit:  desc("commit_time_seconds", "Committing a transaction."),
		commits: desc("commit_time_max_seconds", "The longest of these."),
	}
}

func counts(desc func(name, help string, variable ...string) *prometheus.Desc) []count {
	total := func(name, help string, of func(exactlyonce.Stats) int64) count {
		return count{func(s exactlyonce.Stats) float64 { return float64(of(s)) }, prometheus.CounterValue, desc(name+"_total", help)}
	}
	return []count{
		total("transactions_committed", "Transactions that are committed.", func(s exactlyonce.Stats) int64 { return s.Committed }),
		total("transactions_unknown", "Transactions of which nobody has said what has become of them: the group's offsets do.", func(s exactlyonce.Stats) int64 { return s.Unknown }),
		total("records_in", "Records that were processed in transactions that are committed.", func(s exactlyonce.Stats) int64 { return s.RecordsIn }),
		total("records_out", "Records that were sent in them.", func(s exactlyonce.Stats) int64 { return s.RecordsOut }),
		total("records_undone", "Records that were processed in transactions that were not committed.", func(s exactlyonce.Stats) int64 { return s.RecordsUndone }),
		total("dead_letters", "Records that were passed over.", func(s exactlyonce.Stats) int64 { return s.DeadLetters }),
		total("poisoned", "Times that a record could not be processed.", func(s exactlyonce.Stats) int64 { return s.Poisoned }),
		total("producers", "Producers that were made, the first included.", func(s exactlyonce.Stats) int64 { return s.Renewed }),
		{lastCommit, prometheus.GaugeValue, desc("last_commit_timestamp_seconds", "When a transaction was committed; 0 is never.")},
	}
}

func lastCommit(s exactlyonce.Stats) float64 {
	if s.LastCommit.IsZero() {
		return 0
	}
	return float64(s.LastCommit.UnixMilli()) / 1000
}

// Describe names what there is.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, n := range c.counts {
		to <- n.desc
	}
	for _, d := range []*prometheus.Desc{c.aborted, c.took, c.takes, c.commit, c.commits} {
		to <- d
	}
}

// Collect looks at the processor.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s := c.source.Stats()
	for _, n := range c.counts {
		to <- prometheus.MustNewConstMetric(n.desc, n.kind, n.of(s))
	}
	for _, why := range exactlyonce.Reasons() {
		to <- prometheus.MustNewConstMetric(c.aborted, prometheus.CounterValue, float64(s.Aborted[why]), why.String())
	}
	timing := func(all, max *prometheus.Desc, of exactlyonce.Timing) {
		to <- prometheus.MustNewConstSummary(all, uint64(of.Count), of.Total.Seconds(), nil)
		to <- prometheus.MustNewConstMetric(max, prometheus.GaugeValue, of.Max.Seconds())
	}
	timing(c.took, c.takes, s.Took)
	timing(c.commit, c.commits, s.Commit)
}
