//go:build synctests

package exactlyonce

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/skeinstream/skein/producer"
)

// TestAProducerIsMadeInItsOwnTime, which is not that of a transaction.
func TestAProducerIsMadeInItsOwnTime(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: time.Minute, 3 * time.Second: 3 * time.Second} {
		cfg := Config{Producer: producer.Config{MaxBlock: set, TransactionTimeout: time.Second}}.withDefaults()
		if got := cfg.work().Renew; got != want {
			t.Errorf("with MaxBlock %v it is tried for %v", set, got)
		}
	}
}

// TestTheEndIsHeardWhileAProducerIsMade: there is nothing to commit yet.
func TestTheEndIsHeardWhileAProducerIsMade(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.Cluster.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done() // brokers that do not even refuse
			return nil, ctx.Err()
		}
		n := w.runs("a", cfg, nil)
		pass(10 * time.Second)
		began := time.Now()
		n.ends()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
