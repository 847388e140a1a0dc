package broker

import (
	"context"
	"fmt"
	"net"

	"github.com/skeinstream/skein/broker/internal/server"
)

// MemoryHost is the host that clients which came through Dial are told to
// connect to. It names no machine: their dialer leads back here.
const MemoryHost = "skein"

// MemoryPort goes with MemoryHost.
const MemoryPort = 9092

// Dial connects to the broker inside the process, without a network. Once
// Shutdown has begun it returns net.ErrClosed.
func (b *Broker) Dial(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.dialing.Lock()
	defer b.dialing.Unlock()
	if b.hungUp {
		return nil, fmt.Errorf("connecting to a broker that is shut down: %w", net.ErrClosed)
	}
	near, far := net.Pipe()
	b.work.Go(func() {
		b.server.ServeConn(far, server.ListenerInfo{Name: "MEMORY", Host: MemoryHost, Port: MemoryPort})
	})
	return near, nil
}

// Dialer returns Dial in the shape that client libraries take, as in
//
//	kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer()))
//
// The address is not looked at.
func (b *Broker) Dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return b.Dial(ctx) }
}
