package acks

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheHoleIsWhereTheNextOwnerBegins(t *testing.T) { // FR-C9
	var tr Tracker
	for offset := range int64(8) {
		tr.Take(offset, 3)
	}
	if p, ok := tr.Point(); ok {
		t.Errorf("nothing is done, and %+v would be committed", p)
	}
	for _, offset := range []int64{1, 2, 3, 5, 6, 7} {
		tr.Ack(offset, "")
	}
	if p, ok := tr.Point(); ok {
		t.Errorf("0 is open, and %+v would be committed", p)
	}
	tr.Ack(0, "")
	if p, _ := tr.Point(); p != (Point{At: 4, LeaderEpoch: 3}) {
		t.Errorf("got %+v", p)
	}
	tr.Ack(4, "")
	if p, _ := tr.Point(); p != (Point{At: 8, LeaderEpoch: 3}) || tr.Len() != 0 {
		t.Errorf("got %+v with %d remembered", p, tr.Len())
	}
}

func TestThePointPassesOverOffsetsWithoutARecord(t *testing.T) {
	var tr Tracker
	tr.Take(5, 1)
	tr.Take(9, 2)
	tr.Ack(5, "")
	if p, _ := tr.Point(); p != (Point{At: 9, LeaderEpoch: 1}) {
		t.Errorf("got %+v", p)
	}
}

// TestTheEpochIsOfWhatIsDone: a point with the epoch of a later record would be taken for one that the log has lost.
func TestTheEpochIsOfWhatIsDone(t *testing.T) {
	var tr Tracker
	tr.Take(0, 1)
	tr.Take(1, 2)
	tr.Take(2, 3)
	tr.Ack(0, "")
	tr.Ack(2, "")
	if p, _ := tr.Point(); p.LeaderEpoch != 1 {
		t.Errorf("got %+v", p)
	}
}

func TestMetadataStaysUntilThereIsOther(t *testing.T) {
	var tr Tracker
	for offset := range int64(4) {
		tr.Take(offset, 0)
	}
	var got []string
	for _, ack := range []struct {
		offset   int64
		metadata string
	}{{0, "a"}, {1, ""}, {3, "d"}, {2, "c"}} {
		tr.Ack(ack.offset, ack.metadata)
		p, _ := tr.Point()
		got = append(got, p.Metadata)
	}
	if want := []string{"a", "a", "a", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatWasCutOffIsOpenNoMore(t *testing.T) {
	var tr Tracker
	for offset := range int64(6) {
		tr.Take(offset, 0)
	}
	tr.Ack(0, "")
	tr.Ack(4, "")
	tr.Cut(2)
	if tr.Open() != 2 || tr.Len() != 2 || tr.Ack(3, "") {
		t.Errorf("%d open, %d remembered", tr.Open(), tr.Len())
	}
	tr.Ack(2, "")
	tr.Ack(1, "")
	if p, _ := tr.Point(); p.At != 3 {
		t.Errorf("got %+v", p)
	}
	if !tr.Take(3, 0) {
		t.Error("what was cut off cannot be taken again")
	}
}

func TestACutTakesNoPointBack(t *testing.T) {
	var tr Tracker
	tr.Take(0, 0)
	tr.Take(5, 0)
	tr.Ack(0, "")
	before, _ := tr.Point()
	tr.Cut(2)
	if after, ok := tr.Point(); before.At != 5 || after != before || !ok {
		t.Errorf("from %+v to %+v", before, after)
	}
}

// record is one that the model knows.
type record struct {
	offset   int64
	epoch    int32
	done     bool
	metadata string
}

// model keeps every record there ever was, and looks at all of them.
type model []record

func (m model) point() (p Point, ok bool) {
	for i, r := range m {
		if !r.done {
			if ok {
				p.At = r.offset
			}
			return p, ok
		}
		p.At, p.LeaderEpoch, ok = m[i].offset+1, r.epoch, true
		if r.metadata != "" {
			p.Metadata = r.metadata
		}
	}
	return p, ok
}

func (m model) find(done bool) (offsets []int64) {
	for _, r := range m {
		if r.done == done {
			offsets = append(offsets, r.offset)
		}
	}
	return offsets
}

func (m model) at(offset int64) int {
	return slices.IndexFunc(m, func(r record) bool { return r.offset == offset })
}

// TestWhateverIsAcknowledgedThePointIsTheFirstOpenRecord compares with the model after every step.
func TestWhateverIsAcknowledgedThePointIsTheFirstOpenRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(rapid.StateMachineActions(new(trial))) })
}

// trial is a tracker beside its model.
type trial struct {
	tr    Tracker
	m     model
	next  int64
	epoch int32
}

func (x *trial) Take(t *rapid.T) {
	x.next += rapid.Int64Range(0, 3).Draw(t, "hole")
	x.epoch += rapid.Int32Range(0, 1).Draw(t, "newer")
	if !x.tr.Take(x.next, x.epoch) {
		t.Fatalf("%d was not taken", x.next)
	}
	x.m = append(x.m, record{offset: x.next, epoch: x.epoch})
	x.next++
}

func (x *trial) TakeWhatHasBeen(t *rapid.T) {
	if len(x.m) == 0 {
		t.Skip("nothing has")
	}
	if x.tr.Take(rapid.Int64Range(0, x.m[len(x.m)-1].offset).Draw(t, "offset"), x.epoch) {
		t.Fatal("it was taken twice")
	}
}

func (x *trial) Ack(t *rapid.T) {
	open := x.m.find(false)
	if len(open) == 0 {
		t.Skip("all done")
	}
	offset := rapid.SampledFrom(open).Draw(t, "offset")
	metadata := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "metadata")
	if !x.tr.IsOpen(offset) || !x.tr.Ack(offset, metadata) {
		t.Fatalf("%d is open, and was refused", offset)
	}
	x.m[x.m.at(offset)].done, x.m[x.m.at(offset)].metadata = true, metadata
}

func (x *trial) AckWhatIsNotOpen(t *rapid.T) {
	offset := rapid.Int64Range(-1, x.next+1).Draw(t, "offset")
	if i := x.m.at(offset); i >= 0 && !x.m[i].done {
		t.Skip("open")
	}
	if x.tr.IsOpen(offset) || x.tr.Ack(offset, "never") {
		t.Fatalf("%d is not open, and was taken", offset)
	}
}

func (x *trial) Cut(t *rapid.T) {
	open := x.m.find(false)
	if len(open) == 0 {
		t.Skip("all done")
	}
	after := rapid.Int64Range(open[0], x.next).Draw(t, "after")
	x.tr.Cut(after)
	x.m = slices.DeleteFunc(x.m, func(r record) bool { return r.offset > after })
	x.next = min(x.next, after+1)
}

func (x *trial) Check(t *rapid.T) {
	got, ok := x.tr.Point()
	if want, known := x.m.point(); ok != known || ok && got != want {
		t.Fatalf("point %+v %v, want %+v %v", got, ok, want, known)
	}
	open := x.m.find(false)
	if x.tr.Open() != len(open) {
		t.Fatalf("%d open, want %d", x.tr.Open(), len(open))
	}
	remembered := 0
	if len(open) > 0 {
		remembered = len(x.m) - x.m.at(open[0])
	}
	if x.tr.Len() != remembered || cap(x.tr.window) > 4*max(8, len(x.m)) {
		t.Fatalf("%d remembered in room for %d, want %d", x.tr.Len(), cap(x.tr.window), remembered)
	}
}

// TestMemoryIsOfWhatIsOpen: a partition that is read for ever takes no more of it.
func TestMemoryIsOfWhatIsOpen(t *testing.T) {
	var tr Tracker
	for offset := range int64(100_000) {
		tr.Take(offset, 0)
		if offset >= 64 {
			tr.Ack(offset-64, "")
		}
	}
	if cap(tr.window) > 512 {
		t.Errorf("room for %d records, of which 64 are open", cap(tr.window))
	}
}
