package parallel

import (
	"context"
	"fmt"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/internal/lanes"
)

// place is where the records of a partition are worked on, while it is owned.
type place struct {
	ctx     context.Context // of Handle
	cancel  context.CancelCauseFunc
	release func() // ends ctx, and all that waits for that
	// paused is what should be, applied what the consumer was told.
	paused, applied bool
}

// take has the records of a batch worked on.
func (p *Processor) take(b consumer.Batch) {
	for i := range b.Partitions {
		p.regulate(b.Partitions[i].TopicPartition, p.queueUp(&b.Partitions[i]))
	}
}

func (p *Processor) queueUp(b *consumer.PartitionBatch) *place {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	if p.stopped {
		return nil
	}
	if p.work.begin(b) {
		p.dismiss([]consumer.TopicPartition{b.TopicPartition})
	}
	at := p.places[b.TopicPartition]
	if at == nil {
		at = p.open(b.TopicPartition)
	}
	for _, r := range b.Records {
		key, alone := p.lane(r)
		p.queue.Add(b.TopicPartition, r.Offset, key, alone, r)
	}
	at.paused = at.paused || p.held(b.TopicPartition) >= p.cfg.Window
	p.ready.Broadcast()
	return at
}

// open makes the place of a partition. Its context ends with the ownership, and with Run.
func (p *Processor) open(tp consumer.TopicPartition) *place {
	at := new(place)
	at.ctx, at.cancel = context.WithCancelCause(p.work.c.PartitionContext(tp))
	spared := context.AfterFunc(p.life, func() { at.cancel(context.Canceled) })
	at.release = func() { spared(); at.cancel(consumer.ErrRevoked) }
	p.places[tp] = at
	return at
}

// held counts the records of a partition from the first that is not done.
func (p *Processor) held(tp consumer.TopicPartition) int {
	if l := p.work.partitions[tp]; l != nil {
		return l.acks.Len()
	}
	return 0
}

// lane says which records wait for this one.
func (p *Processor) lane(r *consumer.Record) (key []byte, alone bool) {
	switch p.cfg.Order {
	case ByPartition:
		return nil, false
	case Unordered:
		return nil, true
	}
	return r.Key, r.Key == nil
}

// worker works on one record after the other.
func (p *Processor) worker() {
	for {
		item, at := p.next()
		if at == nil {
			return
		}
		p.over(item, at, p.cfg.Handle(at.ctx, item.Value))
	}
}

// next waits for a record to work on. No place says that there will be none.
func (p *Processor) next() (lanes.Item[*consumer.Record], *place) {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	for !p.stopped {
		if item, ok := p.queue.Next(); ok {
			return item, p.places[item.Partition()]
		}
		p.ready.Wait()
	}
	return lanes.Item[*consumer.Record]{}, nil
}

// over takes note of how the work on a record has ended. An error of a Handle that was told to end is none.
func (p *Processor) over(item lanes.Item[*consumer.Record], at *place, err error) {
	r := item.Value
	if err != nil && at.ctx.Err() == nil {
		p.stop(fmt.Errorf("working on %s-%d at offset %d: %w", r.Topic, r.Partition, r.Offset, err))
	}
	p.regulate(item.Partition(), p.settle(item, err == nil))
}

// settle ends a record in the books, and returns the place whose pause may end with it.
func (p *Processor) settle(item lanes.Item[*consumer.Record], done bool) *place {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	p.queue.Done(item)
	p.ready.Signal()
	if item.Abandoned() {
		return nil
	}
	offset, tp := item.Value.Offset, item.Partition()
	p.work.end(item.Value, func(l *ledger) bool {
		if done {
			return l.acks.Ack(offset, "")
		}
		return l.acks.IsOpen(offset)
	})
	at := p.places[tp]
	if at == nil || !at.paused || p.held(tp) > p.cfg.Window/2 {
		return nil
	}
	at.paused = false
	return at
}

// regulate tells the consumer of a pause that begins or ends. What should be may have changed again since the caller has looked.
func (p *Processor) regulate(tp consumer.TopicPartition, at *place) {
	if at == nil {
		return
	}
	p.pausing <- struct{}{}
	defer func() { <-p.pausing }()
	p.work.mu.Lock()
	change, pause := p.places[tp] == at && at.paused != at.applied, at.paused
	at.applied = pause
	p.work.mu.Unlock()
	switch {
	case change && pause:
		p.work.c.Pause(tp)
	case change:
		p.work.c.Resume(tp)
	}
}

// stop has no record begun any more, and Run end. The first reason is what Run returns; nil is none.
func (p *Processor) stop(why error) {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	p.stopped = true
	if p.failure == nil {
		p.failure = why
	}
	for tp := range p.places {
		p.clear(tp)
	}
	p.quit()
	p.ready.Broadcast()
	p.work.wake()
}

// clear takes back all that is not begun. Nothing from the first of it on is committed.
func (p *Processor) clear(tp consumer.TopicPartition) {
	n := p.queue.Clear(tp)
	if l := p.work.partitions[tp]; l != nil {
		l.underWay -= n
	}
}

// shorten takes back what is behind every record that was begun: the rest is needed for a commit that leaves nothing done behind it.
func (p *Processor) shorten(list []consumer.TopicPartition) {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	for _, tp := range list {
		n, begun := p.queue.Cut(tp)
		if l := p.work.partitions[tp]; l != nil && n > 0 {
			l.underWay -= n
			l.acks.Cut(begun)
		}
	}
}

// abort tells those who work on partitions to end.
func (p *Processor) abort(list []consumer.TopicPartition, why error) {
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	for _, tp := range list {
		p.clear(tp)
		if at := p.places[tp]; at != nil {
			at.cancel(why)
		}
	}
}

// dismiss forgets partitions. The lock is held.
func (p *Processor) dismiss(list []consumer.TopicPartition) {
	for _, tp := range list {
		p.queue.Forget(tp)
		if at := p.places[tp]; at != nil {
			at.release()
			delete(p.places, tp)
		}
	}
}
