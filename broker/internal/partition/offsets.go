package partition

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/storage"
)

// noPlace is the answer to a question for an offset that no record fits.
var noPlace = storage.Place{Offset: -1, Timestamp: -1, Epoch: -1}

// Latest is where the next record will be, for readers of committed records where the first open transaction begins.
func (p *Partition) Latest(committed bool) (storage.Place, int16) {
	if code := p.Refusal(); code != 0 {
		return noPlace, code
	}
	return storage.Place{Offset: p.bound(committed), Timestamp: -1, Epoch: p.epoch}, 0
}

// Earliest is the first offset that can be read.
func (p *Partition) Earliest() (storage.Place, int16) {
	if code := p.Refusal(); code != 0 {
		return noPlace, code
	}
	start := p.log.StartOffset()
	epoch := p.log.EpochAt(start)
	if epoch < 0 {
		epoch = p.epoch // nothing has been written there yet
	}
	return storage.Place{Offset: start, Timestamp: -1, Epoch: epoch}, 0
}

// OffsetForTime is the first record with a timestamp of ts or later (T27).
func (p *Partition) OffsetForTime(ts int64, committed bool) (storage.Place, int16) {
	if code := p.Refusal(); code != 0 {
		return noPlace, code
	}
	return p.found(p.log.OffsetForTime(ts, p.bound(committed)))
}

// MaxTimestamp is the first record with the largest timestamp (KIP-734).
func (p *Partition) MaxTimestamp(committed bool) (storage.Place, int16) {
	if code := p.Refusal(); code != 0 {
		return noPlace, code
	}
	return p.found(p.log.MaxTimestamp(p.bound(committed)))
}

func (p *Partition) found(at storage.Place, found bool, err error) (storage.Place, int16) {
	switch {
	case err != nil:
		return noPlace, p.readFailed(err)
	case !found:
		return noPlace, 0
	default:
		return at, 0
	}
}

// EndOffsetForEpoch is the largest epoch not above the one asked for, and where it ended; -1 and -1 when the epoch is not
// known (T11). known is the leader epoch that the client knows, -1 for none.
func (p *Partition) EndOffsetForEpoch(known, asked int32) (epoch int32, end int64, code int16) {
	if code := p.Refusal(); code != 0 {
		return -1, -1, code
	}
	if code := p.CheckEpoch(known); code != 0 {
		return -1, -1, code
	}
	epoch, end = p.log.EndOffsetForEpoch(asked, p.epoch)
	return epoch, end, 0
}

// highWatermarkMark stands for the high watermark in DeleteRecords.
const highWatermarkMark = -1

// DeleteRecords moves the log's start up to an offset, -1 for the high watermark, and returns where it then is. The caller
// makes the move durable before it answers: see Table.SaveStarts.
func (p *Partition) DeleteRecords(before int64) (start int64, code int16) {
	if code := p.Refusal(); code != 0 {
		return -1, code
	}
	if s := p.topic.Settings(); s.Compact && !s.Delete {
		return -1, kerr.PolicyViolation.Code
	}
	highWatermark := p.HighWatermark()
	if before == highWatermarkMark {
		before = highWatermark
	}
	if before < 0 || before > highWatermark {
		return -1, kerr.OffsetOutOfRange.Code
	}
	if err := p.log.SetStartOffset(before); err != nil {
		if errors.Is(err, storage.ErrOffsetOutOfRange) {
			return -1, kerr.OffsetOutOfRange.Code
		}
		return -1, p.readFailed(err)
	}
	p.startMoved()
	return p.log.StartOffset(), 0
}

// startMoved wakes readers that now stand below the start, and lets the last stable offset follow.
func (p *Partition) startMoved() {
	var woken wakes
	p.mu.Lock()
	p.advance(p.highWatermark.Load(), &woken)
	p.waiters.takeAll(&woken)
	p.mu.Unlock()
	woken.wake()
}
