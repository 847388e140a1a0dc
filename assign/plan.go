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
	shares     []share
	// members[i] is the range of shares of member i.
	members [][2]int32
	// userData is nil, or what each member gets for its assignor.
	userData [][]byte
}

// share is one member's part of one topic: partitions from start up to the
// start of the next share. One more share at the end closes the last.
type share struct{ topic, start int32 }

// PlanOf builds the plan that gives member i lists[i]. It is for assignors of
// one's own; nothing is checked, see Check.
func PlanOf(lists [][]TopicPartitions) Plan {
	p := Plan{members: make([][2]int32, len(lists))}
	index := map[string]int32{}
	for i, list := range lists {
		first := int32(len(p.shares))
		for _, tp := range tidy(list) {
			p.add(index, tp)
		}
		p.members[i] = [2]int32{first, int32(len(p.shares))}
	}
	p.shares = append(p.shares, share{start: int32(len(p.partitions))})
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
	p.shares = append(p.shares, share{t, int32(len(p.partitions))})
	p.partitions = append(p.partitions, tp.Partitions...)
}

// WithUserData returns p with data[i] as what member i gets for its assignor.
func (p Plan) WithUserData(data [][]byte) Plan {
	p.userData = data
	return p
}

// Members returns how many members the plan is for.
func (p Plan) Members() int { return len(p.members) }

// Partitions returns how many partitions are given out in all.
func (p Plan) Partitions() int { return len(p.partitions) }

// Load returns how many partitions member i gets.
func (p Plan) Load(i int) int {
	m := p.members[i]
	return int(p.shares[m[1]].start - p.shares[m[0]].start)
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
		for s := p.members[i][0]; s < p.members[i][1]; s++ {
			if !yield(p.share(s)) {
				return
			}
		}
	}
}

func (p Plan) share(s int32) (topic string, partitions []int32) {
	from, to := p.shares[s].start, p.shares[s+1].start
	return p.topics[p.shares[s].topic], p.partitions[from:to:to]
}

// List returns what member i gets as a list; nil for nothing.
func (p Plan) List(i int) []TopicPartitions {
	m := p.members[i]
	if m[0] == m[1] {
		return nil
	}
	list := make([]TopicPartitions, 0, m[1]-m[0])
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
		m := p.members[i]
		topics := make(map[string][]int32, m[1]-m[0])
		for s := m[0]; s < m[1]; s++ {
			topic, partitions := p.share(s)
			topics[topic] = partitions
		}
		out[members[i].ID] = topics
	}
	return out
}

// AppendAssignment appends the bytes that SyncGroup carries to member i.
func (p Plan) AppendAssignment(dst []byte, i int) []byte {
	m := p.members[i]
	dst = append(dst, byte(HighestVersion>>8), byte(HighestVersion))
	dst = appendInt32(dst, m[1]-m[0])
	for s := m[0]; s < m[1]; s++ {
		topic, partitions := p.share(s)
		dst = appendPartitions(appendString(dst, topic), partitions)
	}
	return appendNullableBytes(dst, p.UserData(i))
}

// Encode returns the SyncGroup bytes of every member, in the order of
// Input.Members. They lie one behind the other in one piece of memory.
func (p Plan) Encode() [][]byte {
	size := 0
	for i := range p.members {
		size += p.assignmentSize(i)
	}
	buf := make([]byte, 0, size)
	out := make([][]byte, len(p.members))
	for i := range out {
		from := len(buf)
		buf = p.AppendAssignment(buf, i)
		out[i] = slices.Clip(buf[from:])
	}
	return out
}

func (p Plan) assignmentSize(i int) int {
	n := 2 + 4 + 4 + len(p.UserData(i)) + 4*p.Load(i)
	for s := p.members[i][0]; s < p.members[i][1]; s++ {
		n += 2 + len(p.topics[p.shares[s].topic]) + 4
	}
	return n
}
