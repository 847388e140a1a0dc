package consumer

import (
	"iter"
	"time"
)

// All says the figures under the names of Kafka's consumer-coordinator-metrics, in Kafka's units: latencies and times in milliseconds, rates a
// second unless the name says otherwise. Averages, maxima and rates are of the last half minute to a minute, as Kafka's are. Those that Kafka
// does not have are protocol-mode (0 none, 1 eager, 2 cooperative), protocol-upgrade-total, protocol-downgrade-total and
// narrowed-join-rejected-total.
func (s Stats) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, m := range s.list(time.Now()) {
			if !yield(m.name, m.value) {
				return
			}
		}
	}
}

type named struct {
	name  string
	value float64
}

func (s Stats) list(now time.Time) []named {
	list := []named{
		{"rebalance-latency-avg", millis(s.Rebalance.Avg)},
		{"rebalance-latency-max", millis(s.Rebalance.Max)},
		{"rebalance-latency-total", millis(s.Rebalance.Total)},
		{"rebalance-total", float64(s.Rebalance.Count)},
		{"rebalance-rate-per-hour", s.Rebalance.Rate * time.Hour.Seconds()},
		{"failed-rebalance-total", float64(s.FailedRebalance.Count)},
		{"failed-rebalance-rate-per-hour", s.FailedRebalance.Rate * time.Hour.Seconds()},
		{"last-rebalance-seconds-ago", secondsAgo(now, s.Rebalance.Last)},
		{"heartbeat-response-time-max", millis(s.Heartbeat.Max)},
		{"heartbeat-rate", s.Heartbeat.Rate},
		{"heartbeat-total", float64(s.Heartbeat.Count)},
		{"last-heartbeat-seconds-ago", secondsAgo(now, s.Heartbeat.Last)},
		{"assigned-partitions", float64(s.AssignedPartitions)},
		{"protocol-mode", float64(s.Protocol)},
		{"protocol-upgrade-total", float64(s.ProtocolUpgrades)},
		{"protocol-downgrade-total", float64(s.ProtocolDowngrades)},
		{"narrowed-join-rejected-total", float64(s.NarrowedJoinsRejected)},
	}
	list = append(list, request("join", "join-time", s.Join)...)
	list = append(list, request("sync", "sync-time", s.Sync)...)
	list = append(list, request("commit", "commit-latency", s.Commit)...)
	list = append(list, averages("partition-revoked-latency", s.Revoked)...)
	list = append(list, averages("partition-assigned-latency", s.Assigned)...)
	return append(list, averages("partition-lost-latency", s.Lost)...)
}

func request(name, latency string, t Timing) []named {
	return append(averages(latency, t), named{name + "-rate", t.Rate}, named{name + "-total", float64(t.Count)})
}

func averages(name string, t Timing) []named {
	return []named{{name + "-avg", millis(t.Avg)}, {name + "-max", millis(t.Max)}}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// secondsAgo is -1 for what has not been, as Kafka has it.
func secondsAgo(now, at time.Time) float64 {
	if at.IsZero() {
		return -1
	}
	return float64(int64(now.Sub(at).Seconds()))
}
