package prom_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/exactlyonce/prom"
)

// fixed is a processor at a moment.
type fixed struct{ stats exactlyonce.Stats }

func (f fixed) Stats() exactlyonce.Stats { return f.stats }

// TestFiguresAreShownToPrometheus also has two processors in one process, and a registry that refuses what was not described.
func TestFiguresAreShownToPrometheus(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	for group, s := range map[string]exactlyonce.Stats{
		"billing": {
			Committed: 12, Aborted: map[exactlyonce.Reason]int64{exactlyonce.Lost: 3}, RecordsIn: 500, RecordsOut: 501, DeadLetters: 1,
			Took:       exactlyonce.Timing{Count: 12, Total: 1300 * time.Millisecond, Max: 140 * time.Millisecond},
			LastCommit: time.UnixMilli(1_700_000_000_500),
		},
		"shipping": {},
	} {
		if err := r.Register(prom.New(fixed{s}, prometheus.Labels{"group": group})); err != nil {
			t.Fatal(err)
		}
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	got := answer.Body.String()
	for line := range strings.Lines(`# TYPE skein_exactlyonce_transactions_committed_total counter
skein_exactlyonce_transactions_committed_total{group="billing"} 12
skein_exactlyonce_transactions_aborted_total{group="billing",reason="lost"} 3
skein_exactlyonce_transactions_aborted_total{group="billing",reason="too-long"} 0
skein_exactlyonce_records_in_total{group="billing"} 500
skein_exactlyonce_records_out_total{group="billing"} 501
skein_exactlyonce_dead_letters_total{group="billing"} 1
skein_exactlyonce_transaction_time_seconds_count{group="billing"} 12
skein_exactlyonce_transaction_time_seconds_sum{group="billing"} 1.3
skein_exactlyonce_transaction_time_max_seconds{group="billing"} 0.14
skein_exactlyonce_last_commit_timestamp_seconds{group="billing"} 1.7000000005e+09
skein_exactlyonce_last_commit_timestamp_seconds{group="shipping"} 0
`) {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
}
