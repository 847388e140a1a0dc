package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Groups is the consumer groups at the time of a scrape, and what has happened to them since the start.
type Groups struct {
	// Shards is how many partitions the topic of the groups has, 0 without one, Serving how many of them answer.
	Shards, Serving int
	States          map[string]int // groups by state
	Members         int
	Offsets         int64 // committed ones that are kept
	Pending         int64 // offsets of open transactions

	Rebalances, Commits, Expired, Deleted int64
}

// groups asks for the groups at each scrape.
type groups struct {
	ask   func() Groups
	loads *histogram
}

// CoordinatorLoaded counts one load of a partition of a coordinator's topic.
func (m *Monitor) CoordinatorLoaded(took time.Duration) { m.loads.observe(took) }

// groupStates are shown even without a group in them.
func groupStates() []string {
	return []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}
}

var (
	shardsDesc        = prometheus.NewDesc("skein_group_shards", "Partitions of the topic of consumer groups, by whether their coordinator serves.", []string{"state"}, nil)
	groupsDesc        = prometheus.NewDesc("skein_groups", "Consumer groups, by state.", []string{"state"}, nil)
	membersDesc       = prometheus.NewDesc("skein_group_members", "Members of all consumer groups.", nil, nil)
	offsetsDesc       = prometheus.NewDesc("skein_group_offsets", "Committed offsets that are kept.", nil, nil)
	pendingDesc       = prometheus.NewDesc("skein_group_offsets_pending", "Offsets in transactions that are open.", nil, nil)
	rebalancesDesc    = prometheus.NewDesc("skein_group_rebalances_total", "Rebalances of consumer groups that were completed.", nil, nil)
	offsetCommitsDesc = prometheus.NewDesc("skein_group_offset_commits_total", "Offsets that were committed.", nil, nil)
	expiredDesc       = prometheus.NewDesc("skein_group_offsets_expired_total", "Offsets that were dropped since nobody needed them for their time of retention.", nil, nil)
	deletedDesc       = prometheus.NewDesc("skein_group_offsets_deleted_total", "Offsets that were deleted by request, or with their topic.", nil, nil)
	loadsDesc         = prometheus.NewDesc("skein_coordinator_load_seconds", "How long it took to load a partition of a coordinator's topic.", nil, nil)
)

// Describe implements prometheus.Collector.
func (g groups) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{shardsDesc, groupsDesc, membersDesc, offsetsDesc, pendingDesc, rebalancesDesc, offsetCommitsDesc, expiredDesc, deletedDesc, loadsDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g groups) Collect(to chan<- prometheus.Metric) {
	now := g.ask()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(shardsDesc, float64(now.Serving), "serving")
	gauge(shardsDesc, float64(now.Shards-now.Serving), "loading")
	for _, state := range groupStates() {
		gauge(groupsDesc, float64(now.States[state]), state)
	}
	gauge(membersDesc, float64(now.Members))
	gauge(offsetsDesc, float64(now.Offsets))
	gauge(pendingDesc, float64(now.Pending))
	for d, v := range map[*prometheus.Desc]int64{rebalancesDesc: now.Rebalances, offsetCommitsDesc: now.Commits, expiredDesc: now.Expired, deletedDesc: now.Deleted} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	to <- g.loads.metric(loadsDesc)
}
