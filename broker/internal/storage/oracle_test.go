package storage

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
)

// oracle is a log as simple as it can be: the batches that were given to Write, in
// order and without gaps from offset 0. Everything asked of it is computed from them.
type oracle []record.Batch

func (o oracle) end() int64 {
	if len(o) == 0 {
		return 0
	}
	return o[len(o)-1].Header().LastOffset() + 1
}

// upTo is the batches below an offset, which must not be inside of one.
func (o oracle) upTo(offset int64) oracle {
	n := slices.IndexFunc(o, func(b record.Batch) bool { return b.Header().BaseOffset >= offset })
	if n < 0 {
		return o
	}
	return o[:n:n]
}

// from is the batches that end at an offset or later.
func (o oracle) from(offset int64) oracle {
	n := slices.IndexFunc(o, func(b record.Batch) bool { return b.Header().LastOffset() >= offset })
	if n < 0 {
		return nil
	}
	return o[n:]
}

func (o oracle) bytes() []byte {
	var all []byte
	for _, b := range o {
		all = append(all, b...)
	}
	return all
}

func (o oracle) producers() (*producers.Table, []AbortedTxn) {
	t := new(producers.Table)
	var aborted []AbortedTxn
	for _, b := range o {
		m, ok := parseMarked(b, b.Header())
		if !ok {
			t.Apply(b.Header())
			continue
		}
		ended, stable, ok := t.ApplyMarker(b.Header().ProducerID, m.marker)
		if ok && ended.Aborted {
			aborted = append(aborted, AbortedTxn{ended.ProducerID, ended.FirstOffset, ended.LastOffset, stable})
		}
	}
	slices.SortFunc(aborted, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return t, aborted
}

func (o oracle) epochs(start int64) []epoch {
	var list []epoch
	for _, b := range o {
		h := b.Header()
		if h.LeaderEpoch >= 0 && (len(list) == 0 || h.LeaderEpoch > list[len(list)-1].epoch) {
			list = append(list, epoch{h.LeaderEpoch, h.BaseOffset})
		}
	}
	if start > 0 {
		list = trimEpochs(list, start)
	}
	return list
}

// places is every record from an offset on.
func (o oracle) places(t testing.TB, start int64) (all []Place) {
	var inflate record.Decompressors
	for _, b := range o.from(start) {
		h := b.Header()
		must(t, record.Walk(b, &inflate, func(r record.Record) bool {
			if at := h.BaseOffset + int64(r.OffsetDelta); at >= start {
				all = append(all, Place{at, r.Timestamp, h.LeaderEpoch})
			}
			return true
		}))
	}
	return all
}

// since is the first of the places that is not before a time.
func since(all []Place, time int64) (first Place, found bool) {
	i := slices.IndexFunc(all, func(p Place) bool { return p.Timestamp >= time })
	if i < 0 {
		return Place{}, false
	}
	return all[i], true
}

func newest(all []Place) (place Place, found bool) {
	for _, p := range all {
		if !found || p.Timestamp > place.Timestamp {
			place, found = p, true
		}
	}
	return place, found
}

// check compares a log with the batches that it should hold. The log may begin
// anywhere.
func (o oracle) check(t testing.TB, l *Log) {
	t.Helper()
	start, end := l.StartOffset(), l.EndOffset()
	expect(t, "end offset", end, o.end())
	if got, want := contents(t, l, start, 700), o.from(start).bytes(); !bytes.Equal(got, want) {
		t.Fatalf("from %d to %d the log has batches %v, want %v", start, end, bases(t, got), bases(t, want))
	}
	table, aborted := o.producers()
	if got, want := l.Producers(), table.All(); !slices.Equal(got, want) {
		t.Fatalf("producers are %+v\nwant %+v", got, want)
	}
	gotUnstable, _ := l.FirstUnstable()
	unstable, _ := table.FirstUnstable()
	expect(t, "first unstable offset", gotUnstable, unstable)
	o.checkAborted(t, l, aborted, start, end)
	// Recovery forgets the epoch of a log that was emptied, as Kafka does.
	if got, want := cutEpochs(*l.epochs.Load(), end), cutEpochs(o.epochs(start), end); !slices.Equal(got, want) {
		t.Fatalf("epochs are %v, want %v", got, want)
	}
	o.checkTimes(t, l, start)
}

func (o oracle) checkAborted(t testing.TB, l *Log, aborted []AbortedTxn, start, end int64) {
	t.Helper()
	for _, span := range []Range{{start, end}, {start, (start + end) / 2}, {(start + end) / 2, end}} {
		want := slices.DeleteFunc(slices.Clone(aborted), func(a AbortedTxn) bool {
			return a.LastOffset < span.From || a.FirstOffset >= span.To
		})
		got, err := l.AbortedTransactions(span.From, span.To)
		must(t, err)
		if !slices.Equal(got, want) {
			t.Fatalf("aborted transactions of %v are %+v\nwant %+v", span, got, want)
		}
	}
}

func (o oracle) checkTimes(t testing.TB, l *Log, start int64) {
	t.Helper()
	all := o.places(t, start)
	at, found, err := l.MaxTimestamp(l.EndOffset())
	must(t, err)
	want, wanted := newest(all)
	if found != wanted || at != want {
		t.Fatalf("largest timestamp is at %+v (%v), want %+v (%v)", at, found, want, wanted)
	}
	for time := int64(0); time <= want.Timestamp+1; time += 1 + want.Timestamp/7 {
		at, found, err := l.OffsetForTime(time, l.EndOffset())
		must(t, err)
		if want, wanted := since(all, time); found != wanted || at != want {
			t.Fatalf("time %d is at %+v (%v), want %+v (%v)", time, at, found, want, wanted)
		}
	}
}
