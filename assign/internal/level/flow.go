package level

import "github.com/skeinstream/skein/assign/internal/group"

// side says where a class lies relative to the block that is being found.
type side uint8

const (
	here side = iota
	lower
	upper
)

// flow is a flow from topic classes to member classes within one part; classes
// go by their position in it. The rows of arcs run by topic class.
type flow struct {
	p *Problem
	x part
	// position of each member class in the part, and the turn it was set in.
	position, seen []int32
	turn           int32

	start  []int32 // of each topic class's arcs
	member []int32 // an arc's member class
	topic  []int32 // and its topic class
	amount []int32 // and how many partitions it carries
	into   group.Lists

	left  []int32 // partitions of a topic class that are not placed
	room  []int32 // how many more a member class may take
	spare []int32 // how many it can give up, in the second run

	topicSide, memberSide []side
	search
}

func newFlow(p *Problem) *flow {
	n, arcs := len(p.Size), len(p.Subscribers.Items) // the first part has most of them
	return &flow{p: p, position: p.Ints(n), seen: p.Ints(n), member: p.Room(arcs), topic: p.Room(arcs), amount: p.Room(arcs)}
}

// begin takes up part x, with room for q partitions for each member.
func (f *flow) begin(x part, q int32) {
	f.x = x
	f.turn++
	nt, nm := len(x.topics), len(x.members)
	f.left, f.room, f.spare = resize(f.left, nt), resize(f.room, nm), resize(f.spare, nm)
	f.topicSide, f.memberSide = make([]side, nt), make([]side, nm)
	for i, c := range x.members {
		f.position[c], f.seen[c] = int32(i), f.turn
		f.room[i] = f.p.Size[c] * q
	}
	f.arcs()
	f.search.begin(f.start[:nt], f.into.Start[:nm])
}

// arcs lists the subscriptions within the part and starts with what is owned.
func (f *flow) arcs() {
	f.start = append(f.start[:0], 0)
	f.member, f.topic, f.amount = f.member[:0], f.topic[:0], f.amount[:0]
	for i, t := range f.x.topics {
		left := f.p.Supply[t]
		for a := f.p.Subscribers.Start[t]; a < f.p.Subscribers.Start[t+1]; a++ {
			c := f.p.Subscribers.Items[a]
			if f.seen[c] != f.turn {
				continue
			}
			m := f.position[c]
			owned := min(f.p.Owned[a], left, f.room[m])
			left -= owned
			f.room[m] -= owned
			f.member, f.topic, f.amount = append(f.member, m), append(f.topic, int32(i)), append(f.amount, owned)
		}
		f.left[i] = left
		f.start = append(f.start, int32(len(f.member)))
	}
	f.into = f.p.InvertInto(f.into, f.member, len(f.x.members))
}

// place puts what is left wherever there is room, beginning with another class for
// each topic class: what everybody needs to have one less than the most, an even
// share first, and then whatever fits.
func (f *flow) place() {
	for t := range f.left {
		first, n := f.start[t], f.start[t+1]-f.start[t]
		if f.left[t] == 0 || n == 0 {
			continue
		}
		turn := int32(uint32(t)*2654435761>>1) % n
		share := (f.left[t] + n - 1) / n
		for _, most := range [...]int32{share, f.left[t]} {
			f.placeRound(first, first+turn, first+n, most, 1)
		}
		f.placeRound(first, first+turn, first+n, f.left[t], 0)
	}
}

// placeRound puts some of one topic class with each arc, from turn on and around,
// and leaves room for spare with every member.
func (f *flow) placeRound(first, turn, end, most, spare int32) {
	for _, arcs := range [...][2]int32{{turn, end}, {first, turn}} {
		for a := arcs[0]; a < arcs[1] && f.left[f.topic[a]] > 0; a++ {
			m := f.member[a]
			if room := f.room[m] - spare*f.p.Size[f.x.members[m]]; room > 0 {
				f.put(a, min(most, f.left[f.topic[a]], room))
			}
		}
	}
}

func (f *flow) put(a, n int32) {
	f.amount[a] += n
	f.left[f.topic[a]] -= n
	f.room[f.member[a]] -= n
}

// markAbove marks what the last search of the first run reached: with q for
// each, it has too much.
func (f *flow) markAbove() {
	for t, d := range f.topicDepth {
		if d >= 0 {
			f.topicSide[t] = upper
		}
		f.left[t] = 0
	}
	for m, d := range f.memberDepth {
		if d >= 0 {
			f.memberSide[m] = upper
		}
	}
}

// levelFrom makes what is above low for each member spare, and what is missing
// to it room; it reports whether anything is missing.
func (f *flow) levelFrom(low int32) (short bool) {
	for m, c := range f.x.members {
		spare := f.p.Size[c] - f.room[m] // room was counted from low+1
		f.spare[m], f.room[m] = 0, 0
		switch {
		case f.memberSide[m] == upper:
		case spare > 0:
			f.spare[m] = spare
		case spare < 0:
			f.room[m] = -spare
			short = true
		}
	}
	return short
}

// markBelow marks the member classes that are still short, and everything that
// could give them something: nobody there has anything to spare.
func (f *flow) markBelow() {
	queue := f.queue[:0]
	for m, room := range f.room {
		if room > 0 {
			f.memberSide[m] = lower
			queue = append(queue, int32(m))
		}
	}
	for h := 0; h < len(queue); h++ {
		for _, a := range f.into.Of(queue[h]) {
			t := f.topic[a]
			if f.topicSide[t] != here {
				continue
			}
			f.topicSide[t] = lower
			for b := f.start[t]; b < f.start[t+1]; b++ {
				if m := f.member[b]; f.amount[b] > 0 && f.memberSide[m] == here {
					f.memberSide[m] = lower
					queue = append(queue, m)
				}
			}
		}
	}
	f.queue = queue
}

func resize(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	s = s[:n]
	clear(s)
	return s
}
