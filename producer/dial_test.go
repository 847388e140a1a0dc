package producer

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/client"
)

// A broker that is down is not dialled without a pause, nor for longer than anybody waits.
func TestARefusedConnectionTakesAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		refuses := func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, syscall.ECONNREFUSED
		}
		dial := Config{Cluster: client.Config{Dial: refuses}}.cluster().Dial
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		for ctx.Err() == nil {
			if _, err := dial(ctx, "tcp", "a:1"); err != syscall.ECONNREFUSED {
				t.Errorf("it failed with %v", err)
			}
		}
		if most := int(time.Second/refusalPause) + 1; dials > most || time.Since(began) > time.Second {
			t.Errorf("%d dials within %v", dials, time.Since(began))
		}
	})
}
