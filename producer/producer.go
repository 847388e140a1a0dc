package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/internal/transaction"
)

// Record is a record as franz-go has it. It belongs to the producer until its callback is called; then it says partition, offset and timestamp.
type Record = kgo.Record

// Producer writes records. Its methods may be called by several goroutines at once.
type Producer struct {
	cfg    Config
	log    *slog.Logger
	budget *budget
	landed landed // of transactions

	// life ends when the producer is closed, and so does what its calls wait for.
	life      context.Context
	end       context.CancelCauseFunc
	goroutine sync.WaitGroup
	flushing  atomic.Bool // since there is no room
	closed    chan struct{}
	closeErr  error

	// turn is held by whoever makes a call of a transaction, or waits for answers of it. What stands below, up to mu, belongs to who has it.
	turn         chan struct{}
	coordinators map[coordinator]int32
	canFence     map[string]bool // by group
	implicit     *bool           // once it is known of the client of now
	stable       bool            // likewise: brokers say of offsets whether they are
	hearing      hearing
	began        time.Time // when the transaction was, zero while there is none
	why          error     // it was not committed

	mu      sync.Mutex
	kafka   *kgo.Client
	machine *transaction.Machine // nil without transactions
	sending int                  // Sends that have not returned
	idle    chan struct{}        // closed when there are none, nil while nobody waits for it
	closing bool
}

// New makes a producer. It reaches for no broker yet.
func New(cfg Config) (*Producer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configuring a producer: %w", err)
	}
	p := &Producer{
		cfg: cfg, log: cfg.Logger,
		closed: make(chan struct{}), turn: make(chan struct{}, 1),
		coordinators: map[coordinator]int32{}, canFence: map[string]bool{}, hearing: newHearing(), stable: true,
	}
	p.life, p.end = context.WithCancelCause(context.Background())
	p.budget = newBudget(cfg.MaxBufferedRecords, cfg.MaxBufferedBytes, p.unlinger)
	if cfg.TransactionalID != "" {
		p.machine = transaction.New()
	}
	var err error
	if p.kafka, err = kgo.NewClient(cfg.kgoOptions()...); err != nil {
		return nil, fmt.Errorf("configuring a producer: %w", err)
	}
	return p, nil
}

// Send hands a record over, and waits for room if too many have no answer yet: that wait alone ends with ctx. Then done is called, once, on
// another goroutine, with what has become of it: nil, or an *Error. Where the record is not taken it is called before Send returns. It must
// not wait, and not call Send; nil is nobody who listens. Records of one goroutine keep their order within a partition. A record that
// fails within a transaction is one that cannot be committed.
func (p *Producer) Send(ctx context.Context, r *Record, done func(*Record, error)) {
	if done == nil {
		done = p.unheard
	}
	if r == nil {
		r = new(Record) // which fails, for it has no topic
	}
	kafka, err := p.enters()
	if err != nil {
		done(r, err)
		return
	}
	defer p.leaves()
	size := sizeOf(r)
	if err := p.takes(ctx, size); err != nil {
		done(r, p.failed(r, err))
		return
	}
	if r.Context == nil {
		r.Context = context.WithoutCancel(ctx)
	}
	kafka.TryProduce(context.Background(), r, func(r *Record, err error) {
		if err != nil {
			err = p.failed(r, err)
		} else if p.machine != nil {
			p.landed.at(r.Topic, r.Partition)
		}
		p.budget.give(size) // after the transaction knows
		done(r, err)
	})
}

// SendSync hands records over, waits for all of their answers, and returns the first error. If ctx ends before, what has been taken is
// on its way still, and the error is ErrUnanswered.
func (p *Producer) SendSync(ctx context.Context, records ...*Record) error {
	answers := make(chan error, len(records))
	for _, r := range records {
		p.Send(ctx, r, func(_ *Record, err error) { answers <- err })
	}
	var first error
	for i := range records {
		err, is := answer(ctx, answers)
		if !is {
			return p.unanswered(fmt.Errorf("%d of %d %w (%w)", len(records)-i, len(records), ErrUnanswered, context.Cause(ctx)), first)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// answer is the next one, also if ctx has ended and there is one.
func answer(ctx context.Context, answers <-chan error) (err error, is bool) {
	select {
	case err := <-answers:
		return err, true
	default:
	}
	select {
	case err := <-answers:
		return err, true
	case <-ctx.Done():
		return nil, false
	}
}

// unanswered is what is true of records whose sender does not wait for them any more. What has failed among them before is told, too.
func (p *Producer) unanswered(err, first error) error {
	class := Retriable
	switch {
	case ClassOf(first) == Fatal:
		class = Fatal
	case p.machine != nil:
		class = AbortAndContinue
	}
	if first != nil {
		err = fmt.Errorf("%w; one has failed before: %w", err, first)
	}
	return &Error{Op: "waiting for records to be written", Class: class, Err: err}
}

// Flush sends what lingers, and waits until every record that was handed over has its answer, or ctx ends. How single records fared is told to
// their callbacks, and to Commit.
func (p *Producer) Flush(ctx context.Context) error {
	ctx, stop := p.living(ctx)
	defer stop(nil)
	p.mu.Lock()
	kafka := p.kafka
	p.mu.Unlock()
	if err := kafka.Flush(ctx); err != nil {
		return &Error{Op: "flushing", Class: classOfEnd(ctx), Err: context.Cause(ctx)}
	}
	return nil
}

// enters says whether a record may be handed over, and to which client.
func (p *Producer) enters() (*kgo.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return nil, &Error{Op: "sending a record", Class: Fatal, Err: ErrClosed}
	}
	if p.machine != nil {
		if err := p.machine.Send(); err != nil {
			return nil, err
		}
	}
	p.sending++
	return p.kafka, nil
}

func (p *Producer) leaves() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending--
	if p.sending == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// isIdle waits until every Send that has begun has returned.
func (p *Producer) isIdle(ctx context.Context) error {
	p.mu.Lock()
	if p.sending == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takes waits for room, no longer than the producer lives.
func (p *Producer) takes(ctx context.Context, size int64) error {
	if p.budget.tryTake(size) {
		return nil
	}
	ctx, stop := p.living(ctx)
	defer stop(nil)
	return p.budget.take(ctx, size)
}

// failed tells the transaction of a record that is not written, and the user of what to do.
func (p *Producer) failed(r *Record, err error) error {
	if errors.Is(err, kgo.ErrClientClosed) {
		err = ErrClosed
	} else if r.Topic == "" {
		err = fmt.Errorf("it has no topic (%w): %w", err, kerr.InvalidTopicException)
	}
	if p.machine == nil || errors.Is(err, ErrClosed) {
		return sendError(r, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine.Failed(fmt.Errorf("a record to %s was not written: %w%s", r.Topic, err, recordAdvice(err)))
	return transaction.Unsent("sending a record to "+r.Topic, err)
}

// unheard is told of records whose sender does not listen.
func (p *Producer) unheard(r *Record, err error) {
	if err != nil {
		p.log.Warn("a record is lost, and nobody listens", "topic", r.Topic, "error", err)
	}
}

// unlinger sends what lingers, while somebody waits for room.
func (p *Producer) unlinger() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Linger == 0 || p.closing || !p.flushing.CompareAndSwap(false, true) {
		return
	}
	kafka := p.kafka
	p.goroutine.Go(func() {
		defer p.flushing.Store(false)
		_ = kafka.Flush(p.life) // no more than the end of the producer's life
	})
}

// living is ctx, as long as the producer lives.
func (p *Producer) living(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(p.life, func() { cancel(ErrClosed) })
	return ctx, func(err error) {
		release()
		cancel(err)
	}
}

// classOfEnd is what to do after a context has ended: the producer's life is over, or the caller's patience.
func classOfEnd(ctx context.Context) Class {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return Fatal
	}
	return Retriable
}
