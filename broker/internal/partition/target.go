package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// The committer's view of a partition. Its methods are called by one goroutine, one at a time.
var _ commit.Target = (*Partition)(nil)

// Key names the partition in the write-ahead log.
func (p *Partition) Key() commit.Key { return commit.Key{Topic: p.topic.ID, Partition: p.index} }

// WriteSegment puts batches into the page cache. What an earlier attempt has written of them is passed over.
func (p *Partition) WriteSegment(w *commit.Write) error {
	b, err := behind(w.Bytes, p.log.EndOffset())
	if err == nil {
		err = p.log.Write(b, w.Tag.(*Append).came)
	}
	p.stuck.Store(err != nil)
	switch {
	case err == nil:
		return nil
	case p.Deleted():
		return fmt.Errorf("%w: %w", commit.ErrGone, err)
	case errors.Is(err, storage.ErrSync):
		return fmt.Errorf("%w: %w", commit.ErrFatal, err)
	}
	return err
}

// behind is the batches of b from an offset on.
func behind(b []byte, offset int64) ([]byte, error) {
	for len(b) > 0 {
		batch, h, err := record.First(b)
		if err != nil || h.LastOffset() >= offset {
			return b, err
		}
		b = b[len(batch):]
	}
	return b, nil
}

// SyncSegment makes durable what WriteSegment has written.
func (p *Partition) SyncSegment() error {
	err := p.log.Sync()
	if err != nil && p.Deleted() {
		return nil
	}
	return err
}

// Committed moves the high watermark over writes that are durable and in their segment.
func (p *Partition) Committed(ws []*commit.Write) {
	var done chain
	var woken wakes
	p.mu.Lock()
	for _, w := range ws {
		a := w.Tag.(*Append)
		p.pending--
		p.underway.pop()
		if a.header.HasProducer() {
			p.overlay.settled(a.header.ProducerID)
		}
		a.Result = p.success(a)
		done.add(a)
	}
	p.unstick()
	p.advance(ws[len(ws)-1].Last+1, &woken)
	p.answerRepeats(&done)
	p.drained(&done, &woken)
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// unstick lets appends in again once nothing is left that the committer would try again: the next one finds out. The
// caller holds p.mu.
func (p *Partition) unstick() {
	if p.underway.first == nil {
		p.stuck.Store(false)
	}
}

// answerRepeats answers the duplicates whose originals are durable now. The caller holds p.mu.
func (p *Partition) answerRepeats(done *chain) {
	waiting := p.repeats
	p.repeats = chain{}
	for a := range waiting.each {
		if a.header.LastOffset() < p.highWatermark.Load() {
			done.add(a)
		} else {
			p.repeats.add(a)
		}
	}
}

// Failed takes back the writes and everything behind them: the next append gets the offset of the first. What is below them
// stays under way, and so do the duplicates that wait for it.
func (p *Partition) Failed(ws []*commit.Write, err error) {
	if errors.Is(err, commit.ErrNotWritten) && p.log.EndOffset() > ws[0].Base {
		p.table.fail("taking back a write of "+p.name(), errors.New("half of it is in the log"))
	}
	result := p.failed(err)
	var done chain
	var woken wakes
	p.mu.Lock()
	p.next = ws[0].Base
	for a := range p.underway.each {
		if a.header.BaseOffset >= p.next {
			p.awaited.failed(a.header)
		}
	}
	p.underway.cut(p.next)
	p.recount()
	p.unstick()
	waiting := p.repeats
	p.repeats = chain{}
	for a := range waiting.each {
		if a.header.LastOffset() < p.next {
			p.repeats.add(a)
		} else {
			a.Result = result
			done.add(a)
		}
	}
	p.drop(ws, result, &done, &woken)
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// recount makes the overlay anew from what is still under way. The caller holds p.mu.
func (p *Partition) recount() {
	p.overlay.clear()
	for a := range p.underway.each {
		if !a.header.HasProducer() {
			continue
		}
		entry := p.producer(a.header.ProducerID)
		if a.header.LastOffset() >= p.log.EndOffset() { // else the log's table has it already
			entry = a.after(entry)
		}
		p.overlay.put(entry)
	}
}

// Dropped answers the writes that stood behind one that failed.
func (p *Partition) Dropped(ws []*commit.Write, err error) {
	result := p.failed(err)
	var done chain
	var woken wakes
	p.mu.Lock()
	p.drop(ws, result, &done, &woken)
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// drop answers writes that will not be committed. What was parked behind them may go on.
func (p *Partition) drop(ws []*commit.Write, result Result, done *chain, woken *wakes) {
	for _, w := range ws {
		a := w.Tag.(*Append)
		p.pending--
		a.Result = result
		done.add(a)
	}
	p.drained(done, woken)
}

// failed is the result of writes that were not committed.
func (p *Partition) failed(err error) Result {
	if errors.Is(err, commit.ErrGone) {
		return failure(kerr.UnknownTopicOrPartition.Code)
	}
	if errors.Is(err, commit.ErrFatal) {
		p.table.broken.Store(true) // Run is about to end with it
	}
	return p.storageFailure(err)
}
