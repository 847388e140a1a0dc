package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/consumer"
)

// Func processes a batch: what follows from its records is sent to out. It may be called again for records that it was called for before,
// since a transaction that was not committed is done again. Records of a partition come in their order. Its context ends when its
// transaction cannot be committed any more, and context.Cause says why: ErrTooLong, consumer.ErrExpelled, ErrHalted, or what a record could not
// be written for; to return then, with any error, is all that is left to do. Poison(record, err) is an error that Config.Poison decides
// about; any other ends Run.
type Func = func(ctx context.Context, batch consumer.Batch, out *Out) error

// Causes of the end of the context of a Func.
var (
	// ErrTooLong says that the transaction timeout is over, or the consumer's PollInterval.
	ErrTooLong = errors.New("processing takes longer than a transaction may: raise Producer.TransactionTimeout, or have fewer records in a batch (Consumer.MaxPollRecords)")
	// ErrHalted says that Run has to end.
	ErrHalted = errors.New("the processor ends")
)

// Processor reads, processes and writes exactly once.
type Processor struct {
	cfg      Config
	process  Func
	log      *slog.Logger
	consumer *consumer.Consumer
	fencer   *fencer
	loop     *loop
	figures  figures
	ran      atomic.Bool
}

// Run is New and Processor.Run.
func Run(ctx context.Context, cfg Config, process Func) error {
	p, err := New(cfg, process)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// New makes a processor. Nothing is connected yet. Run ends it; Close does, if it is not to be run after all.
func New(cfg Config, process Func) (*Processor, error) {
	cfg = cfg.withDefaults()
	err := cfg.check()
	if err == nil && process == nil {
		err = errors.New("there is no function to process records: give New or Run one")
	}
	if err != nil {
		return nil, fmt.Errorf("configuring exactly-once processing: %w", err)
	}
	p := &Processor{cfg: cfg, process: process, log: cfg.Logger}
	p.figures.s.Aborted = map[Reason]int64{}
	p.loop = newLoop(p)
	settings := p.loop.listen(cfg.Consumer)
	if cfg.Producers == OnePerMember {
		p.fencer = newFencer(settings, cfg.Producer.TransactionalID, cfg.Producer.TransactionTimeout, p.log)
		p.cfg.Producer.TransactionalID = p.fencer.ID()
		settings = p.fencer.Consumer(settings)
	}
	if p.consumer, err = consumer.New(settings); err != nil {
		return nil, err
	}
	return p, nil
}

// Close lets go of a processor that was not run, and cannot be any more. One that runs is ended by the context of its Run, and by nothing else.
func (p *Processor) Close(ctx context.Context) error {
	if p.ran.Swap(true) {
		return nil
	}
	return p.consumer.Close(ctx)
}

// Consumer is the processor's consumer: to ask. Subscribe, Poll, commits and Close are the processor's.
func (p *Processor) Consumer() *consumer.Consumer { return p.consumer }

// Run works until ctx ends, or going on makes no sense: a record that cannot be processed and must not be passed over, any other error of the
// function, a cluster that cannot do it, an error of Poll. Then it commits what was processed, unless it was that which failed, leaves the group and
// returns what it ended for, all within DrainTimeout; that ctx ended is no error. It returns when each call of the function has. It runs once.
func (p *Processor) Run(ctx context.Context) error {
	if p.ran.Swap(true) {
		return errors.New("running exactly-once processing: a Processor runs once, and not after Close: make another")
	}
	if p.fencer != nil {
		p.fencer.start()
		defer p.fencer.Close()
	}
	l, spared := p.lives(ctx)
	defer spared()
	err := p.loop.run(l)
	if err != nil {
		return fmt.Errorf("processing exactly once: %w", err)
	}
	return nil
}

// lives are the lives of a Run. When the first ends, what is being processed is finished and committed, when the second does, calls that are
// under way are told to end, so that there is time to abort and to leave the group before the third one is over.
type lives struct {
	user, calls, all context.Context
	ended            atomic.Pointer[time.Time] // when the first did, by a clock that does not jump
}

// reserve is how much of the time that there is, for a rebalance or to end, is kept for what comes last, at most a quarter of it.
const reserve = 2 * time.Second

func withoutReserve(d time.Duration) time.Duration { return d - min(reserve, d/4) }

func (p *Processor) lives(ctx context.Context) (*lives, func()) {
	l := &lives{user: ctx}
	var endCalls, endAll context.CancelCauseFunc
	l.all, endAll = context.WithCancelCause(context.WithoutCancel(ctx))
	l.calls, endCalls = context.WithCancelCause(l.all)
	last := stoppedTimer(func() { endAll(ErrHalted) })
	calls := stoppedTimer(func() { endCalls(ErrHalted) })
	spared := context.AfterFunc(ctx, func() {
		now := time.Now()
		l.ended.Store(&now)
		calls.Reset(withoutReserve(p.cfg.DrainTimeout))
		last.Reset(p.cfg.DrainTimeout)
	})
	return l, func() {
		spared()
		calls.Stop()
		last.Stop()
		endAll(ErrHalted)
	}
}

func stoppedTimer(f func()) *time.Timer {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return t
}

// deadline is by when all has to be over, once the user wants it to be; false before.
func (l *lives) deadline(drain time.Duration) (time.Time, bool) {
	at := l.ended.Load()
	if at == nil {
		return time.Time{}, false
	}
	return at.Add(drain), true
}
