package deal

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// releaser chooses which partitions members give up.
type releaser struct {
	// slot is, by member, 1 more than its place among those that give up
	// something of the source at hand.
	slot []int32
	// pool counts, by topic, what is free.
	pool []int32
	// held lists the partitions of those members, one behind the other.
	held, next []int32
	heaps      []heap
}

// fewHeaps is room for what a member has of so many topics.
const fewHeaps = 16

// heap is what one member has of one topic.
type heap struct {
	topic int32
	parts []int32
}

// release frees, of everything that members have of a source, what they cannot keep.
func (d *dealer) release(s int32) {
	p := d.p
	if d.slot == nil {
		d.slot, d.pool = p.Group.Ints(len(p.Hub)), p.Group.Ints(len(p.Base)-1)
		d.next = p.Group.Room(8)
	}
	d.next = append(d.next[:0], 0)
	for a := p.Owners.Start[s]; a < p.Owners.Start[s+1]; a++ {
		if p.Kept[a] < p.Owned[a] {
			d.slot[p.Owners.Items[a]] = int32(len(d.next))
			d.next = append(d.next, p.Owned[a])
		}
	}
	if len(d.next) == 1 {
		return
	}
	d.gather(s)
	from := int32(0)
	for a := p.Owners.Start[s]; a < p.Owners.Start[s+1]; a++ {
		m := p.Owners.Items[a]
		if d.slot[m] == 0 {
			continue
		}
		to := d.next[d.slot[m]-1]
		d.giveUp(d.held[from:to], int(p.Owned[a]-p.Kept[a]))
		from = to
		d.slot[m] = 0
	}
}

// gather fills held; next becomes where each member's partitions end.
func (d *dealer) gather(s int32) {
	group.Accumulate(d.next)
	total := int(d.next[len(d.next)-1])
	if cap(d.held) < total {
		d.held = d.p.Group.Ints(total)
	}
	d.held = d.held[:total]
	for _, r := range d.p.Sources.Of(s) {
		for p := r.From; p < r.To; p++ {
			m := d.p.Owner[p]
			if m == group.None {
				d.pool[r.Topic]++
			} else if slot := d.slot[m]; slot > 0 {
				d.held[d.next[slot-1]] = p
				d.next[slot-1]++
			}
		}
	}
}

// giveUp frees n of one member's partitions: always one of the topic it has most
// of, and where that leaves a choice, of the topics least of which is free.
func (d *dealer) giveUp(parts []int32, n int) {
	d.heap(parts)
	if n == 1 {
		d.freeLast(d.highest(), 1)
		return
	}
	slices.SortStableFunc(d.heaps, func(a, b heap) int { return cmp.Compare(len(b.parts), len(a.parts)) })
	level, tied, extra := cut(d.heaps, n)
	for _, h := range d.heaps[:tied] {
		d.freeLast(h, len(h.parts)-level)
	}
	top := d.heaps[:tied]
	slices.SortFunc(top, func(a, b heap) int { return cmp.Or(d.comparePools(a.topic, b.topic), cmp.Compare(a.topic, b.topic)) })
	for _, h := range top[:extra] {
		d.freeLast(heap{h.topic, h.parts[:level]}, 1)
	}
}

// highest returns the heap that the first partition is taken from: of those with
// the most, the one of the topic least of which is free.
func (d *dealer) highest() heap {
	best := d.heaps[0]
	for _, h := range d.heaps[1:] {
		if len(h.parts) > len(best.parts) || len(h.parts) == len(best.parts) && d.comparePools(h.topic, best.topic) < 0 {
			best = h
		}
	}
	return best
}

// heap sorts a member's partitions, which are in order, into heaps by topic.
func (d *dealer) heap(parts []int32) {
	if d.heaps == nil {
		d.heaps = make([]heap, 0, min(len(d.pool), fewHeaps))
	}
	d.heaps = d.heaps[:0]
	for len(parts) > 0 {
		t, exact := slices.BinarySearch(d.p.Base, parts[0])
		if exact {
			for d.p.Base[t+1] == d.p.Base[t] {
				t++ // topics without partitions
			}
		} else {
			t--
		}
		n, _ := slices.BinarySearch(parts, d.p.Base[t+1])
		d.heaps = append(d.heaps, heap{int32(t), parts[:n]})
		parts = parts[n:]
	}
}

// cut lowers the highest heaps until n are taken away: the first tied ones, in
// descending order, down to level, and extra of these once more.
func cut(heaps []heap, n int) (level, tied, extra int) {
	level = len(heaps[0].parts)
	for {
		for tied < len(heaps) && len(heaps[tied].parts) == level {
			tied++
		}
		below := 0
		if tied < len(heaps) {
			below = len(heaps[tied].parts)
		}
		if whole := (level - below) * tied; whole > n {
			return level - n/tied, tied, n % tied
		} else {
			n -= whole
		}
		if level = below; level == 0 {
			return 0, tied, 0
		}
	}
}

func (d *dealer) freeLast(h heap, n int) {
	for _, p := range h.parts[len(h.parts)-n:] {
		d.p.Owner[p] = group.None
	}
	d.pool[h.topic] += int32(n)
}

// comparePools orders topics by the part of them that is free.
func (d *dealer) comparePools(a, b int32) int {
	return cmp.Compare(int64(d.pool[a])*int64(d.p.Count(b)), int64(d.pool[b])*int64(d.p.Count(a)))
}
