package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/commit"
)

// The committer's view of a partition. Its methods are called by one goroutine, one at a time.
var _ commit.Target = (*Partition)(nil)

// Key names the partition in the write-ahead log.
func (p *Partition) Key() commit.Key { return p.key() }

// WriteSegment puts a batch into the page cache.
func (p *Partition) WriteSegment(w *commit.Write) error {
	err := p.log.Write(w.Bytes, w.Tag.(*Append).came)
	if err != nil && p.Deleted() {
		return fmt.Errorf("%w: %w", commit.ErrGone, err)
	}
	return err
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
		if a.header.HasProducer() {
			p.overlay.settled(a.header.ProducerID)
		}
		a.Result = p.success(a)
		done.add(a)
	}
	p.advance(ws[len(ws)-1].Last+1, &woken)
	p.answerRepeats(&done)
	p.drained(&done, &woken)
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// answerRepeats answers the duplicates whose originals are durable now. The caller holds p.mu.
func (p *Partition) answerRepeats(done *chain) {
	waiting := p.repeats
	p.repeats = chain{}
	for a := waiting.first; a != nil; {
		next := a.next
		if a.header.LastOffset() < p.highWatermark.Load() {
			done.add(a)
		} else {
			p.repeats.add(a)
		}
		a = next
	}
}

// Failed takes back the writes and everything behind them: the next append gets the offset of the first.
func (p *Partition) Failed(ws []*commit.Write, err error) {
	result := p.failed(err)
	var done chain
	p.mu.Lock()
	p.next = ws[0].Base
	p.overlay.clear()
	for a := p.repeats.first; a != nil; {
		next := a.next
		a.Result = result
		done.add(a)
		a = next
	}
	p.repeats = chain{}
	p.drop(ws, result, &done)
	p.mu.Unlock()
	done.finish()
}

// Dropped answers the writes that stood behind one that failed.
func (p *Partition) Dropped(ws []*commit.Write, err error) {
	var done chain
	p.mu.Lock()
	p.drop(ws, p.failed(err), &done)
	p.mu.Unlock()
	done.finish()
}

func (p *Partition) drop(ws []*commit.Write, result Result, done *chain) {
	for _, w := range ws {
		a := w.Tag.(*Append)
		p.pending--
		a.Result = result
		done.add(a)
	}
	p.drained(done, &wakes{}) // what was parked wakes nobody before it is durable
}

// failed is the result of writes that were not committed.
func (p *Partition) failed(err error) Result {
	if errors.Is(err, commit.ErrGone) {
		return failure(kerr.UnknownTopicOrPartition.Code)
	}
	return p.storageFailure(err)
}
