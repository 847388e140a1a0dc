package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestADialThatNobodyAnswersEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{0, 30 * time.Second} {
			c := Config{DialTimeout: timeout, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			began := time.Now()
			_, err := c.Dialer()(t.Context(), "tcp", "kafka-7:9092")
			dial, ok := errors.AsType[*DialError](err)
			if !ok || dial.Address != "kafka-7:9092" || dial.TLS || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if took, want := time.Since(began), c.dialTimeout(); took != want {
				t.Errorf("gave up after %v, want %v", took, want)
			}
		}
	})
}
