package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skeinstream/skein/assign/internal/group"
)

// maxPartitions keeps every sum of the solver inside 32 bits.
const maxPartitions = 1 << 30

// index is an Input in numbers: members and topics by their place in the
// canonical order, on which no plan depends otherwise.
type index struct {
	*group.Group
	in Input
	// order[place] is the member's position in in.Members, topicAt[place] the
	// topic's in in.Topics.
	order, topicAt []int32
	names          []string
	place          map[string]int32 // topic name to place, where there are many
	// What the fields above and the result of settle point to: one piece of memory for
	// all of them, since small groups are planned for faster than pieces are found.
	arena  group.Arena
	group  group.Group
	claims claims
	byte   byte // what fetching read; nobody looks at it
}

func newIndex(in Input) (*index, error) {
	x := &index{in: in}
	x.arena.Expect(x.lists())
	if err := x.orderMembers(); err != nil {
		return nil, err
	}
	base, err := x.orderTopics()
	if err != nil {
		return nil, err
	}
	x.subscribe(base)
	return x, nil
}

// lists is about how many numbers the lists of a small plan have in all.
func (x *index) lists() int {
	const eachMember, eachTopic, eachPartition = 40, 20, 5
	n := eachMember*len(x.in.Members) + eachTopic*len(x.in.Topics)
	for t := range x.in.Topics {
		n += eachPartition * int(max(x.in.Topics[t].Partitions, 0))
	}
	return n
}

func (x *index) member(place int32) *Member { return &x.in.Members[x.order[place]] }

func (x *index) topic(place int32) *Topic { return &x.in.Topics[x.topicAt[place]] }

// orderMembers puts static members first, by instance id, then all others by
// member id (R-A3, KIP-345): a static member that restarts under a new member
// id keeps its place.
func (x *index) orderMembers() error {
	x.order = x.arena.Positions(len(x.in.Members))
	slices.SortFunc(x.order, func(a, b int32) int { return compareMembers(&x.in.Members[a], &x.in.Members[b]) })
	return x.checkIDs()
}

// checkIDs wants every member id once.
func (x *index) checkIDs() error {
	byID := x.order
	if len(byID) > 0 && x.member(0).InstanceID != "" { // the order is not that of the ids alone
		byID = slices.Clone(x.order)
		slices.SortFunc(byID, func(a, b int32) int { return strings.Compare(x.in.Members[a].ID, x.in.Members[b].ID) })
	}
	for i := 1; i < len(byID); i++ {
		if id := x.in.Members[byID[i]].ID; id == x.in.Members[byID[i-1]].ID {
			return fmt.Errorf("%w: %q", ErrDuplicateMember, id)
		}
	}
	return nil
}

func compareMembers(a, b *Member) int {
	if (a.InstanceID != "") != (b.InstanceID != "") {
		if a.InstanceID != "" {
			return -1
		}
		return 1
	}
	if a.InstanceID != b.InstanceID {
		return compareUTF16(a.InstanceID, b.InstanceID)
	}
	return compareUTF16(a.ID, b.ID)
}

// compareUTF16 orders strings as Java does, by UTF-16 units. That is the order
// of the bytes, except that code points beyond 16 bits (whose UTF-8 begins with
// 0xf0 or more) are surrogates there and come before 0xe000 to 0xffff (which
// begin with 0xee or 0xef).
func compareUTF16(a, b string) int {
	n, i := min(len(a), len(b)), 0
	for i+8 <= n && a[i:i+8] == b[i:i+8] {
		i += 8 // ids mostly begin alike
	}
	for ; i < n; i++ {
		if x, y := a[i], b[i]; x != y {
			if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
				return cmp.Compare(y, x)
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// fewTopics are found faster by halving than through a map, and one of the next
// fewNames by looking.
const (
	fewTopics = 16
	fewNames  = 4
)

// orderTopics puts topics in the order of their names.
func (x *index) orderTopics() (base []int32, err error) {
	x.topicAt = x.arena.Positions(len(x.in.Topics))
	byName := func(a, b int32) int { return strings.Compare(x.in.Topics[a].Name, x.in.Topics[b].Name) }
	if !slices.IsSortedFunc(x.topicAt, byName) {
		slices.SortFunc(x.topicAt, byName)
	}
	x.names = make([]string, len(x.topicAt))
	if len(x.topicAt) > fewTopics {
		x.place = make(map[string]int32, len(x.topicAt))
	}
	base = x.arena.Ints(len(x.topicAt) + 1)
	var n int64
	for t := range x.topicAt {
		topic := x.topic(int32(t))
		if x.names[t] = topic.Name; t > 0 && x.names[t-1] == topic.Name {
			return nil, ErrDuplicateTopic
		}
		if x.place != nil {
			x.place[topic.Name] = int32(t)
		}
		if n += int64(max(topic.Partitions, 0)); n > maxPartitions {
			return nil, fmt.Errorf("%w: more than %d", ErrTooLarge, maxPartitions)
		}
		base[t+1] = int32(n)
	}
	return base, nil
}

// subscribe groups the members by what they subscribe to. Most have the list of
// the one before them, so that names are looked up once a class, not once a member.
func (x *index) subscribe(base []int32) {
	b := group.NewBuilder(&x.group, &x.arena, base, len(x.order))
	var seen alike
	near := int32(0) // where the first topic of the last list was found
	for m := range int32(len(x.order)) {
		if m%fetched == 0 {
			x.fetchMembers(m)
		}
		topics := x.member(m).Topics
		if m > 0 && sameNames(topics, x.member(m-1).Topics) {
			b.JoinAs(m, m-1)
			continue
		}
		if m > 0 && len(topics) > fewNames {
			if seen.last == nil {
				seen = alike{last: map[outline]int32{}, before: x.arena.Nones(len(x.order))}
				seen.add(outlineOf(x.member(0).Topics), 0)
			}
			look := outlineOf(topics)
			if twin, found := seen.find(look, func(o int32) bool { return sameNames(topics, x.member(o).Topics) }); found {
				b.JoinAs(m, twin)
				continue
			}
			seen.add(look, m)
		}
		b.Begin()
		near = x.eachTopic(topics, near, &b)
		b.End(m)
	}
	x.Group = b.Group()
}

// alike holds members with lists of their own by the outlines of these.
type alike struct {
	last   map[outline]int32 // the last member of each outline
	before []int32           // and of each member, the one before with the same
}

func (a *alike) add(look outline, m int32) {
	if o, seen := a.last[look]; seen {
		a.before[m] = o
	}
	a.last[look] = m
}

func (a *alike) find(look outline, same func(int32) bool) (member int32, found bool) {
	o, seen := a.last[look]
	for ; seen && o != group.None; o = a.before[o] {
		if same(o) {
			return o, true
		}
	}
	return group.None, false
}

// outline is what a list of names shows at a glance.
type outline struct {
	length      int
	first, last string
}

func outlineOf(names []string) outline {
	if len(names) == 0 {
		return outline{}
	}
	return outline{len(names), names[0], names[len(names)-1]}
}

// sameNames reports whether two lists are equal; lists decoded together are one.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// eachTopic subscribes to every known topic of a list; near is where the first is
// looked for, and then where it was found.
func (x *index) eachTopic(names []string, near int32, b *group.Builder) int32 {
	next, first := near, near
	for i, name := range names {
		if i%fetched == 0 {
			x.fetchNames(names[i:min(i+fetched, len(names))])
		}
		if t, known := x.find(name, next); known {
			b.Subscribe(t)
			next = follow(next, t)
			if i == 0 {
				first, next = t, t+1
			}
		}
	}
	return first
}

// fetched is how many names are brought near at once. They lie all over the memory,
// and when one is looked up only after the other, most of the time is spent waiting
// for memory; reading a byte of each first waits for all of them together.
const fetched = 32

func (x *index) fetchNames(names []string) {
	for _, name := range names {
		if len(name) > 0 {
			x.byte ^= name[0]
		}
	}
}

// fetchMembers brings the first and the last name of the next lists near.
func (x *index) fetchMembers(m int32) {
	for _, at := range x.order[m:min(int(m)+fetched, len(x.order))] {
		if topics := x.in.Members[at].Topics; len(topics) > 0 {
			x.fetchNames(topics[:1])
			x.fetchNames(topics[len(topics)-1:])
		}
	}
}

// unordered is a hint for lists that are in no order.
const unordered int32 = 1 << 30

// follow returns the hint after a topic that was found.
func follow(hint, found int32) int32 {
	if found < hint {
		return unordered
	}
	return found + 1
}

// find returns the place of a topic; lists are mostly in order, so that hint,
// the place after the last one found, and a few behind it are tried first, and then
// the one before the last.
func (x *index) find(name string, hint int32) (int32, bool) {
	for i := hint; i < hint+fewNames && int(i) < len(x.names); i++ {
		if x.names[i] == name {
			return i, true
		}
	}
	if i := int(hint) - 2; i >= 0 && i < len(x.names) && x.names[i] == name {
		return int32(i), true
	}
	return x.lookUp(name)
}

// findAmong returns the place of a topic that is most likely among topics, those of a
// member, there next or soon after; after is where the one behind it is looked for.
func (x *index) findAmong(topics []int32, next int, name string) (place int32, after int, known bool) {
	for i, t := range topics[next:min(next+fewNames, len(topics))] {
		if x.names[t] == name {
			return t, next + i + 1, true
		}
	}
	if place, known = x.lookUp(name); !known {
		return place, next, false
	}
	if after, _ = slices.BinarySearch(topics, place+1); after < next {
		after = len(topics) // what the member has is in no order
	}
	return place, after, true
}

func (x *index) lookUp(name string) (int32, bool) {
	if x.place != nil {
		t, known := x.place[name]
		return t, known
	}
	t, known := slices.BinarySearch(x.names, name)
	return int32(t), known
}

// vacant returns an owner for every partition: nobody.
func (x *index) vacant() []int32 {
	return x.Nones(int(x.Partitions()))
}

// topicOf returns the topic of a partition.
func (x *index) topicOf(p int32) int32 {
	t, _ := slices.BinarySearch(x.Base, p+1)
	return int32(t - 1)
}
