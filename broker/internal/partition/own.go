package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
)

// What coordinators write: batches that the broker has built itself. They are not validated, no topic's max.message.bytes
// binds them, their producers have epochs but no sequences, and they may be markers.

// own is what an Append knows of such a batch.
type own struct {
	built  bool
	at     int64            // the offset that it must get, or Anywhere
	marker producers.Marker // of a control batch
}

// Anywhere is the offset for a batch that may stand wherever the log ends.
const Anywhere int64 = -1

// AppendAt is Append for one whole batch of a record.Builder. It is taken at the offset at and nowhere else, so that what a
// coordinator has decided on one state never follows what it does not know: after an append that has failed, all that it
// has sent behind it fail too.
func (p *Partition) AppendAt(a *Append, at int64) {
	if code := p.Refusal(); code != 0 {
		a.finish(failure(code))
		return
	}
	if err := p.adopt(a, at); err != nil {
		a.finish(failureOf(err))
		return
	}
	if r, barred := p.barred(); barred {
		a.finish(r)
		return
	}
	p.submit(a)
}

// ErrUnknown is for a partition that does not exist.
var ErrUnknown = fmt.Errorf("there is no such partition: %w", kerr.UnknownTopicOrPartition)

// adopt reads what an append needs to know of a batch that is right.
func (p *Partition) adopt(a *Append, at int64) error {
	batch, h, err := record.First(a.Records)
	if err != nil {
		return fmt.Errorf("reading the batch of a coordinator: %w", err)
	}
	a.header, a.came, a.stamped, a.own = h, p.table.now(), -1, own{built: true, at: at}
	if !h.Control() {
		return nil
	}
	if p.topic.state.Load().rules.LogAppendTime {
		a.header = record.StampAppendTime(batch)
	}
	var ok bool
	if a.marker, ok = markerOf(batch, h); !ok {
		return errors.New("a control batch of a coordinator has no marker")
	}
	return nil
}

// checkOwn is check for such a batch.
func (p *Partition) checkOwn(a *Append) (entry producers.Entry, err error) {
	if a.at != Anywhere && a.at != p.next {
		return entry, &record.Refusal{
			Code:    kerr.OffsetOutOfRange.Code,
			Message: fmt.Sprintf("the log ends at offset %d, its coordinator expected %d", p.next, a.at),
		}
	}
	if !a.header.HasProducer() {
		return entry, nil
	}
	entry = p.producer(a.header.ProducerID)
	if a.header.Control() {
		return entry, entry.CheckMarker(a.marker)
	}
	return entry, entry.CheckEpoch(a.header.ProducerEpoch)
}

// after is what is known of the batch's producer once the batch is written.
func (a *Append) after(entry producers.Entry) producers.Entry {
	if !a.header.Control() {
		return entry.Next(a.header, a.header.BaseOffset)
	}
	a.marker.Offset = a.header.BaseOffset
	entry, _, _ = entry.End(a.marker)
	return entry
}

// Barred is why an append would be refused now, nil when it would be taken.
func (p *Partition) Barred() error {
	if code := p.Refusal(); code != 0 {
		return failureError(failure(code))
	}
	if p.table.broken.Load() {
		return errBroken
	}
	if r, barred := p.barred(); barred {
		return failureError(r)
	}
	return nil
}

// Err is why the append is not in the log, nil when it is.
func (r *Result) Err() error {
	if r.Code == 0 {
		return nil
	}
	return failureError(*r)
}

// failureError is a failure as an error, which wraps that of package kerr.
func failureError(r Result) error {
	if r.Message == "" {
		return kerr.ErrorForCode(r.Code)
	}
	return fmt.Errorf("%s: %w", r.Message, kerr.ErrorForCode(r.Code))
}

// failureOf is the result for an error that is none of the disk's.
func failureOf(err error) Result {
	r := failure(kerr.UnknownServerError.Code)
	r.Message = err.Error()
	return r
}
