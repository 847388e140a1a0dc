package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
)

// processes has the first records of the backlog processed, and says what has come of it.
func (l *loop) processes(ctx context.Context, out work.Output) work.Input {
	if out.Begin {
		l.tx, l.lettered = new(written), 0
		if err := l.begins(ctx, out.Until); err != nil {
			return work.Processed{Outcome: outcome(err), Err: err}
		}
	}
	batch := l.pending.first(out.Records)
	ctx, end := l.lasting(l.life.calls, batch, out.Until)
	defer end()
	batch = l.letters(ctx, batch, out.Skip)
	results := l.calls(ctx, batch)
	if in := l.judge(ctx, results); in.Outcome != work.Done {
		return in
	}
	in := work.Processed{}
	in.Reached, in.Records = l.pending.done(out.Records)
	return in
}

func (l *loop) begins(ctx context.Context, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return l.producing.begin(ctx)
}

// lasting is the context of the calls. All partitions are lost at once, so that one is watched for all; what is revoked waits for the next poll.
func (l *loop) lasting(ctx context.Context, batch consumer.Batch, until time.Time) (context.Context, func()) {
	if away := time.Now().Add(l.p.cfg.Consumer.PollInterval * 3 / 4); away.Before(until) {
		until = away
	}
	ctx, cancel := context.WithDeadlineCause(ctx, until, ErrTooLong)
	ctx, fail := context.WithCancelCause(ctx)
	l.tx.watch(fail)
	spared := func() bool { return false }
	if len(batch.Partitions) > 0 {
		owned := l.p.consumer.PartitionContext(batch.Partitions[0].TopicPartition)
		spared = context.AfterFunc(owned, func() { fail(context.Cause(owned)) })
	}
	return ctx, func() {
		l.tx.watch(nil)
		spared()
		fail(context.Canceled)
		cancel()
	}
}

// letters sends what is passed over to the dead-letter topic, and takes it out of the batch.
func (l *loop) letters(ctx context.Context, batch consumer.Batch, skip []work.Mark) consumer.Batch {
	if len(skip) == 0 {
		return batch
	}
	out := &Out{ctx: ctx, tx: l.tx, l: l}
	defer out.close()
	var rest consumer.Batch
	for _, p := range batch.Partitions {
		out.from = p.TopicPartition
		kept := make([]*consumer.Record, 0, len(p.Records))
		for _, r := range p.Records {
			if !slices.Contains(skip, markOf(r)) {
				kept = append(kept, r)
				continue
			}
			out.Send(l.p.cfg.letter(r, l.why[markOf(r)]))
			l.lettered++
			l.p.log.Warn("a record is given up: it goes to the dead-letter topic with this transaction", "group", l.p.cfg.Consumer.Group,
				"record", markOf(r).String(), "topic", l.p.cfg.Poison.DeadLetter, "error", l.why[markOf(r)])
			l.p.cfg.Hooks.poisoned(r, l.why[markOf(r)], true)
		}
		if p.Records = kept; len(kept) > 0 {
			rest.Partitions = append(rest.Partitions, p)
		}
	}
	return rest
}

// result is how one call has ended, and whether it was told to.
type result struct {
	err  error
	told bool
}

// calls has the parts of a batch processed, as many at once as there may be. When one has failed, the others are told to end.
func (l *loop) calls(ctx context.Context, batch consumer.Batch) []result {
	if batch.Len() == 0 {
		return nil
	}
	parts := []consumer.Batch{batch}
	if l.p.cfg.Concurrency > 1 || l.p.cfg.Producers == OnePerPartition {
		parts = l.p.cfg.split(batch)
	}
	results := make([]result, len(parts))
	if len(parts) == 1 {
		results[0] = l.call(ctx, parts[0])
		return results
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	room := make(chan struct{}, l.p.cfg.Concurrency)
	var calls sync.WaitGroup
	for i, part := range parts {
		room <- struct{}{}
		calls.Go(func() {
			defer func() { <-room }()
			results[i].err = errGone
			if results[i] = l.call(ctx, part); results[i].err != nil {
				fail(results[i].err)
			}
		})
	}
	calls.Wait()
	return results
}

// errGone is how a call ends that does not return.
var errGone = errors.New("a call of the function has ended its goroutine: runtime.Goexit, and FailNow of tests, are not for functions that are called side by side")

func (l *loop) call(ctx context.Context, part consumer.Batch) result {
	if ctx.Err() != nil {
		return result{ctx.Err(), true}
	}
	out := &Out{ctx: ctx, from: part.Partitions[0].TopicPartition, tx: l.tx, l: l}
	defer out.close()
	err := l.p.process(ctx, part, out)
	return result{err, ctx.Err() != nil}
}

// judge says what the calls have come to: a record that was not written first, then what the function says by itself, then what it was told.
func (l *loop) judge(ctx context.Context, results []result) work.Processed {
	if err := l.failure(); err != nil {
		how, err := l.unwritten(err)
		return work.Processed{Outcome: how, Err: fmt.Errorf("writing what follows from a batch: %w", err)}
	}
	var bad []*PoisonError
	var own, told error
	for _, r := range results {
		found, rest := poisons(r.err)
		bad = append(bad, found...)
		if r.told {
			told = errors.Join(told, rest)
		} else {
			own = errors.Join(own, rest)
		}
	}
	switch {
	case own != nil:
		return work.Processed{Outcome: work.Hopeless, Err: fmt.Errorf("processing a batch: %w", own)}
	case len(bad) > 0:
		return l.poisoned(bad)
	case told != nil && context.Cause(ctx) == ErrTooLong:
		return work.Processed{Outcome: work.Late, Err: fmt.Errorf("%w (%w)", ErrTooLong, told)}
	case told != nil:
		return work.Processed{Outcome: work.BrokenOff, Err: context.Cause(ctx)}
	}
	return work.Processed{}
}

func (l *loop) poisoned(bad []*PoisonError) work.Processed {
	in := work.Processed{Outcome: work.Poison, Err: bad[0]}
	if l.p.cfg.Poison.DeadLetter == "" {
		in.Err = errStops(bad[0])
	}
	for _, p := range bad {
		at := markOf(p.Record)
		l.why[at] = p.Err
		in.Marks = append(in.Marks, at)
		l.p.figures.change(func(s *Stats) { s.Poisoned++ })
		l.p.cfg.Hooks.poisoned(p.Record, p.Err, false)
	}
	return in
}
