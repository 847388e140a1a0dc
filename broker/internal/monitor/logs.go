package monitor

import (
	"iter"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// logs asks for the partitions' logs at each scrape.
type logs struct{ each func() iter.Seq[Log] }

var (
	partitionLabels = []string{"topic", "partition"}
	logBytesDesc    = prometheus.NewDesc("skein_log_size_bytes", "Size of a partition's segments.", partitionLabels, nil)
	segmentsDesc    = prometheus.NewDesc("skein_log_segments", "Number of a partition's segments.", partitionLabels, nil)
	logStartDesc    = prometheus.NewDesc("skein_log_start_offset", "First offset that a partition still has.", partitionLabels, nil)
	highDesc        = prometheus.NewDesc("skein_log_high_watermark", "Offset up to which a partition can be read.", partitionLabels, nil)
	unstableDesc    = prometheus.NewDesc("skein_log_unstable_offsets", "How many offsets of a partition committed readers do not see yet, since a transaction before them is open. Partitions without any are left out.", partitionLabels, nil)
	onlineDesc      = prometheus.NewDesc("skein_partitions", "Partitions, by whether they are served: online, offline, or damaged, of which all but what is damaged is served.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (l logs) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{logBytesDesc, segmentsDesc, logStartDesc, highDesc, unstableDesc, onlineDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Of a partition that is offline there is nothing to tell.
func (l logs) Collect(to chan<- prometheus.Metric) {
	var online, offline, damaged int
	for log := range l.each() {
		if !log.Online {
			offline++
			continue
		}
		if log.Damaged {
			damaged++
		} else {
			online++
		}
		partition := strconv.Itoa(int(log.Partition))
		gauge := func(d *prometheus.Desc, v int64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), log.Topic, partition)
		}
		gauge(logBytesDesc, log.Bytes)
		gauge(segmentsDesc, int64(log.Segments))
		gauge(logStartDesc, log.StartOffset)
		gauge(highDesc, log.HighWatermark)
		if log.Unstable > 0 {
			gauge(unstableDesc, log.Unstable)
		}
	}
	to <- prometheus.MustNewConstMetric(onlineDesc, prometheus.GaugeValue, float64(online), "online")
	to <- prometheus.MustNewConstMetric(onlineDesc, prometheus.GaugeValue, float64(offline), "offline")
	to <- prometheus.MustNewConstMetric(onlineDesc, prometheus.GaugeValue, float64(damaged), "damaged")
}

// space asks for the disk's room at each scrape.
type space struct {
	ask func() (total, free int64, err error)
}

var spaceDesc = prometheus.NewDesc("skein_disk_bytes", "The file system of the log directory: its size, and what is free of it.", []string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (s space) Describe(to chan<- *prometheus.Desc) { to <- spaceDesc }

// Collect implements prometheus.Collector.
func (s space) Collect(to chan<- prometheus.Metric) {
	total, free, err := s.ask()
	if err != nil {
		to <- prometheus.NewInvalidMetric(spaceDesc, err)
		return
	}
	to <- prometheus.MustNewConstMetric(spaceDesc, prometheus.GaugeValue, float64(total), "total")
	to <- prometheus.MustNewConstMetric(spaceDesc, prometheus.GaugeValue, float64(free), "free")
}
