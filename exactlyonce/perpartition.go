package exactlyonce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// perPartition writes as programs did before KIP-447: a producer for each partition of the input, with a transactional id that stands for the
// partition. Whoever takes a partition over takes its id, and that alone fences the owner before: no broker has to know of
// generations for it. The price is a producer, with its connections and its transactions, for each partition.
//
// What must hold is the order of a take-over: first the id, then the question how far the group is. The other way round, the owner
// before may still commit what it has open, and it would be done again. So a lane is of no use until its id was claimed, and the loop goes
// back to the group's offset after that.
//
// A lane that another process has fenced is claimed anew, but not at once: whoever has fenced it is most likely the partition's next owner, of
// which the group tells this member within a heartbeat. A claim that comes too early does no harm but a transaction of the other's, since it
// is followed by the same question.
type perPartition struct {
	cfg  Config
	open func(context.Context, consumer.TopicPartition) (transactional, error)
	// part says that some lanes of the transaction were committed, and not all.
	part bool

	mu    sync.Mutex // records are sent side by side
	lanes map[consumer.TopicPartition]*lane
}

// transactional is a producer of transactions.
type transactional interface {
	Begin(ctx context.Context) error
	Send(ctx context.Context, r *producer.Record, done func(*producer.Record, error))
	SendOffsets(ctx context.Context, offsets consumer.Offsets, as consumer.GroupMetadata) error
	Commit(ctx context.Context) error
	Abort(ctx context.Context) error
	Close(ctx context.Context) error
}

// newPerPartition has no producer yet: partitions come with their assignment.
func newPerPartition(cfg Config) *perPartition {
	return &perPartition{cfg: cfg, lanes: map[consumer.TopicPartition]*lane{}, open: cfg.claim}
}

// claim makes the producer of a partition, with its first transaction begun. Its id is had when it returns: what an owner before has open is
// aborted, and it can commit nothing any more.
func (c Config) claim(ctx context.Context, tp consumer.TopicPartition) (transactional, error) {
	p, err := producer.New(c.producerOf(tp))
	if err != nil {
		return nil, err
	}
	if err := p.Begin(ctx); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// producerOf is how the producer of a partition is configured.
func (c Config) producerOf(tp consumer.TopicPartition) producer.Config {
	p := c.Producer
	p.TransactionalID, p.UpgradeFrom, p.Group = c.transactionalIDOf(tp), c.UpgradeFrom, c.Consumer.Group
	return p
}

// transactionalIDOf names the producer of a partition.
func (c Config) transactionalIDOf(tp consumer.TopicPartition) string {
	if c.TransactionalIDOf != nil {
		return c.TransactionalIDOf(tp)
	}
	prefix := c.TransactionalIDPrefix
	if prefix == "" {
		prefix = c.Consumer.Group
	}
	return fmt.Sprintf("%s-%s-%d", prefix, tp.Topic, tp.Partition)
}

// lane is the producer of one partition.
type lane struct {
	tp       consumer.TopicPartition
	producer transactional // nil before it is claimed, and once it is fenced
	fenced   time.Time     // when it was, or zero

	mu     sync.Mutex // an Out may be used side by side
	begun  bool       // guarded by mu
	wanted bool       // guarded by mu: the transaction wanted it, and it had no producer
	done   bool       // its part of the transaction is committed
}

// lane returns that of a partition, which may be unclaimed.
func (p *perPartition) lane(tp consumer.TopicPartition) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[tp]
	if l == nil {
		l = &lane{tp: tp}
		p.lanes[tp] = l
	}
	return l
}

// taken claims the ids of partitions. The loop goes back to the group's offsets of them then.
func (p *perPartition) taken(ctx context.Context, list []consumer.TopicPartition) error {
	lanes := make([]*lane, 0, len(list))
	for _, tp := range list {
		lanes = append(lanes, p.lane(tp))
	}
	return each(lanes, func(l *lane) error { return p.claim(ctx, l) })
}

// claim has the lane's producer, unless it has one.
func (p *perPartition) claim(ctx context.Context, l *lane) error {
	if l.producer != nil {
		return nil
	}
	made, err := p.open(ctx, l.tp)
	if err != nil {
		return fmt.Errorf("taking the transactional id of %s-%d: %w", l.tp.Topic, l.tp.Partition, err)
	}
	l.producer, l.begun, l.fenced = made, true, time.Time{}
	return nil
}

// dropped closes the producers of partitions that are gone.
func (p *perPartition) dropped(ctx context.Context, list []consumer.TopicPartition) {
	if err := each(p.takeOut(list), func(l *lane) error { return l.close(ctx) }); err != nil {
		p.cfg.Logger.Warn("closing the producers of partitions that are gone", "group", p.cfg.Consumer.Group, "error", err)
	}
}

func (p *perPartition) takeOut(list []consumer.TopicPartition) (gone []*lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tp := range list {
		if l := p.lanes[tp]; l != nil {
			gone = append(gone, l)
			delete(p.lanes, tp)
		}
	}
	return gone
}

// begin begins a transaction; each lane begins its part when it is needed.
func (p *perPartition) begin(context.Context) error {
	p.part = false
	for _, l := range p.all() {
		l.done = false
	}
	return nil
}

// send sends an output of a record from a partition.
func (p *perPartition) send(ctx context.Context, from consumer.TopicPartition, r *producer.Record, done func(error)) {
	l := p.lane(from)
	if err := l.begin(ctx); err != nil {
		done(err)
		return
	}
	l.producer.Send(ctx, r, func(_ *producer.Record, err error) { done(err) })
}

// commit commits the parts of all partitions that have offsets. When it is called again it does what is left.
func (p *perPartition) commit(ctx context.Context, offsets consumer.Offsets, as consumer.GroupMetadata) error {
	var lanes []*lane
	for tp := range offsets {
		if l := p.lane(tp); !l.done {
			lanes = append(lanes, l)
		}
	}
	err := each(lanes, func(l *lane) error { return l.commit(ctx, offsets[l.tp], as) })
	p.part = p.part || slices.ContainsFunc(lanes, func(l *lane) bool { return l.done })
	if err == nil || !p.part || repeatable(err) {
		return err
	}
	return inPart(err)
}

// repeatable says that commit may be called again.
func repeatable(err error) bool {
	return errors.Is(err, producer.ErrGroupMoved) || producer.ClassOf(err) == producer.Retriable
}

// inPart says that of a transaction it is not known as a whole what has become of it: each partition's group offset tells.
func inPart(err error) error {
	return &producer.Error{Op: "committing the transactions of some partitions", Class: producer.AbortAndContinue,
		Err: fmt.Errorf("%w: %w", producer.ErrOutcomeUnknown, err)}
}

// abort aborts what is open, and claims what was wanted: those are the partitions that the loop goes back to the group's offsets of, now that
// nobody else can commit any.
func (p *perPartition) abort(ctx context.Context) error {
	err := each(p.all(), func(l *lane) error {
		l.abort(ctx)
		if !l.wanted || time.Since(l.fenced) < p.pause() {
			l.wanted = false
			return nil
		}
		l.wanted = false
		return p.claim(ctx, l)
	})
	if err == nil && p.part {
		err = inPart(errors.New("the rest was aborted"))
	}
	p.part = false
	return err
}

// pause is how long a lane that was fenced is left to who has fenced it: until the group has told whose it is.
func (p *perPartition) pause() time.Duration {
	return cmp.Or(p.cfg.Consumer.HeartbeatInterval, 3*time.Second)
}

func (p *perPartition) all() []*lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	lanes := make([]*lane, 0, len(p.lanes))
	for _, l := range p.lanes {
		lanes = append(lanes, l)
	}
	return lanes
}

// close aborts what is open, and closes all producers.
func (p *perPartition) close(ctx context.Context) error {
	return each(p.all(), func(l *lane) error { return l.close(ctx) })
}

// each does something with lanes, side by side, and waits. The error is the one that leaves least to do: of a lane that is moved by the group
// something may come yet, of one that failed nothing.
func each(lanes []*lane, do func(*lane) error) error {
	errs := make([]error, len(lanes))
	var work sync.WaitGroup
	for i, l := range lanes {
		work.Go(func() { errs[i] = do(l) })
	}
	work.Wait()
	return gravest(errs)
}

// gravest is the error that decides: one that ends the transaction before one that does not.
func gravest(errs []error) (worst error) {
	for _, err := range errs {
		if err != nil && (worst == nil || repeatable(worst) && !repeatable(err)) {
			worst = err
		}
	}
	return worst
}
