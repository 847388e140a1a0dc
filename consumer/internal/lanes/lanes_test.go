package lanes

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestASlowKeyHoldsUpNoOther(t *testing.T) {
	var q Queue[string]
	p := Partition{Topic: "orders"}
	for offset, key := range []string{"a", "a", "b", "a", "c", "b"} {
		q.Add(p, int64(offset), []byte(key), false, key)
	}
	slow, _ := q.Next()
	var order []int64
	for {
		item, ok := q.Next()
		if !ok {
			break
		}
		order = append(order, item.Offset)
		q.Done(item)
	}
	if want := []int64{2, 4, 5}; !slices.Equal(order, want) {
		t.Errorf("while 0 of a was slow: %v, want %v", order, want)
	}
	q.Done(slow)
	if next, ok := q.Next(); !ok || next.Offset != 1 {
		t.Errorf("then came %d, %v", next.Offset, ok)
	}
}

func TestRecordsThatAreAloneWaitForNone(t *testing.T) {
	var q Queue[int]
	for offset := range int64(3) {
		q.Add(Partition{}, offset, nil, true, 0)
	}
	for want := range int64(3) {
		if item, ok := q.Next(); !ok || item.Offset != want {
			t.Errorf("got %d %v, want %d", item.Offset, ok, want)
		}
	}
}

// TestACutLeavesNoHole: what is before a record that was begun is worked on, what is behind all of them is not.
func TestACutLeavesNoHole(t *testing.T) {
	var q Queue[int]
	p, other := Partition{Topic: "a"}, Partition{Topic: "b"}
	for offset, key := range []string{"a", "a", "b", "a", "c"} {
		q.Add(p, int64(offset), []byte(key), false, 0)
		q.Add(other, int64(offset), []byte(key), false, 0)
	}
	first, _ := q.Next() // 0 of a, of both partitions
	q.Next()
	second, _ := q.Next() // 2 of b
	if n, begun := q.Cut(p); n != 2 || begun != 2 || q.Pending(p) != 3 || q.Pending(other) != 5 {
		t.Errorf("%d cut, begun %d, pending %d and %d", n, begun, q.Pending(p), q.Pending(other))
	}
	q.Done(first)
	q.Done(second)
	for item, ok := q.Next(); ok; item, ok = q.Next() {
		if item.Partition() == p && item.Offset > 2 {
			t.Errorf("%d was cut and is worked on", item.Offset)
		}
		q.Done(item)
	}
	if q.Pending(p) != 0 {
		t.Errorf("%d pending", q.Pending(p))
	}
}

// TestWhatIsClearedIsGoneButForWhatIsUnderWay also has records that are alone.
func TestWhatIsClearedIsGoneButForWhatIsUnderWay(t *testing.T) {
	var q Queue[int]
	p := Partition{Topic: "a"}
	for offset := range int64(6) {
		q.Add(p, offset, []byte{'k'}, offset%2 == 1, 0)
	}
	item, _ := q.Next()
	if n := q.Clear(p); n != 5 || q.Pending(p) != 1 || item.Abandoned() {
		t.Errorf("%d cleared, %d pending", n, q.Pending(p))
	}
	q.Done(item)
	if next, ok := q.Next(); ok || q.Pending(p) != 0 {
		t.Errorf("%d is worked on, %d pending", next.Offset, q.Pending(p))
	}
}

func TestWhatIsForgottenIsNotWorkedOn(t *testing.T) {
	var q Queue[int]
	p := Partition{Topic: "a"}
	for offset := range int64(4) {
		q.Add(p, offset, []byte{byte(offset % 2)}, false, 0)
	}
	item, _ := q.Next()
	q.Forget(p)
	if !item.Abandoned() {
		t.Error("a record under way does not know that it was abandoned")
	}
	q.Done(item)
	if next, ok := q.Next(); ok {
		t.Errorf("%d is worked on", next.Offset)
	}
	q.Add(p, 0, []byte{0}, false, 0) // it has come back
	if next, ok := q.Next(); !ok || next.Abandoned() || q.Pending(p) != 1 {
		t.Errorf("%+v %v, %d pending", next, ok, q.Pending(p))
	}
}

// trial is a queue beside what it has seen, by partition and by partition and key.
type trial struct {
	q        Queue[byte]
	next     map[Partition]int64
	pending  map[Partition]int
	added    map[string][]int64
	begun    map[string][]int64
	underWay map[string]Item[byte]
}

func name(p Partition, key byte) string { return fmt.Sprint(p, " ", key) }

func partitions() []Partition {
	return []Partition{{Topic: "a"}, {Topic: "a", Partition: 1}, {Topic: "b"}}
}

// TestEveryLaneKeepsItsOrder: whoever takes, ends and cuts, a lane has one record under way at most, all of them come, in order, and there is
// never nothing ready while a lane has records and none is under way.
func TestEveryLaneKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &trial{
			next: map[Partition]int64{}, pending: map[Partition]int{},
			added: map[string][]int64{}, begun: map[string][]int64{}, underWay: map[string]Item[byte]{},
		}
		t.Repeat(rapid.StateMachineActions(x))
		for len(x.underWay) > 0 || x.take(t) {
			for x.take(t) {
			}
			for _, lane := range sorted(x.underWay) {
				x.end(lane)
			}
		}
		for lane, added := range x.added {
			if !slices.Equal(x.begun[lane], added) {
				t.Fatalf("of %s were worked on %v, of %v", lane, x.begun[lane], added)
			}
		}
	})
}

func (x *trial) Add(t *rapid.T) {
	p, key := rapid.SampledFrom(partitions()).Draw(t, "partition"), rapid.Byte().Draw(t, "key")%3
	x.q.Add(p, x.next[p], []byte{key}, false, key)
	x.added[name(p, key)] = append(x.added[name(p, key)], x.next[p])
	x.next[p]++
	x.pending[p]++
}

func (x *trial) Take(t *rapid.T) { x.take(t) }

func (x *trial) take(t *rapid.T) bool {
	item, ok := x.q.Next()
	if !ok {
		return false
	}
	lane := name(item.Partition(), item.Value)
	if _, busy := x.underWay[lane]; busy {
		t.Fatalf("%s has two records under way", lane)
	}
	x.underWay[lane] = item
	x.begun[lane] = append(x.begun[lane], item.Offset)
	return true
}

func (x *trial) End(t *rapid.T) {
	if len(x.underWay) == 0 {
		t.Skip("nothing is under way")
	}
	x.end(rapid.SampledFrom(sorted(x.underWay)).Draw(t, "lane"))
}

func (x *trial) end(lane string) {
	item := x.underWay[lane]
	delete(x.underWay, lane)
	x.pending[item.Partition()]--
	x.q.Done(item)
}

func (x *trial) Cut(t *rapid.T) {
	p := rapid.SampledFrom(partitions()).Draw(t, "partition")
	n, begun := x.q.Cut(p)
	x.pending[p] -= n
	for key := range byte(3) {
		list := x.added[name(p, key)]
		kept := slices.DeleteFunc(slices.Clone(list), func(o int64) bool { return o > begun })
		n -= len(list) - len(kept)
		x.added[name(p, key)] = kept
	}
	if n != 0 {
		t.Fatalf("%d too many were said to be cut", n)
	}
	x.next[p] = min(x.next[p], begun+1)
}

func (x *trial) Check(t *rapid.T) {
	for lane, begun := range x.begun {
		if !slices.Equal(begun, x.added[lane][:len(begun)]) {
			t.Fatalf("%s was worked on as %v, of %v", lane, begun, x.added[lane])
		}
	}
	for _, p := range partitions() {
		if x.q.Pending(p) != x.pending[p] {
			t.Fatalf("%v has %d pending, want %d", p, x.q.Pending(p), x.pending[p])
		}
	}
}

func sorted(m map[string]Item[byte]) (names []string) {
	for lane := range m {
		names = append(names, lane)
	}
	slices.Sort(names)
	return names
}
