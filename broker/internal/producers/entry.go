package producers

import "github.com/skeinstream/skein/broker/internal/record"

// What Kafka writes where there is no value.
const (
	NoEpoch    int16 = -1
	NoSequence int32 = -1
	NoOffset   int64 = -1
)

// Window is how many of a producer's last batches are remembered: a client has
// at most five requests in flight, so a retry is of one of them (T15).
const Window = 5

// Batch is what is remembered of one data batch.
type Batch struct {
	LastOffset   int64
	Timestamp    int64 // the batch's max timestamp, ms
	LastSequence int32
	OffsetDelta  int32 // last offset less first offset
}

// FirstOffset is the offset of the batch's first record.
func (b Batch) FirstOffset() int64 { return b.LastOffset - int64(b.OffsetDelta) }

// FirstSequence is the sequence of the batch's first record.
func (b Batch) FirstSequence() int32 {
	if b.LastSequence >= b.OffsetDelta {
		return b.LastSequence - b.OffsetDelta
	}
	return int32(int64(b.LastSequence) - int64(b.OffsetDelta) + 1<<31)
}

// Entry is the state of one producer in one partition. It is a value: copy it,
// keep it, compare it.
type Entry struct {
	ProducerID       int64
	TxnFirstOffset   int64 // of the open transaction, NoOffset without one
	LastTimestamp    int64 // of the last batch or marker, ms; what expiry counts from
	CoordinatorEpoch int32 // of the last marker, -1 before any
	Epoch            int16 // NoEpoch: nothing is known of the producer
	count            uint8
	batches          [Window]Batch // oldest first
}

// New is the entry of a producer that the partition does not know.
func New(producerID int64) Entry {
	return Entry{ProducerID: producerID, TxnFirstOffset: NoOffset, LastTimestamp: -1, CoordinatorEpoch: -1, Epoch: NoEpoch}
}

// Known reports whether the producer has written here and is remembered.
func (e Entry) Known() bool { return e.Epoch != NoEpoch }

// InTransaction reports whether a transaction of the producer is open.
func (e Entry) InTransaction() bool { return e.TxnFirstOffset != NoOffset }

// Batches calls fn for the batches remembered, oldest first.
func (e *Entry) Batches(fn func(Batch)) {
	for _, b := range e.batches[:e.count] {
		fn(b)
	}
}

// Last is the newest batch of the current epoch; ok is false without one.
func (e *Entry) Last() (b Batch, ok bool) {
	if e.count == 0 {
		return Batch{}, false
	}
	return e.batches[e.count-1], true
}

// LastSequence is the sequence that the producer's next batch must follow,
// NoSequence when that must begin at 0.
func (e *Entry) LastSequence() int32 {
	if b, ok := e.Last(); ok {
		return b.LastSequence
	}
	return NoSequence
}

// Next is the entry after the data batch h was written at offset base.
func (e Entry) Next(h record.Header, base int64) Entry {
	e.enter(h.ProducerEpoch)
	e.push(Batch{
		LastOffset:   base + int64(h.LastOffsetDelta),
		Timestamp:    h.MaxTimestamp,
		LastSequence: h.LastSequence(),
		OffsetDelta:  h.LastOffsetDelta,
	})
	e.LastTimestamp = h.MaxTimestamp
	if h.Transactional() && !e.InTransaction() {
		e.TxnFirstOffset = base
	}
	return e
}

// Marker is what a control batch says of a transaction.
type Marker struct {
	Offset           int64
	Timestamp        int64
	CoordinatorEpoch int32
	Epoch            int16 // the producer's
	Abort            bool
}

// Ended is a transaction that a marker has ended.
type Ended struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	Aborted     bool
}

// End is the entry after the marker m was written. ok is false when no
// transaction was open: such a marker ends nothing.
func (e Entry) End(m Marker) (after Entry, ended Ended, ok bool) {
	if e.InTransaction() {
		ended, ok = Ended{e.ProducerID, e.TxnFirstOffset, m.Offset, m.Abort}, true
	}
	e.enter(m.Epoch)
	e.CoordinatorEpoch = m.CoordinatorEpoch
	e.LastTimestamp = m.Timestamp
	e.TxnFirstOffset = NoOffset
	return e, ended, ok
}

// enter forgets the batches of another epoch: sequences begin anew with each.
func (e *Entry) enter(epoch int16) {
	if e.Epoch != epoch {
		e.Epoch, e.count, e.batches = epoch, 0, [Window]Batch{}
	}
}

func (e *Entry) push(b Batch) {
	if e.count == Window {
		copy(e.batches[:], e.batches[1:])
		e.count--
	}
	e.batches[e.count] = b
	e.count++
}
