//go:build synctests

package consumer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// KIP-447: a broker before Kafka 2.5 does not wait for transactions when it is asked for offsets. That is told once, to whom it concerns.
func TestBrokersWithoutStableOffsets(t *testing.T) {
	const told = "the broker knows no stable offsets"
	for _, c := range []struct {
		committed bool
		versions  *kversion.Versions
		times     int
	}{
		{true, kversion.V2_4_0(), 1},
		{true, kversion.V2_5_0(), 0},
		{false, kversion.V2_4_0(), 0},
	} {
		inBubble(t, func(w *world) {
			w.topic("t", 2)
			w.writes("t", 0, 10)
			var log lines
			cfg := w.config()
			cfg.ReadCommitted, cfg.Logger = c.committed, log.logger()
			cfg.Cluster.Options = append(cfg.Cluster.Options, kgo.MaxVersions(c.versions))
			a := w.member("a", cfg, "t")
			pass(5 * time.Second)
			if _, err := a.Committed(context.Background()); err != nil {
				t.Error(err)
			}
			if a.count() != 10 {
				t.Errorf("%d records of 10", a.count())
			}
			a.close()
			if n := strings.Count(log.take(), told); n != c.times {
				t.Errorf("it was told %d times, not %d, with ReadCommitted %t and %v", n, c.times, c.committed, c.versions)
			}
		})
	}
}
