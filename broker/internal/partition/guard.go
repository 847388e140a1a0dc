package partition

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// A transactional batch of a client opens a transaction here that only its coordinator ends. So the coordinator must know of
// it before (R-E12), and whoever appends asks it. But between the answer and the append the transaction may end: its marker
// is written, the batch comes behind, and what it opens is never ended. A guard is taken before the question, and an append
// with it is refused once a marker of the producer has been written since.

// Guard is a moment in the life of a partition. The zero value is none at all.
type Guard struct {
	log   *storage.Log
	end   int64 // of the log
	taken int64 // ms
}

// guardLife is how long a guard is good for, and so how long markers are remembered, in ms.
const guardLife = 60_000

// Guard takes a guard for a producer's next batch. open: the producer has a transaction open here, in the same epoch, so
// that there is nothing to ask.
func (p *Partition) Guard(producerID int64, epoch int16) (g Guard, open bool) {
	if p.Refusal() != 0 {
		return Guard{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Guard{log: p.log, end: p.next, taken: p.table.now()}, inTransaction(p.producer(producerID), epoch)
}

func inTransaction(e producers.Entry, epoch int16) bool { return e.InTransaction() && e.Epoch == epoch }

// verify refuses a transactional batch of a client that neither belongs to an open transaction nor has a guard that is
// still good. The caller holds p.mu.
func (p *Partition) verify(a *Append, entry producers.Entry) error {
	h := &a.header
	if !h.Transactional() || inTransaction(entry, h.ProducerEpoch) {
		return nil
	}
	g := a.Guard
	if g.log == p.log && g.log != nil && p.table.now()-g.taken < guardLife && p.endings.last(h.ProducerID) < g.end {
		return nil
	}
	code := a.Unverified
	if code == 0 {
		code = kerr.InvalidTxnState.Code
	}
	return &record.Refusal{Code: code, Message: fmt.Sprintf("the transaction of producer %d does not have this partition, or has ended meanwhile", h.ProducerID)}
}

// checkFirst decides on a batch of a producer that the partition does not know. Of one whose transactions have an epoch each it
// is the first since that epoch began, and so has sequence 0, or another is missing (R-K27).
func (p *Partition) checkFirst(a *Append) error {
	if h := &a.header; a.Anew && h.Transactional() && h.BaseSequence != 0 {
		return &record.Refusal{
			Code:    kerr.OutOfOrderSequenceNumber.Code,
			Message: fmt.Sprintf("sequence %d of producer %d, which has written nothing here at epoch %d", h.BaseSequence, h.ProducerID, h.ProducerEpoch),
		}
	}
	return p.awaited.check(a.header)
}

// endings remembers where the markers of the last guardLife stand, and some that are older.
type endings struct {
	recent, older map[int64]int64 // offset of the last marker, by producer
	began         int64           // recent, ms
}

// note remembers a marker.
func (e *endings) note(now, producerID, offset int64) {
	if e.recent == nil || now-e.began >= guardLife {
		e.recent, e.older, e.began = map[int64]int64{}, e.recent, now
	}
	e.recent[producerID] = offset
}

// last is the offset of a producer's last marker, -1 when none is remembered.
func (e *endings) last(producerID int64) int64 {
	if offset, ok := e.recent[producerID]; ok {
		return offset
	}
	if offset, ok := e.older[producerID]; ok {
		return offset
	}
	return -1
}

// noteMarker remembers the marker that an append is, if it is one. The caller holds p.mu.
func (p *Partition) noteMarker(a *Append) {
	if a.header.Control() {
		p.endings.note(p.table.now(), a.header.ProducerID, a.header.BaseOffset)
	}
}
