package assign

import (
	"iter"
	"slices"
)

// Plan says who gets what. It is kept in columns, not in maps: a plan for a
// million partitions is three flat slices, and becomes SyncGroup bytes without
// anything between. Members are named by their position in Input.Members; of
// each, topics are in order of their names and partitions ascending.
//
// A Plan is immutable and may be shared. The slices it hands out are its own:
// they must not be written to.
type Plan struct {
	topics     []string
	partitions []int32
	// shares holds two numbers for each member's part of each topic: the topic, and
	// where its partitions start; they end where those of the next start. One more
	// closes the last.
	shares []int32
	// members holds two numbers for each member: its first share and the one after its last.
	members []int32
	// userData is nil, or what each member gets for its assignor.
	userData [][]byte
}

// PlanOf builds the plan that gives member i lists[i]. It is for assignors of
// one's own; nothing is checked, see Check.
func PlanOf(lists [][]TopicPartitions) Plan {
	p := Plan{members: make([]int32, 2*len(lists))}
	index := map[string]int32{}
	for i, list := range lists {
		p.members[2*i] = int32(len(p.shares) / 2)
		for _, tp := range tidy(list) {
			p.add(index, tp)
		}
		p.members[2*i+1] = int32(len(p.shares) / 2)
	}
	p.shares = append(p.shares, 0, int32(len(p.partitions)))
	return p
}

func (p *Plan) add(index map[string]int32, tp TopicPartitions) {
	if len(tp.Partitions) == 0 {
		return
	}
	t, known := index[tp.Topic]
	if !known {
		t = int32(len(p.topics))
		index[tp.Topic] = t
		p.topics = append(p.topics, tp.Topic)
	}
	p.shares = append(p.shares, t, int32(len(p.partitions)))
	p.partitions = append(p.partitions, tp.Partitions...)
}

// WithUserData returns p with data[i] as what member i gets for its assignor.
func (p Plan) WithUserData(data [][]byte) Plan {
	p.userData = data
	return p
}

// Members returns how many members the plan is for.
func (p Plan) Members() int { return len(p.members) / 2 }

// sharesOf returns the range of shares of member i.
func (p *Plan) sharesOf(i int) (first, end int32) { return p.members[2*i], p.members[2*i+1] }

// Partitions returns how many partitions are given out in all.
func (p Plan) Partitions() int { return len(p.partitions) }

// Load returns how many partitions member i gets.
func (p Plan) Load(i int) int {
	first, end := p.sharesOf(i)
	return int(p.shares[2*int(end)+1] - p.shares[2*int(first)+1])
}

// UserData returns what member i gets for its assignor, usually nil.
func (p Plan) UserData(i int) []byte {
	if p.userData == nil {
		return nil
	}
	return p.userData[i]
}

// Of walks what member i gets, topic by topic.
func (p Plan) Of(i int) iter.Seq2[string, []int32] {
	return func(yield func(string, []int32) bool) {
		for s, end := p.sharesOf(i); s < end; s++ {
			if !yield(p.share(s)) {
				return
			}
		}
	}
}

func (p *Plan) share(s int32) (topic string, partitions []int32) {
	x := p.shares[2*int(s):][:4]
	return p.topics[x[0]], p.partitions[x[1]:x[3]:x[3]]
}

// List returns what member i gets as a list; nil for nothing.
func (p Plan) List(i int) []TopicPartitions {
	first, end := p.sharesOf(i)
	if first == end {
		return nil
	}
	list := make([]TopicPartitions, 0, end-first)
	for topic, partitions := range p.Of(i) {
		list = append(list, TopicPartitions{topic, partitions})
	}
	return list
}

// Map returns the plan as maps from member id to topic to partitions; members
// must be those that the plan was made for. At a million partitions it takes
// longer than planning: prefer Of, List or Encode.
func (p Plan) Map(members []Member) map[string]map[string][]int32 {
	out := make(map[string]map[string][]int32, len(members))
	for i := range members {
		s, end := p.sharesOf(i)
		topics := make(map[string][]int32, end-s)
		for ; s < end; s++ {
			topic, partitions := p.share(s)
			topics[topic] = partitions
		}
		out[members[i].ID] = topics
	}
	return out
}

// AppendAssignment appends the bytes that SyncGroup carries to member i.
func (p Plan) AppendAssignment(dst []byte, i int) []byte {
	s, end := p.sharesOf(i)
	dst = append(dst, byte(HighestVersion>>8), byte(HighestVersion))
	dst = appendInt32(dst, end-s)
	for ; s < end; s++ {
		topic, partitions := p.share(s)
		dst = appendPartitions(appendString(dst, topic), partitions)
	}
	return appendNullableBytes(dst, p.UserData(i))
}

// Encode returns the SyncGroup bytes of every member, in the order of
// Input.Members. They lie one behind the other in one piece of memory.
func (p Plan) Encode() [][]byte {
	size := 0
	for i := range p.Members() {
		size += p.assignmentSize(i)
	}
	buf := make([]byte, 0, size)
	out := make([][]byte, p.Members())
	for i := range out {
		from := len(buf)
		buf = p.AppendAssignment(buf, i)
		out[i] = slices.Clip(buf[from:])
	}
	return out
}

func (p Plan) assignmentSize(i int) int {
	n := 2 + 4 + 4 + len(p.UserData(i)) + 4*p.Load(i)
	for s, end := p.sharesOf(i); s < end; s++ {
		n += 2 + len(p.topics[p.shares[2*int(s)]]) + 4
	}
	return n
}
