package prom

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skeinstream/skein/consumer"
)

// fixed is a consumer at a moment.
type fixed struct{ stats consumer.Stats }

func (f fixed) Stats() consumer.Stats { return f.stats }

func (fixed) Assignment() []consumer.TopicPartition {
	return []consumer.TopicPartition{{Topic: "orders"}, {Topic: "orders", Partition: 1}}
}

// Lag is not known of a partition of which nothing has come.
func (fixed) Lag(p consumer.TopicPartition) (int64, bool) { return 17, p.Partition == 1 }

func (fixed) Paused() []consumer.TopicPartition {
	return []consumer.TopicPartition{{Topic: "orders"}}
}

func TestFiguresAreShownToPrometheus(t *testing.T) {
	source := fixed{consumer.Stats{
		Rebalance:          consumer.Timing{Count: 3, Total: 900 * time.Millisecond, Max: 500 * time.Millisecond, Last: time.UnixMilli(1_700_000_000_500)},
		AssignedPartitions: 2, Protocol: consumer.ProtocolCooperative, ProtocolUpgrades: 1, NarrowedJoinsRejected: 4,
	}}
	want := `# HELP skein_consumer_assigned_partitions Partitions that are owned.
# TYPE skein_consumer_assigned_partitions gauge
skein_consumer_assigned_partitions{group="billing"} 2
# HELP skein_consumer_lag Offsets of a partition that were not handed out, as far as the last records have told.
# TYPE skein_consumer_lag gauge
skein_consumer_lag{group="billing",partition="1",topic="orders"} 17
# HELP skein_consumer_last_heartbeat_timestamp_seconds When a heartbeat was answered; 0 is never.
# TYPE skein_consumer_last_heartbeat_timestamp_seconds gauge
skein_consumer_last_heartbeat_timestamp_seconds{group="billing"} 0
# HELP skein_consumer_last_rebalance_timestamp_seconds When the member had its assignment; 0 is never.
# TYPE skein_consumer_last_rebalance_timestamp_seconds gauge
skein_consumer_last_rebalance_timestamp_seconds{group="billing"} 1.7000000005e+09
# HELP skein_consumer_narrowed_join_rejected_total Times that all partitions were given up to let in a member that is EAGER alone.
# TYPE skein_consumer_narrowed_join_rejected_total counter
skein_consumer_narrowed_join_rejected_total{group="billing"} 4
# HELP skein_consumer_paused_partitions Partitions that are owned and paused.
# TYPE skein_consumer_paused_partitions gauge
skein_consumer_paused_partitions{group="billing"} 1
# HELP skein_consumer_protocol_mode 0 none, 1 EAGER, 2 COOPERATIVE.
# TYPE skein_consumer_protocol_mode gauge
skein_consumer_protocol_mode{group="billing"} 2
# HELP skein_consumer_protocol_upgrade_total Changes to COOPERATIVE.
# TYPE skein_consumer_protocol_upgrade_total counter
skein_consumer_protocol_upgrade_total{group="billing"} 1
# HELP skein_consumer_rebalance_latency_max_seconds From the beginning of a rebalance until the member has its assignment. The longest of the last half minute to a minute.
# TYPE skein_consumer_rebalance_latency_max_seconds gauge
skein_consumer_rebalance_latency_max_seconds{group="billing"} 0.5
# HELP skein_consumer_rebalance_latency_seconds From the beginning of a rebalance until the member has its assignment.
# TYPE skein_consumer_rebalance_latency_seconds summary
skein_consumer_rebalance_latency_seconds_sum{group="billing"} 0.9
skein_consumer_rebalance_latency_seconds_count{group="billing"} 3
`
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(New(source, prometheus.Labels{"group": "billing"})); err != nil {
		t.Fatal(err)
	}
	got := scrape(r)
	for line := range strings.Lines(want) {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
	if strings.Contains(got, `partition="0"`) {
		t.Error("a lag that is not known is shown")
	}
}

// scrape is what Prometheus reads.
func scrape(r *prometheus.Registry) string {
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestTheCollectorIsOneThatPrometheusTakes: two consumers in one process, and all that is shown was described.
func TestTheCollectorIsOneThatPrometheusTakes(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	for _, group := range []string{"billing", "shipping"} {
		if err := r.Register(New(fixed{}, prometheus.Labels{"group": group})); err != nil {
			t.Fatal(err)
		}
	}
	families, err := r.Gather()
	if err != nil || len(families) != 26 {
		t.Errorf("%d families, %v", len(families), err)
	}
}
