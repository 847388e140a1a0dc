// Package prom shows the figures of consumers to Prometheus. It is a package of its own, so that who embeds a consumer and measures
// otherwise does not inherit that library: consumer.Stats has all of them.
package prom

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skeinstream/skein/consumer"
)

// Source is what is collected from: a *consumer.Consumer.
type Source interface {
	Stats() consumer.Stats
	Assignment() []consumer.TopicPartition
	Lag(consumer.TopicPartition) (int64, bool)
	Paused() []consumer.TopicPartition
}

// Collector collects from one consumer when it is asked to; it holds nothing, and asks no broker.
type Collector struct {
	source  Source
	timings []timing
	counts  []count
	// Of partitions.
	lag, paused *prometheus.Desc
}

// timing is something that takes time: a summary, and the longest of late.
type timing struct {
	of       func(consumer.Stats) consumer.Timing
	all, max *prometheus.Desc
}

// count is a number.
type count struct {
	of   func(consumer.Stats) float64
	kind prometheus.ValueType
	desc *prometheus.Desc
}

// New makes a collector to be registered. Labels tell consumers of one process apart, {"group": "billing"}; nil are none.
func New(source Source, labels prometheus.Labels) *Collector {
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("skein_consumer_"+name, help, variable, labels)
	}
	return &Collector{
		source: source, timings: timings(desc), counts: counts(desc),
		lag:    desc("lag", "Offsets of a partition that were not handed out, as far as the last records have told.", "topic", "partition"),
		paused: desc("paused_partitions", "Partitions that are owned and paused."),
	}
}

type describe func(name, help string, variable ...string) *prometheus.Desc

func timings(desc describe) []timing {
	made := func(name, help string, of func(consumer.Stats) consumer.Timing) timing {
		return timing{of, desc(name+"_seconds", help), desc(name+"_max_seconds", help+" The longest of the last half minute to a minute.")}
	}
	return []timing{
		made("rebalance_latency", "From the beginning of a rebalance until the member has its assignment.", func(s consumer.Stats) consumer.Timing { return s.Rebalance }),
		made("join_time", "JoinGroup, which waits for the other members.", func(s consumer.Stats) consumer.Timing { return s.Join }),
		made("sync_time", "SyncGroup, which waits for the leader's plan.", func(s consumer.Stats) consumer.Timing { return s.Sync }),
		made("heartbeat_response_time", "Heartbeat.", func(s consumer.Stats) consumer.Timing { return s.Heartbeat }),
		made("commit_latency", "OffsetCommit.", func(s consumer.Stats) consumer.Timing { return s.Commit }),
		made("partition_revoked_latency", "The listener's Revoked.", func(s consumer.Stats) consumer.Timing { return s.Revoked }),
		made("partition_assigned_latency", "The listener's Assigned.", func(s consumer.Stats) consumer.Timing { return s.Assigned }),
		made("partition_lost_latency", "The listener's Lost.", func(s consumer.Stats) consumer.Timing { return s.Lost }),
	}
}

func counts(desc describe) []count {
	total := func(name, help string, of func(consumer.Stats) int64) count {
		return count{func(s consumer.Stats) float64 { return float64(of(s)) }, prometheus.CounterValue, desc(name+"_total", help)}
	}
	gauge := func(name, help string, of func(consumer.Stats) float64) count {
		return count{of, prometheus.GaugeValue, desc(name, help)}
	}
	return []count{
		total("failed_rebalance", "Answers to JoinGroup and SyncGroup that were none.", func(s consumer.Stats) int64 { return s.FailedRebalance.Count }),
		total("protocol_upgrade", "Changes to COOPERATIVE.", func(s consumer.Stats) int64 { return s.ProtocolUpgrades }),
		total("protocol_downgrade", "Changes to EAGER.", func(s consumer.Stats) int64 { return s.ProtocolDowngrades }),
		total("narrowed_join_rejected", "Times that all partitions were given up to let in a member that is EAGER alone.", func(s consumer.Stats) int64 { return s.NarrowedJoinsRejected }),
		gauge("protocol_mode", "0 none, 1 EAGER, 2 COOPERATIVE.", func(s consumer.Stats) float64 { return float64(s.Protocol) }),
		gauge("assigned_partitions", "Partitions that are owned.", func(s consumer.Stats) float64 { return float64(s.AssignedPartitions) }),
		gauge("last_heartbeat_timestamp_seconds", "When a heartbeat was answered; 0 is never.", func(s consumer.Stats) float64 { return stamp(s.Heartbeat.Last) }),
		gauge("last_rebalance_timestamp_seconds", "When the member had its assignment; 0 is never.", func(s consumer.Stats) float64 { return stamp(s.Rebalance.Last) }),
	}
}

func stamp(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}

// Describe names what there is.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, t := range c.timings {
		to <- t.all
		to <- t.max
	}
	for _, n := range c.counts {
		to <- n.desc
	}
	to <- c.lag
	to <- c.paused
}

// Collect looks at the consumer.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s := c.source.Stats()
	for _, t := range c.timings {
		of := t.of(s)
		to <- prometheus.MustNewConstSummary(t.all, uint64(of.Count), of.Total.Seconds(), nil)
		to <- prometheus.MustNewConstMetric(t.max, prometheus.GaugeValue, of.Max.Seconds())
	}
	for _, n := range c.counts {
		to <- prometheus.MustNewConstMetric(n.desc, n.kind, n.of(s))
	}
	to <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, float64(len(c.source.Paused())))
	for _, p := range c.source.Assignment() {
		if lag, known := c.source.Lag(p); known {
			to <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, float64(lag), p.Topic, strconv.Itoa(int(p.Partition)))
		}
	}
}
