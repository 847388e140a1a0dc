package spread

import (
	"math"

	"github.com/skeinstream/skein/assign/internal/group"
)

// change is one more or one less of a pair, or where pair is negative of the load
// of member ^pair.
type change struct {
	pair, by int32
}

// turn carries out the round through v, as often as it wins.
func (t *table) turn(v int32) {
	var room [4 * (mostNodes + 1)]change
	changes := room[:0]
	for u := v; ; {
		from := t.before[u]
		changes = t.changes(changes, int(from), int(u))
		if u = from; u == v {
			break
		}
	}
	n := t.times(changes)
	for _, c := range changes {
		if c.pair >= 0 {
			t.has[c.pair] += c.by * n
		} else {
			t.load[^c.pair] += c.by
		}
	}
}

// changes appends what one step changes.
func (t *table) changes(list []change, from, to int) []change {
	over := t.over[from*(t.nodes+1)+to]
	give, take := int32(from*t.nodeStep)+over*int32(t.aStep), int32(to*t.nodeStep)+over*int32(t.aStep)
	switch {
	case from == t.nodes && t.membersAreNodes:
		return append(list, change{^int32(to), -1})
	case to == t.nodes && t.membersAreNodes:
		return append(list, change{^int32(from), 1})
	case from == t.nodes:
		return append(list, change{take, 1}, change{^over, 1})
	case to == t.nodes:
		return append(list, change{give, -1}, change{^over, -1})
	}
	return append(list, change{give, -1}, change{take, 1})
}

// times returns how often the changes may be made before they stop winning: prices
// must stay as they are, and every time each change costs 2 more.
func (t *table) times(changes []change) int32 {
	squares, each, most := int64(0), int64(0), int64(math.MaxInt32)
	for _, c := range changes {
		if c.pair < 0 {
			return 1
		}
		squares += 1 + 2*int64(t.has[c.pair]*c.by)
		each += 2
		most = min(most, t.samePrice(c))
	}
	return int32(max(1, min(most, (each-1-squares)/each)))
}

// samePrice returns how often the pair can change so at one price.
func (t *table) samePrice(c change) int64 {
	has, own := t.has[c.pair], t.own[c.pair]
	switch {
	case c.by > 0 && has < own:
		return int64(own - has)
	case c.by > 0:
		return math.MaxInt32
	case has > own:
		return int64(has - own)
	}
	return int64(has)
}

// realise gives every member as many partitions of every topic as the table says,
// what it owned first.
func (t *table) realise() {
	p := t.p
	for i, r := range t.runs {
		left := t.has[i*t.members : (i+1)*t.members]
		owner := p.Owner[r.From:r.To]
		for q, m := range p.Before[r.From:r.To] {
			owner[q] = group.None
			if m != group.None && left[m] > 0 {
				left[m]--
				owner[q] = m
			}
		}
		next := int32(0)
		for q := range owner {
			if owner[q] != group.None {
				continue
			}
			for left[next] == 0 {
				next++
			}
			left[next]--
			owner[q] = next
		}
	}
}
