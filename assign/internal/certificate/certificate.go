// Package certificate checks plans, whoever made them, for the two optima that
// the sticky assignors promise. It shares neither code nor data with the
// solver: it gets the plain facts, and looks for something better.
//
// A plan is fairest if and only if no partitions can be passed on along a way
// from a member to one that has at least two fewer. It has the fewest moves of all
// fairest plans if and only if there is no round of passing on that saves some and
// leaves the loads what they are, up to who has which. Both are ways in graphs
// that are linear in the input, and both findings are counter-examples that
// anyone can check by hand.
package certificate

// Plan is a group and what it was given. Members, topics and partitions are
// numbered.
type Plan struct {
	// Class groups members with equal subscriptions and racks; Topics lists, by
	// class, what they subscribe to; Rack is, by class, where they run, -1 when unknown.
	Class  []int32
	Topics [][]int32
	Rack   []int32
	// Topic is the topic of each partition; TopicCount how many topics there are.
	Topic      []int32
	TopicCount int
	// Holder is who has each partition in the plan, -1 for nobody.
	Holder []int32
	// Owner is who had it before, Former who had it once, -1 for nobody.
	Owner, Former []int32
	// RackSet is the kind of racks each partition lies in, -1 when unknown; Fits
	// tells whether a rack is among them.
	RackSet []int32
	Fits    func(set, rack int32) bool
}

// Step is a partition of a topic that one member passes on to another.
type Step struct{ From, To, Topic int32 }

// Loads returns how many partitions each member has.
func (p *Plan) Loads() []int32 {
	loads := make([]int32, len(p.Class))
	for _, m := range p.Holder {
		if m >= 0 {
			loads[m]++
		}
	}
	return loads
}

// lists holds many lists in one piece.
type lists struct{ start, items []int32 }

func (l *lists) of(i int32) []int32 { return l.items[l.start[i]:l.start[i+1]] }

// collect makes lists of what each emits: it is run twice, once to count.
func collect(n int, each func(emit func(list, item int32))) *lists {
	l := &lists{start: make([]int32, n+2)}
	each(func(list, _ int32) { l.start[list+2]++ })
	for i := 2; i < len(l.start); i++ {
		l.start[i] += l.start[i-1]
	}
	l.items = make([]int32, l.start[n+1])
	each(func(list, item int32) {
		l.items[l.start[list+1]] = item
		l.start[list+1]++
	})
	return l
}

func (p *Plan) membersOf() *lists {
	return collect(len(p.Topics), func(emit func(list, item int32)) {
		for m, c := range p.Class {
			emit(c, int32(m))
		}
	})
}

func (p *Plan) classesOf() *lists {
	return collect(p.TopicCount, func(emit func(list, item int32)) {
		for c, topics := range p.Topics {
			for _, t := range topics {
				emit(t, int32(c))
			}
		}
	})
}
