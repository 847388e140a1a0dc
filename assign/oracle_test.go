package assign_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// oracle is a group as the checks see it: partitions in a row, each with who may
// have it, who owns it and who had it. It is written without any of the
// assignors' ideas (no classes, no levels), so that it does not share their faults.
type oracle struct {
	in       assign.Input
	names    []string // topics in order
	first    map[string]int
	count    map[string]int
	allowed  [][]int
	owner    []int
	stale    []int
	holders  [][]int
	misfit   func(p, m int) bool
	members  int
	topicOf  []int
	numberOf []int32
}

// newOracle reads claims with the generation of the subscription.
func newOracle(in assign.Input) *oracle {
	o := &oracle{in: in, first: map[string]int{}, count: map[string]int{}, members: len(in.Members)}
	racks := map[string][][]string{}
	for _, t := range in.Topics {
		o.names = append(o.names, t.Name)
		o.count[t.Name] = int(max(t.Partitions, 0))
		racks[t.Name] = t.Racks
	}
	sort.Strings(o.names)
	for i, name := range o.names {
		o.first[name] = len(o.allowed)
		var who []int
		for m := range in.Members {
			if slices.Contains(in.Members[m].Topics, name) {
				who = append(who, m)
			}
		}
		for p := range o.count[name] {
			o.allowed = append(o.allowed, who)
			o.topicOf = append(o.topicOf, i)
			o.numberOf = append(o.numberOf, int32(p))
		}
	}
	o.misfit = func(p, m int) bool {
		r := racks[o.names[o.topicOf[p]]]
		n := int(o.numberOf[p])
		return in.Members[m].Rack != "" && n < len(r) && len(r[n]) > 0 && !slices.Contains(r[n], in.Members[m].Rack)
	}
	o.claims()
	return o
}

// claims decides ownership partition by partition.
func (o *oracle) claims() {
	o.holders = make([][]int, len(o.allowed))
	for m, member := range o.in.Members {
		for _, tp := range member.Owned {
			for _, p := range tp.Partitions {
				if first, known := o.first[tp.Topic]; known && p >= 0 && int(p) < o.count[tp.Topic] {
					if i := first + int(p); !slices.Contains(o.holders[i], m) {
						o.holders[i] = append(o.holders[i], m)
					}
				}
			}
		}
	}
	for p, holders := range o.holders {
		newest := int32(-2)
		var who []int
		for _, m := range holders {
			switch g := o.in.Members[m].Generation; {
			case g > newest:
				newest, who = g, []int{m}
			case g == newest:
				who = append(who, m)
			}
		}
		owner := -1
		if len(who) == 1 && slices.Contains(o.allowed[p], who[0]) {
			owner = who[0]
		}
		o.owner = append(o.owner, owner)
		o.stale = append(o.stale, o.formerOwner(holders, owner, o.allowed[p]))
	}
}

// formerOwner is the newest of those whose claim does not count, -1 for none.
func (o *oracle) formerOwner(holders []int, owner int, allowed []int) int {
	best := -1
	for _, m := range holders {
		if m == owner || !slices.Contains(allowed, m) {
			continue
		}
		if best < 0 || o.in.Members[m].Generation > o.in.Members[best].Generation {
			best = m
		}
	}
	return best
}

// flatten returns the plan by partition; -1 is nobody.
func (o *oracle) flatten(t testing.TB, plan assign.Plan) []int {
	t.Helper()
	of := make([]int, len(o.allowed))
	for i := range of {
		of[i] = -1
	}
	for m := range o.members {
		for topic, partitions := range plan.Of(m) {
			if !slices.IsSorted(partitions) {
				t.Fatalf("member %d: partitions %v of %s are not in order", m, partitions, topic)
			}
			for _, p := range partitions {
				i := o.first[topic] + int(p)
				if of[i] >= 0 {
					t.Fatalf("%s-%d is given to %d and to %d", topic, p, of[i], m)
				}
				if !slices.Contains(o.allowed[i], m) {
					t.Fatalf("%s-%d is given to %d, who does not subscribe", topic, p, m)
				}
				of[i] = m
			}
		}
	}
	return of
}

// complete fails the test when somebody could have what nobody has.
func (o *oracle) complete(t testing.TB, of []int) {
	t.Helper()
	for p, m := range of {
		if m < 0 && len(o.allowed[p]) > 0 {
			t.Fatalf("%s-%d is given to nobody", o.names[o.topicOf[p]], o.numberOf[p])
		}
	}
}

// loads returns the loads in the order of the members.
func (o *oracle) loads(of []int) []int {
	loads := make([]int, o.members)
	for _, m := range of {
		if m >= 0 {
			loads[m]++
		}
	}
	return loads
}

func descending(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

func (o *oracle) moved(of []int) (n int) {
	for p, m := range of {
		if o.owner[p] >= 0 && m >= 0 && m != o.owner[p] {
			n++
		}
	}
	return n
}

// estranged counts what neither stays nor goes to who had it once.
func (o *oracle) estranged(of []int) (n int) {
	for p, m := range of {
		if o.stale[p] >= 0 && m >= 0 && m != o.owner[p] && m != o.stale[p] {
			n++
		}
	}
	return n
}

func (o *oracle) misfits(of []int) (n int) {
	for p, m := range of {
		if m >= 0 && o.misfit(p, m) {
			n++
		}
	}
	return n
}

// every calls visit with all assignments there are.
func (o *oracle) every(visit func(of []int)) {
	of := make([]int, len(o.allowed))
	var next func(p int)
	next = func(p int) {
		if p == len(of) {
			visit(of)
			return
		}
		if len(o.allowed[p]) == 0 {
			of[p] = -1
			next(p + 1)
			return
		}
		for _, m := range o.allowed[p] {
			of[p] = m
			next(p + 1)
		}
	}
	next(0)
}

// best returns the lexicographically least score of all assignments.
func (o *oracle) best(score func(of []int) []int) (best []int) {
	o.every(func(of []int) {
		if s := score(of); best == nil || slices.Compare(s, best) < 0 {
			best = s
		}
	})
	return best
}

// size limits random groups.
type size struct{ members, topics, partitions, total int }

var small = size{4, 4, 4, 8}

// randomGroup has every kind of subscription (equal, random, chains, sparse) and
// of past (none, settled by chance, partly, with double and stale claims).
func randomGroup(r *rand.Rand, s size) assign.Input {
	in := assign.Input{Members: make([]assign.Member, 1+r.IntN(s.members))}
	total := 0
	for t := range 1 + r.IntN(s.topics) {
		n := min(r.IntN(s.partitions+1), s.total-total)
		total += n
		in.Topics = append(in.Topics, assign.Topic{Name: fmt.Sprintf("t%d", t), Partitions: int32(n)})
	}
	style := r.IntN(4)
	for i := range in.Members {
		m := &in.Members[i]
		m.ID = fmt.Sprintf("m%d", i)
		for t := range in.Topics {
			if style == 0 || style == 1 && r.IntN(2) == 0 || style == 2 && (t == i || t == i+1) || style == 3 && r.IntN(3) == 0 {
				m.Topics = append(m.Topics, in.Topics[t].Name)
			}
		}
		r.Shuffle(len(m.Topics), func(a, b int) { m.Topics[a], m.Topics[b] = m.Topics[b], m.Topics[a] })
	}
	randomPast(r, in)
	return in
}

func randomPast(r *rand.Rand, in assign.Input) {
	style := r.IntN(4)
	claims := func(topic string, p int32) {
		m := &in.Members[r.IntN(len(in.Members))]
		if style == 2 {
			m = &in.Members[r.IntN(1+r.IntN(len(in.Members)))]
		}
		m.Owned = append(m.Owned, assign.TopicPartitions{Topic: topic, Partitions: []int32{p}})
	}
	for _, t := range in.Topics {
		for p := range t.Partitions {
			if style == 1 || style == 2 && r.IntN(3) > 0 || style == 3 {
				claims(t.Name, p)
			}
			if style == 3 && r.IntN(2) == 0 {
				claims(t.Name, p)
			}
		}
	}
	if r.IntN(3) == 0 {
		for i := range in.Members {
			in.Members[i].Generation = int32(r.IntN(3))
		}
	}
}

// randomRacks adds racks to members and replicas, and leaves some out.
func randomRacks(r *rand.Rand, in assign.Input) {
	racks := []string{"", "a", "b", "c"}
	for i := range in.Members {
		in.Members[i].Rack = racks[r.IntN(4)]
	}
	for t := range in.Topics {
		for range in.Topics[t].Partitions {
			var of []string
			for _, rack := range racks[1:] {
				if r.IntN(2) == 0 {
					of = append(of, rack)
				}
			}
			in.Topics[t].Racks = append(in.Topics[t].Racks, of)
		}
	}
}

// shuffled returns the same group in another order.
func shuffled(r *rand.Rand, in assign.Input) (out assign.Input, from []int) {
	from = r.Perm(len(in.Members))
	for _, i := range from {
		m := in.Members[i]
		m.Topics, m.Owned = slices.Clone(m.Topics), slices.Clone(m.Owned)
		r.Shuffle(len(m.Topics), func(a, b int) { m.Topics[a], m.Topics[b] = m.Topics[b], m.Topics[a] })
		r.Shuffle(len(m.Owned), func(a, b int) { m.Owned[a], m.Owned[b] = m.Owned[b], m.Owned[a] })
		out.Members = append(out.Members, m)
	}
	out.Topics = slices.Clone(in.Topics)
	r.Shuffle(len(out.Topics), func(a, b int) { out.Topics[a], out.Topics[b] = out.Topics[b], out.Topics[a] })
	return out, from
}

// after returns the group with a plan as what everyone owns, one generation on.
func after(in assign.Input, plan assign.Plan) assign.Input {
	out := assign.Input{Topics: in.Topics, Members: slices.Clone(in.Members)}
	for i := range out.Members {
		out.Members[i].Owned, out.Members[i].Generation, out.Members[i].UserData = plan.List(i), 9, nil
	}
	return out
}
