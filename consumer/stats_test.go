//go:build synctests

package consumer

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
)

// TestStatsHaveKafkasNames: R-I3, all of them, and those that are ours.
func TestStatsHaveKafkasNames(t *testing.T) {
	want := []string{
		"assigned-partitions", "commit-latency-avg", "commit-latency-max", "commit-rate", "commit-total",
		"failed-rebalance-rate-per-hour", "failed-rebalance-total", "heartbeat-rate", "heartbeat-response-time-max", "heartbeat-total",
		"join-rate", "join-time-avg", "join-time-max", "join-total", "last-heartbeat-seconds-ago", "last-rebalance-seconds-ago",
		"narrowed-join-rejected-total", "partition-assigned-latency-avg", "partition-assigned-latency-max",
		"partition-lost-latency-avg", "partition-lost-latency-max", "partition-revoked-latency-avg", "partition-revoked-latency-max",
		"protocol-downgrade-total", "protocol-mode", "protocol-upgrade-total",
		"rebalance-latency-avg", "rebalance-latency-max", "rebalance-latency-total", "rebalance-rate-per-hour", "rebalance-total",
		"sync-rate", "sync-time-avg", "sync-time-max", "sync-total",
	}
	if got := slices.Sorted(maps.Keys(maps.Collect(Stats{}.All()))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// figures compares some of them.
func (m *member) figures(want map[string]float64) {
	m.w.t.Helper()
	got := maps.Collect(m.Stats().All())
	for name, value := range want {
		if got[name] != value {
			m.w.t.Errorf("%s has %s %v, want %v", m.name, name, got[name], value)
		}
	}
}

func TestStatsOfAMember(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 3)
		cfg := w.config()
		cfg.Listener.Assigned = func(context.Context, Rebalance) error { <-time.After(250 * time.Millisecond); return nil }
		a := w.member("a", cfg, "t")
		a.figures(map[string]float64{"last-heartbeat-seconds-ago": -1, "last-rebalance-seconds-ago": -1, "protocol-mode": 0})
		pass(10*time.Second + 500*time.Millisecond)
		a.figures(map[string]float64{
			"rebalance-total": 1, "failed-rebalance-total": 0, "join-total": 1, "sync-total": 1, "assigned-partitions": 3, "protocol-mode": 2,
			"partition-assigned-latency-avg": 250, "partition-assigned-latency-max": 250, "rebalance-latency-avg": 250, "rebalance-latency-total": 250,
			"last-rebalance-seconds-ago": 10, "heartbeat-response-time-max": 0,
			"commit-total": 1, "narrowed-join-rejected-total": 0, "protocol-upgrade-total": 0, "rebalance-rate-per-hour": 120,
		})
		if beat := a.Stats().Heartbeat; beat.Count < 3 || time.Since(beat.Last) > 3*time.Second || beat.Rate != float64(beat.Count)/30 {
			t.Errorf("heartbeats: %+v", beat)
		}
		a.close()
	})
}

// TestStatsOfAGroupThatGoesDownAndUp: an old member comes, and goes.
func TestStatsOfAGroupThatGoesDownAndUp(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 3)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		cfg := w.config()
		cfg.Assignors, cfg.StrictAssignors = []assign.Assignor{assign.Range{}}, true
		old := w.member("old", cfg, "t")
		pass(30 * time.Second)
		old.figures(map[string]float64{"protocol-mode": 1, "assigned-partitions": 1, "protocol-upgrade-total": 0, "protocol-downgrade-total": 0})
		a.figures(map[string]float64{"protocol-mode": 1, "assigned-partitions": 2, "protocol-upgrade-total": 0, "protocol-downgrade-total": 1, "narrowed-join-rejected-total": 1})
		old.close()
		pass(30 * time.Second)
		a.figures(map[string]float64{"protocol-mode": 2, "assigned-partitions": 3, "protocol-upgrade-total": 1, "protocol-downgrade-total": 1})
		a.close()
	})
}

func TestStatsOfWhatIsLost(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		w.evict(a)
		pass(10 * time.Second)
		if s := a.Stats(); s.Lost.Count != 1 || s.Rebalance.Count != 2 {
			t.Errorf("%+v", s)
		}
		a.close()
	})
}
