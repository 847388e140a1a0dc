package partition

import "github.com/skeinstream/skein/broker/internal/producers"

// overlay is what pending batches say of their producers: newer than the log's table, and gone when a commit fails.
type overlay struct {
	entries map[int64]*overlaid
	free    []*overlaid
}

type overlaid struct {
	entry   producers.Entry
	pending int // batches that are not in the log's table yet
}

// get returns the entry after the producer's last pending batch.
func (o *overlay) get(producerID int64) (producers.Entry, bool) {
	if e := o.entries[producerID]; e != nil {
		return e.entry, true
	}
	return producers.Entry{}, false
}

// put takes in the entry after one more pending batch.
func (o *overlay) put(entry producers.Entry) {
	e := o.entries[entry.ProducerID]
	if e == nil {
		e = o.take()
		o.entries[entry.ProducerID] = e
	}
	e.entry = entry
	e.pending++
}

// settled says that one pending batch of the producer is in the log's table now.
func (o *overlay) settled(producerID int64) {
	e := o.entries[producerID]
	if e == nil {
		return
	}
	e.pending--
	if e.pending == 0 {
		delete(o.entries, producerID)
		o.free = append(o.free, e)
	}
}

// clear forgets every pending batch.
func (o *overlay) clear() { clear(o.entries) }

func (o *overlay) take() *overlaid {
	if o.entries == nil {
		o.entries = map[int64]*overlaid{}
	}
	n := len(o.free)
	if n == 0 {
		return new(overlaid)
	}
	e := o.free[n-1]
	o.free = o.free[:n-1]
	*e = overlaid{}
	return e
}
