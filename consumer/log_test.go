//go:build synctests

package consumer

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines are what a consumer logs, without what differs from run to run.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "member" {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return strings.TrimSpace(l.buf.String())
}

// R-I5: one line for each change of state of a rebalance, and silence when all is well.
func TestLogOfARebalance(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		var log lines
		cfg := w.config()
		cfg.Logger = log.logger()
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		want := `level=INFO msg="a rebalance begins" group=g generation=-1 reason="the member subscribes"
level=INFO msg="joined a generation" group=g generation=1 old=-1 assignor=cooperative-sticky leader=true
level=INFO msg="the rebalance protocol changes" group=g generation=1 assignor=cooperative-sticky cooperative=true
level=INFO msg="partitions are assigned" group=g generation=1 partitions="t-0 t-1"
level=INFO msg="the rebalance is complete" group=g generation=1 assignor=cooperative-sticky cooperative=true added=2 revoked=0`
		if got := log.take(); got != want {
			t.Errorf("it logged\n%s\ninstead of\n%s", got, want)
		}
		w.writes("t", 0, 100)
		pass(10 * time.Minute)
		if got := log.take(); got != "" {
			t.Errorf("with all well it logged\n%s", got)
		}
		w.evict(a)
		pass(10 * time.Second)
		want = `level=INFO msg="a rebalance begins" group=g generation=-1 reason="the group has gone on without the member"
level=WARN msg="the group has gone on without this member: its partitions are lost" group=g generation=-1 partitions=2
level=WARN msg="partitions are lost" group=g generation=1 partitions="t-0 t-1"`
		if got := log.take(); !strings.HasPrefix(got, want) {
			t.Errorf("it logged\n%s\ninstead of\n%s", got, want)
		}
		a.close()
		if got := log.take(); got != `level=INFO msg="partitions are revoked" group=g generation=3 partitions="t-0 t-1"` {
			t.Errorf("it logged\n%s", got)
		}
	})
}
