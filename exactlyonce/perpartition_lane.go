package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// errUnclaimed is what every use of a lane without its id fails with: the transaction is aborted, the id is claimed, and the partition read
// again from the group's offset.
var errUnclaimed = errors.New("the partition's transactional id is not had yet, or another process has it")

// begin begins the lane's part of the transaction, unless it is begun.
func (l *lane) begin(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.producer == nil:
		l.wanted = true
		return l.aborts("using its producer", errUnclaimed)
	case l.begun:
		return nil
	}
	if err := l.producer.Begin(ctx); err != nil {
		return l.fails("beginning its transaction", err)
	}
	l.begun = true
	return nil
}

// commit commits the lane's part, with its offset.
func (l *lane) commit(ctx context.Context, at consumer.Offset, as consumer.GroupMetadata) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	if err := l.producer.SendOffsets(ctx, consumer.Offsets{l.tp: at}, as); err != nil {
		return l.fails("adding its offset", err)
	}
	if err := l.producer.Commit(ctx); err != nil {
		return l.fails("committing its transaction", err)
	}
	l.begun, l.done = false, true
	return nil
}

// fails says of an error what is to be done: nothing but another try, nothing that helps, or an abort, which lets go of a producer that is of no
// use any more.
func (l *lane) fails(act string, err error) error {
	switch {
	case repeatable(err), hopeless(err):
		return err
	case producer.ClassOf(err) == producer.Fatal:
		l.fenced = time.Now()
	}
	return l.aborts(act, err)
}

func (l *lane) aborts(act string, err error) error {
	return &producer.Error{Op: fmt.Sprintf("%s-%d: %s", l.tp.Topic, l.tp.Partition, act), Class: producer.AbortAndContinue, Err: err}
}

// abort aborts what is open; what cannot be aborted is left to whoever claims the id.
func (l *lane) abort(ctx context.Context) {
	if l.producer == nil || !l.begun {
		l.done = false
		return
	}
	if !l.fenced.IsZero() || l.producer.Abort(ctx) != nil {
		_ = l.close(ctx) // the next claim ends it
	}
	l.begun, l.done = false, false
}

// close lets go of the producer.
func (l *lane) close(ctx context.Context) error {
	if l.producer == nil {
		return nil
	}
	p := l.producer
	l.producer = nil
	if l.begun && l.fenced.IsZero() {
		return errors.Join(p.Abort(ctx), p.Close(ctx))
	}
	return p.Close(ctx)
}
