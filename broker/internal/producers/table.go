package producers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skeinstream/skein/broker/internal/record"
)

// Table is every producer of one partition. The zero value is empty and ready.
// It may be used by one goroutine at a time.
type Table struct {
	entries map[int64]*Entry
	open    []open // transactions, by first offset
}

type open struct{ first, producerID int64 }

// Len is how many producers are known.
func (t *Table) Len() int { return len(t.entries) }

// Lookup returns what is known of a producer; when nothing is, that is New.
func (t *Table) Lookup(producerID int64) Entry {
	if e := t.entries[producerID]; e != nil {
		return *e
	}
	return New(producerID)
}

// All returns a copy of every entry, by producer id.
func (t *Table) All() []Entry {
	all := make([]Entry, 0, len(t.entries))
	for _, e := range t.sorted() {
		all = append(all, *e)
	}
	return all
}

func (t *Table) sorted() []*Entry {
	return slices.SortedFunc(maps.Values(t.entries), func(a, b *Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
}

// Apply takes in a data batch that stands in the log. What stands there was
// checked before, so nothing is checked. A batch without producer changes nothing.
func (t *Table) Apply(h record.Header) {
	if !h.HasProducer() || h.Control() {
		return
	}
	e := t.entry(h.ProducerID)
	opened := !e.InTransaction()
	*e = e.Next(h, h.BaseOffset)
	if opened && e.InTransaction() {
		t.begin(e.TxnFirstOffset, e.ProducerID)
	}
}

// Ends is what ApplyMarker will return, without the change.
func (t *Table) Ends(producerID int64, m Marker) (ended Ended, lastStable int64, ok bool) {
	if _, ended, ok = t.Lookup(producerID).End(m); !ok {
		return Ended{}, 0, false
	}
	for _, o := range t.open {
		if o.producerID != producerID {
			return ended, o.first, true
		}
	}
	return ended, m.Offset + 1, true
}

// ApplyMarker takes in a transaction marker that stands in the log. It returns
// the transaction that the marker ends and the first offset that is still
// unstable right after it, which the transaction index keeps; ok is false when
// no transaction was open.
func (t *Table) ApplyMarker(producerID int64, m Marker) (ended Ended, lastStable int64, ok bool) {
	ended, lastStable, ok = t.Ends(producerID, m)
	e := t.entry(producerID)
	*e, _, _ = e.End(m)
	if ok {
		t.open = slices.DeleteFunc(t.open, func(o open) bool { return o.producerID == producerID })
	}
	return ended, lastStable, ok
}

// FirstUnstable is the first offset of the oldest open transaction; ok is false
// when none is open.
func (t *Table) FirstUnstable() (offset int64, ok bool) {
	if len(t.open) == 0 {
		return 0, false
	}
	return t.open[0].first, true
}

// FirstOpen is the producer of the oldest open transaction; ok is false when none is open.
func (t *Table) FirstOpen() (e Entry, ok bool) {
	if len(t.open) == 0 {
		return Entry{}, false
	}
	return t.Lookup(t.open[0].producerID), true
}

// Expire forgets the producers that have written nothing for ttl ms, never one
// whose transaction is open. It returns how many.
func (t *Table) Expire(now, ttl int64) int {
	before := len(t.entries)
	maps.DeleteFunc(t.entries, func(_ int64, e *Entry) bool {
		return !e.InTransaction() && now-e.LastTimestamp >= ttl
	})
	return before - len(t.entries)
}

func (t *Table) entry(producerID int64) *Entry {
	if e := t.entries[producerID]; e != nil {
		return e
	}
	if t.entries == nil {
		t.entries = map[int64]*Entry{}
	}
	e := New(producerID)
	t.entries[producerID] = &e
	return &e
}

// begin keeps the open transactions sorted; a new one is nearly always the last.
func (t *Table) begin(first, producerID int64) {
	at, _ := slices.BinarySearchFunc(t.open, first, func(o open, first int64) int { return cmp.Compare(o.first, first) })
	t.open = slices.Insert(t.open, at, open{first, producerID})
}
