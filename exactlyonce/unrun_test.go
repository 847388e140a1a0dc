//go:build synctests

package exactlyonce

import (
	"context"
	"testing"
	"time"

	"github.com/skeinstream/skein/client"
)

// TestAProcessorThatIsNotRun is closed, and then it is not run any more.
func TestAProcessorThatIsNotRun(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.Cluster = client.Config{Brokers: []string{"skein:9092"}, Dial: w.b.Dialer()}
		p, err := New(cfg, copies)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.ok(p.Close(context.Background()))
		}
		if err := p.Run(context.Background()); err == nil {
			t.Error("it runs")
		}
		n := w.runs("a", w.config(), nil)
		w.writes(5)
		pass(10 * time.Second)
		w.ok(n.Close(context.Background())) // which is nothing to who runs
		w.writes(5)
		pass(10 * time.Second)
		w.judges()
		n.ends()
	})
}
