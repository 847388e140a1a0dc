// Package catalog knows what there is: the topics with their ids, partitions and settings, the settings that brokers
// were given while running, the identity of the cluster, how often the broker was started, and which producer ids have
// been handed out.
//
// It keeps a log of its own (docs/format/metadata-log.md): every change is a frame of records, synced before anybody
// sees it. Readers take the published Snapshot, which never changes, and never wait. Writers take turns: Change decides
// on the newest snapshot, makes the records durable, publishes the next snapshot and tells the broker, in this order,
// before the next writer has its turn.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

// ErrBroken is what every change returns after one whose outcome on disk is not known. Only a restart helps.
var ErrBroken = errors.New("the catalog cannot be written any more after an earlier failure")

// Options are what Open needs to know. Random is required.
type Options struct {
	// Random is where ids come from.
	Random io.Reader
	// Published is called after every change that was made, in order, before the call that made it returns. It must not
	// make a change itself.
	Published func(before, after *Snapshot)
	// Broken is called when the catalog can be written no more (ErrBroken), with the reason. The broker should stop.
	Broken func(error)
	// LogMax is the size of the log, in bytes, above which its content is put into the snapshot file. Default 1 MiB.
	LogMax int64
}

// Catalog is the catalog of one data directory. Its methods may be called from any goroutine.
type Catalog struct {
	opts    Options
	current atomic.Pointer[Snapshot]
	turn    chan struct{} // holds one token; who has it may write
	log     *logFile      // used by who has the turn
	broken  error         // likewise
}

// Open reads the catalog in dir, or founds a new one there, and counts the start durably. A torn frame at the end of
// the log, left by a crash, is cut off; any other damage is a *DamageError and changes nothing.
func Open(fs vfs.FS, dir string, opts Options) (*Catalog, error) {
	if opts.LogMax == 0 {
		opts.LogMax = 1 << 20
	}
	log, s, err := openLog(fs, dir)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog in %s: %w", dir, err)
	}
	c := &Catalog{opts: opts, turn: make(chan struct{}, 1), log: log}
	c.current.Store(s)
	c.turn <- struct{}{}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, log.close())
	}
	return c, nil
}

// start makes the first change of this run, with an identity when there is none.
func (c *Catalog) start() error {
	s := c.Snapshot()
	records := []Record{{Started: &Started{Count: s.starts + 1}}}
	if s.founded == (Founded{}) {
		founded, err := found(c.opts.Random)
		if err != nil {
			return err
		}
		records = append([]Record{{Founded: &founded}}, records...)
	}
	_, err := c.write(records)
	if err != nil {
		return fmt.Errorf("recording the start: %w", err)
	}
	return nil
}

func found(random io.Reader) (Founded, error) {
	cluster, err := newID(random)
	if err != nil {
		return Founded{}, err
	}
	directory, err := newID(random)
	return Founded{ClusterID: cluster, DirectoryID: directory}, err
}

// Close waits for the change that is being made and closes the log.
func (c *Catalog) Close() error {
	<-c.turn
	c.broken = errors.New("the catalog is closed")
	defer c.pass()
	return c.log.close()
}

// Snapshot returns the newest published snapshot.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// StartCount is the number of this start of the broker, from 0: the leader epoch of every partition until the next.
func (c *Catalog) StartCount() int32 { return c.Snapshot().starts }

// ClusterID is the identity of the cluster, as clients see it.
func (c *Catalog) ClusterID() string { return c.Snapshot().ClusterID().String() }

// DirectoryID is the identity of the data directory.
func (c *Catalog) DirectoryID() ID { return c.Snapshot().DirectoryID() }

// NewTopicID makes an id for a topic that is about to be created.
func (c *Catalog) NewTopicID() (ID, error) { return newID(c.opts.Random) }

// Change lets decide look at the newest snapshot and say what changes. The records become durable together, all or
// none; then the snapshot that has them is published. When decide returns no records, nothing is written. ctx bounds
// the wait for the turn, not the writing.
//
// It returns the snapshot that is current at the end of the turn. An error of decide comes back as it is.
func (c *Catalog) Change(ctx context.Context, decide func(*Snapshot) ([]Record, error)) (*Snapshot, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer c.pass()
	records, err := decide(c.Snapshot())
	if err != nil || len(records) == 0 {
		return c.Snapshot(), err
	}
	return c.write(records)
}

func (c *Catalog) pass() { c.turn <- struct{}{} }

// write makes records durable and publishes them. The caller has the turn.
func (c *Catalog) write(records []Record) (*Snapshot, error) {
	if c.broken != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, c.broken)
	}
	before := c.Snapshot()
	after, err := before.applyAll(records...)
	if err != nil {
		return nil, fmt.Errorf("changing the catalog: %w", err)
	}
	after.sequence++
	if err := c.log.append(change{Sequence: after.sequence, Records: records}); err != nil {
		c.fail(c.log.broken)
		return nil, fmt.Errorf("changing the catalog: %w", err)
	}
	c.publish(before, after)
	c.compact(after)
	return after, nil
}

func (c *Catalog) publish(before, after *Snapshot) {
	c.current.Store(after)
	if c.opts.Published != nil {
		c.opts.Published(before, after)
	}
}

// compact puts a log that has grown too long into the snapshot file. The change before it is durable either way, so a
// failure here is one only for the changes to come.
func (c *Catalog) compact(s *Snapshot) {
	if c.log.size > c.opts.LogMax {
		c.fail(c.log.compact(s))
	}
}

func (c *Catalog) fail(reason error) {
	c.broken = reason
	if reason != nil && c.opts.Broken != nil {
		c.opts.Broken(reason)
	}
}
