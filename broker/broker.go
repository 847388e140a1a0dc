package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/monitor"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/vfs"
)

// ErrInUse is returned by Open when another broker, of this process or of
// another, has the data directory.
var ErrInUse = errors.New("the data directory is in use by another broker")

const (
	lockFile   = ".lock"
	catalogDir = "catalog"
)

// Broker is one running broker. Its methods may be called from any goroutine.
type Broker struct {
	cfg     Config
	node    int32
	started time.Time
	config  configuration
	lock    io.Closer
	catalog *catalog.Catalog
	table   *partition.Table
	groups  *groups
	txns    *transactions
	handler *api.Handler
	server  *server.Server
	monitor *monitor.Monitor
	pages   *monitor.Server

	ready    atomic.Bool
	stopping sync.Once
	stopped  error              // of Shutdown; read after stopping is done
	end      context.CancelFunc // of Run's context
	work     sync.WaitGroup     // table.Run, and connections of Dial
	failed   chan struct{}      // closed when the broker cannot go on
	failure  error              // why; written before failed is closed

	dialing sync.Mutex // guards hungUp
	hungUp  bool       // nothing joins work any more
}

// Open opens the data directory, or founds a new one in it, recovers what an
// unclean end has left, and returns a broker that is ready to serve. ctx
// bounds the opening.
//
// Damage in a partition's log takes that partition offline and is logged; it
// is no error here. ErrInUse is one, and so is any setting that is not known.
func Open(ctx context.Context, cfg Config) (*Broker, error) {
	static, err := cfg.withDefaults().static()
	if err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg.withDefaults(), failed: make(chan struct{})}
	b.started = b.cfg.now()
	b.config.static = static
	b.config.refresh(nil)
	b.node = b.settings().NodeID
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the broker in %s: %w", b.cfg.Dir, err), b.release())
	}
	b.run()
	return b, nil
}

// open takes the directory and opens the rooms from the bottom up.
func (b *Broker) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{b.takeDirectory, b.openCatalog, b.openPartitions} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	b.wire()
	return nil
}

func (b *Broker) takeDirectory(context.Context) error {
	if err := b.makeDirectory(b.cfg.Dir); err != nil {
		return err
	}
	lock, err := b.cfg.files.Lock(filepath.Join(b.cfg.Dir, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%w: stop it, or choose another directory", ErrInUse)
	}
	b.lock = lock
	return err
}

// makeDirectory makes a directory whose name lasts, and those above it that are missing.
func (b *Broker) makeDirectory(dir string) error {
	parent := filepath.Dir(dir)
	_, err := b.cfg.files.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && parent != dir {
		if err := b.makeDirectory(parent); err != nil {
			return err
		}
	}
	if err := b.cfg.files.MkdirAll(dir); err != nil {
		return err
	}
	// Also of one that is there: who made it may have been killed before this.
	if err := b.cfg.files.SyncDir(parent); missing || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func (b *Broker) openCatalog(context.Context) (err error) {
	if err := mayFound(b.cfg.files, b.cfg.Dir); err != nil {
		return err
	}
	b.catalog, err = catalog.Open(b.cfg.files, filepath.Join(b.cfg.Dir, catalogDir), catalog.Options{
		Random:    b.cfg.random,
		Published: b.published,
		Broken:    b.fail,
	})
	if err != nil {
		return err
	}
	b.config.refresh(b.catalog.Snapshot())
	return nil
}

// published follows every change of the catalog, before it is answered.
func (b *Broker) published(before, after *catalog.Snapshot) {
	b.config.refresh(after)
	if b.table != nil {
		b.table.Apply(after)
	}
	if b.groups != nil {
		b.groups.follow(before, after)
		b.txns.follow(after)
	}
	if b.server != nil {
		b.server.LimitConnections(connectionLimits(b.settings()))
	}
}

func (b *Broker) openPartitions(ctx context.Context) (err error) {
	b.table, err = partition.Open(ctx, b.partitionOptions(), b.catalog.Snapshot())
	return err
}

// run starts what works without being asked.
func (b *Broker) run() {
	ctx, end := context.WithCancel(context.Background())
	b.end = end
	b.ready.Store(true) // before anything can fail
	b.work.Go(func() {
		if err := b.table.Run(ctx); err != nil {
			b.fail(err)
		}
	})
}

// fail ends the service when nobody knows any more what is on the disk. The
// first reason stands.
func (b *Broker) fail(reason error) {
	if b.ready.CompareAndSwap(true, false) {
		b.failure = reason
		b.cfg.Logger.Error("the broker cannot go on and stops serving", "error", reason)
		close(b.failed)
		b.table.Fail(reason)
	}
}

// Failed is closed when the broker cannot go on, as after a failed sync: what
// was acknowledged is safe, nothing more is. Serve returns the reason, Err
// tells it; Shutdown is still to be called.
func (b *Broker) Failed() <-chan struct{} { return b.failed }

// Err is why the broker cannot go on, nil while it can.
func (b *Broker) Err() error {
	select {
	case <-b.failed:
		return b.failure
	default:
		return nil
	}
}

// Serve accepts connections from l until Shutdown, then returns nil; it
// returns earlier, with the reason, when l or the broker fails. It may be
// called for several listeners at a time, and closes them. A [*Listener] says
// what clients are told to connect to; any other advertises its own address.
func (b *Broker) Serve(l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(l, info(l)) }()
	select {
	case err := <-served:
		return err
	case <-b.failed:
		return errors.Join(b.failure, l.Close(), ignoreClosed(<-served))
	}
}

// ServeMonitor serves, over HTTP on l, /metrics for Prometheus, /healthz and
// /readyz, until Shutdown; then it returns nil. It closes l.
func (b *Broker) ServeMonitor(l net.Listener) error { return b.pages.Serve(l) }

// readiness is why clients should not come, nil while they may.
func (b *Broker) readiness() error {
	if err := b.Err(); err != nil {
		return err
	}
	if !b.ready.Load() {
		return errors.New("the broker is starting or stopping")
	}
	return nil
}

// ignoreClosed drops the error of a listener that we closed ourselves.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting, finishes what is in flight, brings everything to
// disk and leaves the directory so that the next Open has nothing to recover.
// When ctx ends first it closes what is left and returns ctx's error; nothing
// that was acknowledged is lost. Later calls return what the first one did.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.stopping.Do(func() { b.stopped = b.shutdown(ctx) })
	return b.stopped
}

func (b *Broker) shutdown(ctx context.Context) error {
	b.ready.Store(false)
	b.dialing.Lock()
	b.hungUp = true
	b.dialing.Unlock()
	coordinators := make(chan error, 1) // at once: who waits for other members of a group is answered, and the server waits for that
	go func() { coordinators <- errors.Join(b.txns.shutdown(ctx), b.groups.shutdown(ctx)) }()
	err := errors.Join(b.server.Shutdown(ctx), <-coordinators, b.handler.Shutdown(ctx), b.table.Shutdown(ctx), b.pages.Shutdown(ctx))
	b.txns.ids.work.Wait()
	b.end()
	b.work.Wait()
	return errors.Join(err, b.release())
}

// release gives back what open took.
func (b *Broker) release() (err error) {
	if b.catalog != nil {
		err = b.catalog.Close()
	}
	if b.lock != nil {
		err = errors.Join(err, b.lock.Close())
	}
	return err
}
