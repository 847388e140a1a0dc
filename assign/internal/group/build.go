package group

import "slices"

// Builder groups members by their subscriptions.
type Builder struct {
	g *Group
	// stamp marks, by topic, the last subscription that named it.
	stamp   []int32
	turn    int32
	topics  []int32
	classes interner
}

// NewBuilder starts g, a group of the given number of members; base is Group.Base.
func NewBuilder(g *Group, arena *Arena, base []int32, members int) Builder {
	*g = Group{Arena: arena, Base: base, MemberClass: arena.Ints(members)}
	b := Builder{g: g}
	b.stamp = arena.Ints(len(base) - 1)
	b.topics = arena.Room(len(base) - 1)
	b.g.Topics = Lists{Start: arena.Room(2), Items: arena.Room(len(base) - 1)}
	b.g.Topics.Start = append(b.g.Topics.Start, 0)
	return b
}

// JoinAs puts member m into the class of another.
func (b *Builder) JoinAs(m, other int32) { b.g.MemberClass[m] = b.g.MemberClass[other] }

// Begin starts the subscription of a member that may be of a new class.
func (b *Builder) Begin() {
	b.turn++
	b.topics = b.topics[:0]
}

// Subscribe adds a topic to it; one without partitions, or named twice, adds nothing.
func (b *Builder) Subscribe(t int32) {
	if b.stamp[t] == b.turn || b.g.Count(t) == 0 {
		return
	}
	b.stamp[t] = b.turn
	b.topics = append(b.topics, t)
}

// End puts member m into the class of the topics named since Begin.
func (b *Builder) End(m int32) {
	if !slices.IsSorted(b.topics) {
		b.sort()
	}
	b.g.MemberClass[m] = b.find()
}

// sort sorts the topics named since Begin; where they are many of all there are, by
// going over all.
func (b *Builder) sort() {
	if len(b.topics) < len(b.stamp)/16 {
		slices.Sort(b.topics)
		return
	}
	n, topics := 0, b.topics[:len(b.stamp)]
	for t, stamp := range b.stamp {
		topics[n] = int32(t) // without a branch, which would be a guess each time
		if stamp == b.turn {
			n++
		}
	}
}

func (b *Builder) find() int32 {
	class, fresh := b.classes.find(b.topics, b.g.Topics.Of)
	if fresh {
		b.g.Topics.Items = append(Extend(b.g.Topics.Items, len(b.topics)), b.topics...)
		b.g.Topics.Start = append(b.g.Topics.Start, int32(len(b.g.Topics.Items)))
	}
	return class
}

// Group finishes: it groups the topics by who subscribes to them.
func (b *Builder) Group() *Group {
	g := b.g
	g.Members = g.Invert(g.MemberClass, g.Topics.Len())
	subscribers := g.subscribersByTopic()
	first := g.classifyTopics(subscribers)
	g.ClassTopics = g.Invert(g.TopicClass, len(first))
	g.Subscribers = g.pick(subscribers, first)
	return g
}

// subscribersByTopic lists the member classes of every topic.
func (g *Group) subscribersByTopic() Lists {
	topics := len(g.Base) - 1
	l := Lists{Start: g.Ints(topics + 1), Items: g.Ints(len(g.Topics.Items))}
	for _, t := range g.Topics.Items {
		l.Start[t+1]++
	}
	Accumulate(l.Start)
	for c := range int32(g.Topics.Len()) {
		for _, t := range g.Topics.Of(c) {
			l.Items[l.Start[t]] = c
			l.Start[t]++
		}
	}
	rewind(l.Start)
	return l
}

// classifyTopics fills TopicClass and returns the first topic of each class.
func (g *Group) classifyTopics(subscribers Lists) (first []int32) {
	g.TopicClass = g.Ints(subscribers.Len())
	first = g.Room(1)
	var classes interner
	for t := range g.TopicClass {
		s := subscribers.Of(int32(t))
		if len(s) == 0 {
			g.TopicClass[t] = None
			continue
		}
		c, fresh := classes.find(s, func(c int32) []int32 { return subscribers.Of(first[c]) })
		if fresh {
			first = append(first, int32(t))
		}
		g.TopicClass[t] = c
	}
	return first
}

// pick returns the named lists of l.
func (g *Group) pick(l Lists, which []int32) Lists {
	out := Lists{Start: append(g.Room(len(which)+1), 0)}
	n := 0
	for _, i := range which {
		n += len(l.Of(i))
	}
	out.Items = g.Room(n)
	for _, i := range which {
		out.Items = append(out.Items, l.Of(i)...)
		out.Start = append(out.Start, int32(len(out.Items)))
	}
	return out
}

// interner numbers lists: equal lists have one number. It knows only hashes,
// the lists themselves lie with its user.
type interner struct {
	count  int32
	last   int32    // the number given out last, the likeliest next
	first  uint64   // hash of number 0, while it is the only one
	hashes []uint64 // of each number
	// slots is a hash table of 1 more than the numbers, never more than half full.
	slots []int32
}

// find returns the number of list, and whether it is a fresh one; at returns
// the list of an older number.
func (n *interner) find(list []int32, at func(int32) []int32) (number int32, fresh bool) {
	switch {
	case n.count == 0:
		n.first = hash(list)
		n.count = 1
		return 0, true
	case slices.Equal(at(n.last), list):
		return n.last, false
	case n.slots == nil:
		n.hashes = append(n.hashes, n.first)
	}
	if 2*len(n.hashes) >= len(n.slots) {
		n.grow()
	}
	h := hash(list)
	slot := n.slot(h)
	for ; n.slots[slot] > 0; slot = n.slot(slot + 1) {
		if i := n.slots[slot] - 1; n.hashes[i] == h && slices.Equal(at(i), list) {
			n.last = i
			return i, false
		}
	}
	n.last = n.count
	n.count++
	n.hashes = append(n.hashes, h)
	n.slots[slot] = n.count
	return n.last, true
}

func (n *interner) slot(h uint64) uint64 { return h & uint64(len(n.slots)-1) }

// grow makes room for twice as many numbers.
func (n *interner) grow() {
	const few = 64
	n.slots = make([]int32, max(2*len(n.slots), few))
	n.hashes = slices.Grow(n.hashes, len(n.slots)/2-len(n.hashes))
	for i, h := range n.hashes {
		slot := n.slot(h)
		for n.slots[slot] > 0 {
			slot = n.slot(slot + 1)
		}
		n.slots[slot] = int32(i) + 1
	}
}

// hash mixes a list of numbers; lists with equal hashes are still compared.
func hash(list []int32) uint64 {
	h := uint64(len(list))
	for _, x := range list {
		h = (h ^ uint64(x)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}
