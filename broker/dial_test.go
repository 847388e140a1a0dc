package broker_test

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/skeinstream/skein/broker"
)

// Clients that connect while the broker shuts down are turned away, and harm nothing.
func TestDialWhileShuttingDown(t *testing.T) {
	b := open(t, broker.Config{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				conn, err := b.Dial(t.Context())
				if err != nil {
					if !errors.Is(err, net.ErrClosed) {
						t.Errorf("dialing: %v, want net.ErrClosed", err)
					}
					return
				}
				_ = conn.Close()
			}
		})
	}
	shutdown(t, b)
	clients.Wait()
}
