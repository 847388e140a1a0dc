// Package group is a consumer group in numbers. Members and topics are their
// places in a canonical order, partitions lie one topic behind the other, and
// who may have what is kept by classes: members with the same subscription are
// one member class, topics with the same subscribers one topic class. A group of
// thousands with equal subscriptions is one class on each side, so that what
// follows need not look at members or partitions one by one.
package group

// Group holds who may have what. Build makes one.
type Group struct {
	*Arena
	// Base[t] is the number of topic t's partition 0; the last element is the number
	// of all partitions.
	Base []int32
	// MemberClass is the class of each member; Members lists each class's members.
	MemberClass []int32
	Members     Lists
	// Topics lists the topics that the members of each member class subscribe to.
	Topics Lists
	// TopicClass is the class of each topic, None when nobody subscribes to it;
	// ClassTopics lists each class's topics.
	TopicClass  []int32
	ClassTopics Lists
	// Subscribers lists the member classes of each topic class.
	Subscribers Lists
}

// None stands for no member and no class.
const None int32 = -1

// Lists holds many short ascending lists in one piece: list i is
// Items[Start[i]:Start[i+1]].
type Lists struct {
	Start []int32
	Items []int32
}

// Of returns list i.
func (l Lists) Of(i int32) []int32 { return l.Items[l.Start[i]:l.Start[i+1]] }

// Len returns how many lists there are.
func (l Lists) Len() int { return len(l.Start) - 1 }

// Size returns the length of list i.
func (l Lists) Size(i int32) int32 { return l.Start[i+1] - l.Start[i] }

// Accumulate turns counts, where start[i+1] counts list i, into where lists start.
func Accumulate(start []int32) {
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
}

// rewind undoes the filling of lists through their own starts, which leaves
// every start where the next one was.
func rewind(start []int32) {
	copy(start[1:], start[:len(start)-1])
	start[0] = 0
}

// Partitions returns the number of all partitions, those that nobody wants included.
func (g *Group) Partitions() int32 { return g.Base[len(g.Base)-1] }

// Count returns the number of partitions of topic t.
func (g *Group) Count(t int32) int32 { return g.Base[t+1] - g.Base[t] }
