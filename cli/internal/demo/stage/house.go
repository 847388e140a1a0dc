package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
)

// house is where it is played.
type house interface {
	config() client.Config
	owned() bool // it may be started again, and everything in it is gone in the end
	restart(ctx context.Context, away time.Duration) error
	close() error
}

func openHouse(ctx context.Context, cfg Config, settings map[string]string) (house, error) {
	if cfg.Cluster != nil {
		return foreign{*cfg.Cluster}, nil
	}
	return openOwn(ctx, settings)
}

// foreign is somebody else's cluster.
type foreign struct{ cluster client.Config }

func (f foreign) config() client.Config { return f.cluster }
func (foreign) owned() bool             { return false }
func (foreign) close() error            { return nil }

func (foreign) restart(context.Context, time.Duration) error {
	return errors.New("the cluster is not ours")
}

// own is a broker in this process. Its data are on the disk, since it has to find them again.
type own struct {
	dir      string
	settings map[string]string

	mu     sync.Mutex
	broker *broker.Broker // nil while it is down
}

// settings let the group begin in one generation, soon.
func settings() map[string]string {
	return map[string]string{"group.initial.rebalance.delay.ms": "300", "offsets.topic.num.partitions": "1"}
}

func openOwn(ctx context.Context, settings map[string]string) (*own, error) {
	dir, err := os.MkdirTemp("", "skein-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the broker's data: %w", err)
	}
	o := &own{dir: dir, settings: settings}
	if err := o.open(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return o, nil
}

func (o *own) open(ctx context.Context) error {
	b, err := broker.Open(ctx, broker.Config{Dir: o.dir, Settings: o.settings})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broker = b
	return nil
}

func (o *own) owned() bool { return true }

func (o *own) config() client.Config {
	return client.Config{Brokers: []string{fmt.Sprintf("%s:%d", broker.MemoryHost, broker.MemoryPort)}, Dial: o.dial}
}

func (o *own) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	o.mu.Lock()
	b := o.broker
	o.mu.Unlock()
	if b == nil {
		return nil, refused()
	}
	return b.Dial(ctx)
}

// refused is what connecting to a port comes to behind which nobody listens. Clients know it, and try again.
func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// restart has the broker be away for a while.
func (o *own) restart(ctx context.Context, away time.Duration) error {
	if err := o.shutdown(); err != nil {
		return err
	}
	if err := pause(ctx, away); err != nil {
		return err
	}
	return o.open(ctx)
}

func (o *own) shutdown() error {
	o.mu.Lock()
	b := o.broker
	o.broker = nil
	o.mu.Unlock()
	if b == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	return b.Shutdown(ctx)
}

func (o *own) close() error {
	return errors.Join(o.shutdown(), os.RemoveAll(o.dir))
}
