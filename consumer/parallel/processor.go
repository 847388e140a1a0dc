package parallel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/internal/lanes"
)

// Config is what a Processor does. Consumer and Handle are needed.
type Config struct {
	// Consumer is its consumer's. Commits are the Processor's; the Listener is called once the work on what it is told of is over.
	Consumer consumer.Config
	// Handle works on a record. An error ends Run, after what else is under way, and nothing from that record on is committed: who
	// wants to try again, or to put a record aside, does so in here. It may take as long as it likes, for others of other keys are
	// worked on meanwhile, and the group is kept up. Its context ends when the partition is another's, when the group
	// does not wait any longer (ErrTooLong), and when Run ends: to return then, with any error, is all that is left to do. One that
	// does not keeps its worker, and Run from returning, but neither the group nor the partition's next owner.
	Handle func(context.Context, *consumer.Record) error
	// Workers is how many records are worked on at once; 0 is 16.
	Workers int
	// Order is what has to be worked on in order; none is ByKey.
	Order Order
	// Window bounds the records of a partition that are held: from the first that is not done to the last that was polled. A partition
	// with more is paused until half are done. 0 is 1000. One poll's records may come on top of it.
	Window int
	// CommitInterval is how often what is done is committed; 0 is Consumer.AutoCommitInterval, or else 5 s.
	CommitInterval time.Duration
	// DrainTimeout is how long Run waits, when it ends, for what was begun, and for the group; 0 is 30 s.
	DrainTimeout time.Duration
	// PollError says whether an error of Poll ends Run: by what it returns; nil is to go on. Without one all do, and so does a
	// *consumer.PartitionError, though Poll would go on with the other partitions.
	PollError func(error) error
}

// Order says which records wait for each other.
type Order uint8

const (
	// ByKey is in the order of the log for records of a partition that have the same key. Those without one wait for none.
	ByKey Order = iota
	// ByPartition is in the order of the log for all records of a partition.
	ByPartition
	// Unordered is in no order at all.
	Unordered
)

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 16)
	c.Window = cmp.Or(c.Window, 1000)
	c.CommitInterval = cmp.Or(c.CommitInterval, c.Consumer.AutoCommitInterval, 5*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	if c.PollError == nil {
		c.PollError = func(err error) error { return err }
	}
	return c
}

func (c Config) check() error {
	switch {
	case c.Handle == nil:
		return errors.New("there is no Handle to work on records")
	case c.Workers < 1:
		return fmt.Errorf("there are %d Workers: it takes one at least", c.Workers)
	case c.Window < 1:
		return fmt.Errorf("a Window of %d: it takes one record at least", c.Window)
	case c.CommitInterval < 0 || c.DrainTimeout < 0:
		return fmt.Errorf("a CommitInterval of %v and a DrainTimeout of %v: neither may be less than nothing", c.CommitInterval, c.DrainTimeout)
	}
	return nil
}

// Processor works on the records of a consumer, many at a time.
type Processor struct {
	cfg  Config
	work *Work

	pausing chan struct{} // held by who makes pauses what they should be
	life    context.Context
	end     context.CancelCauseFunc // of all that Handle still does

	// What follows is guarded by work.mu.
	queue   lanes.Queue[*consumer.Record]
	ready   *sync.Cond // the queue may have a record, or no more will be begun
	places  map[consumer.TopicPartition]*place
	stopped bool // no record is begun any more
	failure error
	quit    context.CancelFunc // ends the polls
}

// New makes a processor with a consumer, which is to Subscribe before, or while, Run runs.
func New(cfg Config) (*Processor, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configuring parallel processing: %w", err)
	}
	p := &Processor{cfg: cfg, places: map[consumer.TopicPartition]*place{}, pausing: make(chan struct{}, 1)}
	p.work = newWork(&p.cfg.Consumer)
	p.work.crew = p
	p.ready = sync.NewCond(&p.work.mu)
	p.life, p.end = context.WithCancelCause(context.Background())
	c, err := consumer.New(p.cfg.Consumer)
	if err != nil {
		return nil, err
	}
	p.work.c = c
	return p, nil
}

// Consumer is the processor's consumer: to Subscribe, and to ask. Poll, commits and Close are the processor's.
func (p *Processor) Consumer() *consumer.Consumer { return p.work.c }

// Run works until ctx ends, a Handle fails, or Poll does. Then it finishes what it has begun, commits, leaves the group and closes the consumer,
// within DrainTimeout, and returns what it ended for; that ctx ended is no error. It returns when each Handle has: of those that are still under
// way after DrainTimeout the context ends, and no more can be done to them. It runs once.
func (p *Processor) Run(ctx context.Context) error {
	polling, quit := context.WithCancel(ctx)
	defer quit()
	p.work.mu.Lock()
	p.quit = quit
	p.work.mu.Unlock()
	var workers sync.WaitGroup
	for range p.cfg.Workers {
		workers.Go(p.worker)
	}
	err := p.polls(polling)
	err = errors.Join(err, p.close(ctx))
	p.end(context.Canceled)
	p.stop(nil)
	workers.Wait()
	return errors.Join(p.failure, err) // the workers are gone
}

// polls has what comes worked on, and commits now and then.
func (p *Processor) polls(ctx context.Context) error {
	due := time.Now().Add(p.cfg.CommitInterval)
	for ctx.Err() == nil {
		if err := p.poll(ctx, due); err != nil {
			return err
		}
		if now := time.Now(); !now.Before(due) {
			due = now.Add(p.cfg.CommitInterval)
			p.commit(ctx)
		}
	}
	return nil
}

// poll waits for records no longer than until the next commit is due.
func (p *Processor) poll(ctx context.Context, due time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	b, err := p.work.c.Poll(ctx)
	if err == nil {
		p.take(b)
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return p.cfg.PollError(err)
}

func (p *Processor) commit(ctx context.Context) {
	if err := p.work.Commit(ctx); err != nil && ctx.Err() == nil {
		p.work.log.Warn("a commit failed: trying again later", "in", p.cfg.CommitInterval, "error", err)
	}
}

// close closes the consumer. On its way out of the group everything that was begun is finished, and what is done is committed.
func (p *Processor) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.DrainTimeout)
	defer cancel()
	return p.work.c.Close(ctx)
}
