package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
	"github.com/skeinstream/skein/producer"
)

// loop is the shell of the machine. It belongs to the goroutine of Run, but for the callbacks of a Close, which Run waits for.
type loop struct {
	p         *Processor
	machine   *work.Machine
	producing producing // nil while there is none
	pending   backlog
	tx        *written
	why       map[work.Mark]error // of records that cannot be processed
	lettered  int                 // dead letters of the transaction
	took      time.Duration       // the last commit
	outlived  atomic.Bool         // an Out was used after its call
	absent    *absent

	life       *lives
	subscribed bool
	quit       bool // the machine knows that the user wants it to end
	broken     bool // something of the user's has panicked, or ended the goroutine
	looked     time.Time
}

func newLoop(p *Processor) *loop {
	return &loop{p: p, machine: work.New(p.cfg.work()), tx: new(written), why: map[work.Mark]error{}, absent: newAbsent(p.cfg)}
}

// run does one act after the other, and closes everything.
func (l *loop) run(life *lives) (err error) {
	l.life = life
	stopped := false
	defer func() {
		l.broken = !stopped
		err = both(err, l.close())
	}()
	out := l.step(work.Begun{})
	for out.Act != work.Stop {
		out = l.step(l.do(life.all, out))
	}
	stopped = true
	return out.Err
}

// close leaves the group, whose callbacks have nothing to do any more, and then the producer, which has nothing open that counts: one that
// cannot say so to the broker is fenced already, or ends by its timeout. A processor that was halted is not waited for.
func (l *loop) close() error {
	ctx, cancel := context.WithTimeout(l.life.all, l.p.cfg.DrainTimeout)
	defer cancel()
	if l.broken { // there may be a part of what follows from a batch in it, and leaving the group would commit that
		l.closeProducing(ctx)
	} else {
		defer l.closeProducing(ctx) // though a callback panics
	}
	err := l.p.consumer.Close(ctx)
	if l.life.all.Err() != nil && err != nil {
		l.p.log.Warn("ending took too long: the group finds out by itself", "group", l.p.cfg.Consumer.Group, "error", err)
		return nil
	}
	return err
}

func (l *loop) closeProducing(ctx context.Context) {
	if l.producing == nil {
		return
	}
	if err := l.producing.close(ctx); err != nil {
		l.p.log.Warn("closing the producer: the broker ends what it has open", "group", l.p.cfg.Consumer.Group, "error", err)
	}
}

// both is why Run ends, and what went wrong while it closed. A member that was put out says so once.
func both(err, closing error) error {
	if closing != nil && errors.Is(err, errors.Unwrap(closing)) {
		return err
	}
	return errors.Join(err, closing)
}

func (l *loop) step(in work.Input) work.Output {
	if at, ends := l.life.deadline(l.p.cfg.DrainTimeout); ends && !l.quit {
		l.quit = true
		l.machine.Step(time.Now(), work.Quit{Until: at})
	}
	out := l.machine.Step(time.Now(), in)
	if out.Ended != nil {
		l.tell(out.Ended)
	}
	return out
}

// do does what the machine says, and returns its answer. The context is that of the callback in which it is done, or of life.
func (l *loop) do(ctx context.Context, out work.Output) work.Input {
	if !out.Until.IsZero() && out.Act != work.Process {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, out.Until)
		defer cancel()
	}
	switch out.Act {
	case work.Poll:
		return l.poll(ctx, out.Hold)
	case work.Process:
		return l.processes(ctx, out)
	case work.Commit:
		return l.commit(ctx, out.Offsets)
	case work.Abort:
		err := l.producing.abort(ctx)
		return aborted(err)
	case work.Rewind:
		l.pending.forget(out.Back)
		l.p.consumer.Rewind(theirs(out.Back)...)
		return work.Rewound{}
	case work.Renew:
		return renewed(l.renew(ctx))
	}
	panic(fmt.Sprintf("%s is nothing to do here", out.Act))
}

// poll waits for records, or only for callbacks. When there is time it looks after progress that no record shows: ends of transactions that
// were passed over, and where partitions begin that have no offset yet.
func (l *loop) poll(ctx context.Context, hold bool) work.Input {
	if err := l.subscribe(); err != nil {
		return work.Polled{Generation: -1, Err: err}
	}
	ctx, end := l.whileWanted(ctx)
	defer end()
	var b consumer.Batch
	var err error
	if hold {
		err = l.p.consumer.Attend(ctx)
	} else {
		b, err = l.p.consumer.Poll(ctx)
	}
	in := work.Polled{Batches: l.pending.add(l.p.consumer, b), Generation: l.generation()}
	if errors.Is(err, consumer.ErrClosed) {
		in.Err = err
	} else if err != nil && err != ctx.Err() {
		in.Err = l.p.cfg.PollError(err)
	}
	if now := time.Now(); !hold && (b.Len() == 0 || now.Sub(l.looked) > lookInterval) {
		l.looked = now
		in.Passed = reached(l.p.consumer.Uncommitted())
	}
	return in
}

// whileWanted ends with the user's context, too, if the machine does not know of that yet.
func (l *loop) whileWanted(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	if l.quit {
		return ctx, end
	}
	spared := context.AfterFunc(l.life.user, end)
	return ctx, func() {
		spared()
		end()
	}
}

// lookInterval is how often a loop that has records all the time looks after progress of other partitions.
const lookInterval = 5 * time.Second

func (l *loop) subscribe() error {
	if l.subscribed {
		return nil
	}
	l.subscribed = true
	if l.p.cfg.Pattern != nil {
		return l.p.consumer.SubscribePattern(l.p.cfg.Pattern)
	}
	return l.p.consumer.Subscribe(l.p.cfg.Topics...)
}

func (l *loop) generation() int32 { return l.p.consumer.GroupMetadata().Generation }

// commit reads in whose name before it looks whether all partitions are owned still: in that order none can have been another's in
// that generation.
func (l *loop) commit(ctx context.Context, list []work.Reached) work.Input {
	as := l.p.consumer.GroupMetadata()
	offsets := offsetsOf(list)
	in := work.Committed{Used: as.Generation, Generation: as.Generation}
	for tp := range offsets {
		if owned := l.p.consumer.PartitionContext(tp); owned.Err() != nil {
			in.Outcome, in.Err = work.NotOwned, context.Cause(owned)
			return in
		}
	}
	if err := l.failure(); err != nil {
		in.Outcome, in.Err = l.unwritten(err)
		return in
	}
	began := time.Now()
	in.Err = l.producing.commit(ctx, offsets, as)
	l.took = time.Since(began)
	in.Outcome, in.Generation = outcome(in.Err), l.generation()
	switch {
	case in.Err == nil:
		l.p.consumer.MarkCommitted(offsets)
	case in.Outcome == work.Abortable && l.failure() != nil: // of a record that was waited for
		if how, err := l.unwritten(l.failure()); how == work.Hopeless {
			in.Outcome, in.Err = how, err
		}
	}
	return in
}

// renew makes another producer. What the old one has left is ended by that, and not before: it may have been asked to commit. There is nothing to
// commit meanwhile, so that a user who wants it to end does not wait for it.
func (l *loop) renew(ctx context.Context) error {
	ctx, end := l.whileWanted(ctx)
	defer end()
	if l.producing != nil {
		_ = l.producing.close(gone())
		l.producing = nil
	}
	made, err := l.p.cfg.produce(ctx)
	if err != nil {
		if renewed(err).Outcome != work.Hopeless && l.life.user.Err() == nil { // which Run returns, or is the reason
			l.p.log.Warn("making a producer failed: trying again", "group", l.p.cfg.Consumer.Group, "error", err)
		}
		return err
	}
	l.producing = made
	l.p.figures.change(func(s *Stats) { s.Renewed++ })
	l.p.cfg.Hooks.renewed()
	return nil
}

// renewed is the answer to Renew. What a broker does not know for a new producer it will not know for the next one.
func renewed(err error) work.Renewed {
	how := outcome(err)
	if errors.Is(err, kerr.UnsupportedVersion) {
		how = work.Hopeless
	}
	return work.Renewed{Outcome: how, Err: err}
}

// aborted is the answer to Abort. One of several producers may have committed its part before.
func aborted(err error) work.Aborted {
	how := outcome(err)
	if how == work.Abortable && errors.Is(err, producer.ErrOutcomeUnknown) {
		return work.Aborted{Outcome: work.Done, Partly: true, Err: err}
	}
	return work.Aborted{Outcome: how, Err: err}
}
