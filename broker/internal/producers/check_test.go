package producers

import (
	"errors"
	"math"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/twmb/franz-go/pkg/kerr"
)

const transactional = 0x10

func data(epoch int16, sequence, count int32) record.Header {
	return record.Header{ProducerID: 7, ProducerEpoch: epoch, BaseSequence: sequence, LastOffsetDelta: count - 1, Count: count, MaxTimestamp: 100}
}

func inTransaction(h record.Header) record.Header {
	h.Attributes |= transactional
	return h
}

// written is an entry after batches of ten records, the first at sequence first.
func written(epoch int16, first int32, batches int) Entry {
	e := New(7)
	for i := range batches {
		e = e.Next(data(epoch, record.AddSequence(first, int32(10*i)), 10), int64(1000+10*i))
	}
	return e
}

func code(t *testing.T, err error) int16 {
	t.Helper()
	if err == nil {
		return 0
	}
	var r *record.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r.Code
}

func TestCheckDecidesAsKafkaDoes(t *testing.T) {
	gap, old := kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidProducerEpoch.Code
	open := written(1, 0, 1).Next(inTransaction(data(1, 10, 1)), 1010)
	for _, c := range []struct {
		name     string
		entry    Entry
		batch    record.Header
		code     int16
		original int64 // first offset when a duplicate
	}{
		{"next", written(1, 0, 2), data(1, 20, 3), 0, 0},
		{"an unknown producer may begin anywhere", New(7), data(3, 500, 1), 0, 0},
		{"a gap", written(1, 0, 2), data(1, 21, 1), gap, 0},
		{"a step back that is no duplicate", written(1, 0, 2), data(1, 19, 2), gap, 0},
		{"an older epoch (T16)", written(1, 0, 2), data(0, 20, 1), old, 0},
		{"an older epoch, even of known sequences", written(1, 0, 2), data(0, 10, 10), old, 0},
		{"a new epoch begins at 0 (T16)", written(1, 0, 2), data(2, 0, 1), 0, 0},
		{"a new epoch does not go on", written(1, 0, 2), data(2, 20, 1), gap, 0},
		{"the last batch again (T15)", written(1, 0, 2), data(1, 10, 10), 0, 1010},
		{"the fifth last again (T15)", written(1, 0, 9), data(1, 40, 10), 0, 1040},
		{"older than the last five (T15)", written(1, 0, 9), data(1, 30, 10), gap, 0},
		{"part of a known batch", written(1, 0, 2), data(1, 10, 9), gap, 0},
		{"wrap to 0 (T16)", written(1, math.MaxInt32-9, 1), data(1, 0, 1), 0, 0},
		{"no wrap to 1", written(1, math.MaxInt32-9, 1), data(1, 1, 1), gap, 0},
		{"wrap within a batch", written(1, math.MaxInt32-4, 1), data(1, 5, 1), 0, 0},
		{"a batch that wraps again", written(1, math.MaxInt32-4, 1), data(1, math.MaxInt32-4, 10), 0, 1000},
		{"only markers so far: 0", ended(1), data(1, 0, 1), 0, 0},
		{"only markers so far: not 5", ended(1), data(1, 5, 1), gap, 0},
		{"in the open transaction", open, inTransaction(data(1, 11, 1)), 0, 0},
		{"outside of the open transaction", open, data(1, 11, 1), kerr.InvalidTxnState.Code, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.entry
			v, err := c.entry.Check(c.batch)
			if code(t, err) != c.code {
				t.Fatalf("got %v, want code %d", err, c.code)
			}
			if v.Duplicate != (c.original > 0) || v.Duplicate && v.Original.FirstOffset() != c.original {
				t.Fatalf("got %+v, want the original at %d", v, c.original)
			}
			if c.entry != before {
				t.Fatal("a check changed the entry")
			}
		})
	}
}

// ended is a producer of which only a marker is known.
func ended(epoch int16) Entry {
	e, _, _ := New(7).End(Marker{Epoch: epoch})
	return e
}

// R-K32: a refused batch leaves no trace, so the rightful owner goes on.
func TestARefusedBatchChangesNothing(t *testing.T) {
	e := written(1, 0, 1).Next(inTransaction(data(1, 10, 1)), 1010)
	for _, refused := range []record.Header{data(2, 20, 1), data(0, 11, 1), data(1, 12, 1), data(1, 11, 1)} {
		if _, err := e.Check(refused); err == nil {
			t.Fatalf("%+v was not refused", refused)
		}
	}
	if _, err := e.Check(inTransaction(data(1, 11, 1))); err != nil {
		t.Fatal(err)
	}
}

func TestMarkersOfOldCoordinatorsAreRefused(t *testing.T) {
	e, _, _ := written(1, 0, 1).End(Marker{Epoch: 1, CoordinatorEpoch: 5})
	for _, c := range []struct {
		m    Marker
		code int16
	}{
		{Marker{Epoch: 1, CoordinatorEpoch: 5}, 0},
		{Marker{Epoch: 2, CoordinatorEpoch: 6}, 0},
		{Marker{Epoch: 1, CoordinatorEpoch: 4}, kerr.TransactionCoordinatorFenced.Code},
		{Marker{Epoch: 0, CoordinatorEpoch: 5}, kerr.InvalidProducerEpoch.Code},
	} {
		if got := code(t, e.CheckMarker(c.m)); got != c.code {
			t.Errorf("%+v: got %d, want %d", c.m, got, c.code)
		}
	}
}

// R-K28: while a transaction is open its end of version 2 has a higher epoch; behind it the same may come again.
func TestRaisedMarkers(t *testing.T) {
	open := written(1, 0, 1).Next(inTransaction(data(1, 10, 1)), 1010)
	ended, _, _ := open.End(Marker{Epoch: 2, CoordinatorEpoch: 5})
	for _, c := range []struct {
		e     Entry
		epoch int16
		code  int16
	}{
		{open, 0, kerr.InvalidProducerEpoch.Code}, {open, 1, kerr.InvalidProducerEpoch.Code}, {open, 2, 0},
		{ended, 1, kerr.InvalidProducerEpoch.Code}, {ended, 2, 0}, {ended, 3, 0},
	} {
		if got := code(t, c.e.CheckRaised(Marker{Epoch: c.epoch, CoordinatorEpoch: 5})); got != c.code {
			t.Errorf("epoch %d where %d is and a transaction is open: %t: got %d, want %d", c.epoch, c.e.Epoch, c.e.InTransaction(), got, c.code)
		}
	}
}

func TestSequencesOfABatchWrap(t *testing.T) {
	e := written(0, math.MaxInt32-4, 1)
	b, ok := e.Last()
	if !ok || b.FirstSequence() != math.MaxInt32-4 || b.LastSequence != 4 || b.FirstOffset() != 1000 {
		t.Fatalf("%+v", b)
	}
}
