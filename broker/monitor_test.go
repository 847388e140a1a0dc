package broker

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/broker/internal/server"
)

// scrape returns the metrics page of b.
func scrape(b *Broker) string {
	page := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	return page.Body.String()
}

func watched(t *testing.T) *Broker {
	t.Helper()
	b, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func expectMetrics(t *testing.T, b *Broker, lines ...string) {
	t.Helper()
	page := scrape(b)
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the metrics lack the line %s", line)
		}
	}
}

func TestARefusedConnectionDoesNotCountAsOneThatWasOpen(t *testing.T) {
	b := watched(t)
	events := b.serverEvents()
	client := server.ConnectionInfo{ID: 1, Listener: "PLAINTEXT"}
	events.ConnectionOpened(client)
	events.ConnectionClosed(server.ConnectionInfo{Listener: "PLAINTEXT"}, server.ClosedLimit)
	expectMetrics(t, b,
		`skein_connections{listener="PLAINTEXT"} 1`,
		`skein_connections_closed_total{listener="PLAINTEXT",reason="limit"} 1`)
	events.ConnectionClosed(client, server.ClosedByPeer)
	expectMetrics(t, b, `skein_connections{listener="PLAINTEXT"} 0`)
}

func TestSyncsInTheBackgroundAreMeasured(t *testing.T) {
	b := watched(t)
	b.partitionOptions().Events.Flushed(time.Millisecond)
	expectMetrics(t, b, `skein_fsync_seconds_count{file="segment"} 1`)
}
