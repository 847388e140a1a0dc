package exactlyonce

import (
	"context"
	"errors"
	"sync"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// Out is where a call of the function sends what follows from its records. It may be used by several goroutines, but not after the call
// has returned.
type Out struct {
	ctx  context.Context
	from consumer.TopicPartition // with OnePerPartition, whose output it is
	tx   *written
	l    *loop

	mu      sync.Mutex
	closed  bool
	sending sync.WaitGroup
}

// Send sends a record as part of the transaction. It waits for memory, and for nothing else; the record belongs to the producer from now on.
// If it cannot be written the transaction is aborted, and the batch processed again.
func (o *Out) Send(r *producer.Record) {
	if r == nil {
		r = new(producer.Record) // which fails, for it has no topic
	}
	if !o.enter() {
		o.l.outlived.Store(true)
		o.l.p.log.Error(errOutlived.Error(), "topic", r.Topic)
		return
	}
	defer o.sending.Done()
	topic := r.Topic
	o.tx.add(1)
	o.l.producing.send(o.ctx, o.from, r, func(err error) {
		o.l.absent.heard(topic, err)
		if err != nil {
			o.tx.fail(err)
		}
	})
}

// errOutlived ends Run: what was sent would have been part of another transaction, or of none.
var errOutlived = errors.New("an Out was used after the call that it was given to had returned: wait for what sends before you return")

func (o *Out) enter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.sending.Add(1)
	}
	return !o.closed
}

// close waits for those who send. Nobody does afterwards.
func (o *Out) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.sending.Wait()
}

// written are the records of one transaction.
type written struct {
	mu     sync.Mutex
	n      int
	err    error
	failed context.CancelCauseFunc // of the calls that are under way
}

func (s *written) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += n
}

// fail takes note of a record that is not written: the transaction will not be committed, and what is under way may end.
func (s *written) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	if s.failed != nil {
		s.failed(err)
	}
}

// watch has a context end when a record fails; nil is none.
func (s *written) watch(end context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = end
}

// failure is why the transaction cannot be committed, if it is known already.
func (l *loop) failure() error {
	if l.outlived.Load() {
		return errOutlived
	}
	_, err := l.tx.result()
	return err
}

func (s *written) result() (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, s.err
}
