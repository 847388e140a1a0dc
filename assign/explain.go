package assign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/skeinstream/skein/assign/internal/certificate"
)

// Reason is why a partition is not with some other member.
type Reason int8

const (
	// Tie: there is a plan as good in which the other member has it.
	Tie Reason = iota
	// LessFair: with it, loads would be less fair.
	LessFair
	// MoreMoves: loads would be as fair, and more partitions would move.
	MoreMoves
	// WorseRacks: more partitions would be in a wrong rack.
	WorseRacks
	// LeavesFormer: more partitions would go to strangers instead of former owners.
	LeavesFormer
)

func (r Reason) String() string {
	return [...]string{"as good", "less fair", "more moves", "worse racks", "leaves a former owner"}[r]
}

// Explanation is why a partition is where a plan puts it.
type Explanation struct {
	// Holder has it in the plan. Owner had it before, Former had it once; "" for nobody.
	Holder, Owner, Former string
	// Low and High are what Holder has in any fairest plan, Load what it has here.
	Load, Low, High int
	// Others tells, for each member that was asked about, why it does not have it.
	Others []Other
}

// Other is what would be if another member had the partition, and everything else
// were the best it then can be.
type Other struct {
	Member string
	Reason Reason
	// Loads are in descending order, as they would be; Moves and Misfits how many
	// partitions would be moved, and in a wrong rack.
	Loads          []int
	Moves, Misfits int
	// Blocking is the reason in a nutshell when it is LessFair: Member and all others
	// it could pass a partition on to; none of them has fewer than Least.
	Blocking []string
	Least    int
}

// Score is what a plan is worth.
type Score struct {
	// Loads are the numbers of partitions per member, in descending order.
	Loads []int
	// Moves counts partitions that had an owner and go to another member, Misfits those in
	// a wrong rack, Estranged those that go to a stranger although somebody had
	// them once. Unowned counts partitions that had no owner.
	Moves, Misfits, Estranged, Unowned int
}

// Measure returns what a plan is worth. It refuses what Verify refuses as no plan.
func Measure(in Input, plan Plan) (Score, error) {
	f, err := flatten(in, plan, Options{})
	if err != nil {
		return Score{}, err
	}
	return f.score(), nil
}

func (f *flat) score() (s Score) {
	for _, load := range f.plan.Loads() {
		s.Loads = append(s.Loads, int(load))
	}
	slices.Sort(s.Loads)
	slices.Reverse(s.Loads)
	for p, m := range f.plan.Holder {
		owner, former := f.plan.Owner[p], f.plan.Former[p]
		if owner < 0 {
			s.Unowned++
		} else if m >= 0 && m != owner {
			s.Moves++
		}
		if m < 0 {
			continue
		}
		if rack := f.plan.Rack[f.plan.Class[m]]; rack >= 0 && f.plan.RackSet[p] >= 0 && !f.plan.Fits(f.plan.RackSet[p], rack) {
			s.Misfits++
		}
		if former >= 0 && m != owner && m != former {
			s.Estranged++
		}
	}
	return s
}

// Explain says why the optimal plan for o puts a partition where it does, and for
// each of others why that member does not have it: the best plan in which it
// has is computed and compared. Every other takes as long as planning does.
func Explain(in Input, o Options, topic string, partition int32, others ...string) (Explanation, error) {
	plan, err := Sticky{o}.Assign(Claimed(CooperativeSticky{}, in))
	if err != nil {
		return Explanation{}, err
	}
	f, err := flatten(in, plan, o)
	if err != nil {
		return Explanation{}, err
	}
	t, known := f.topic[topic]
	if !known || partition < 0 || partition >= f.count[t] {
		return Explanation{}, fmt.Errorf("explaining %s-%d: there is no such partition", topic, partition)
	}
	p := f.first[t] + partition
	e := Explanation{Holder: f.id(f.plan.Holder[p]), Owner: f.id(f.plan.Owner[p]), Former: f.id(f.plan.Former[p])}
	if e.Holder == "" {
		return e, nil
	}
	low, high, err := fairRanges(in)
	if err != nil {
		return Explanation{}, err
	}
	h := f.plan.Holder[p]
	e.Load, e.Low, e.High = plan.Load(int(h)), int(low[h]), int(high[h])
	for _, id := range others {
		other, err := f.instead(in, o, p, id)
		if err != nil {
			return Explanation{}, err
		}
		e.Others = append(e.Others, other)
	}
	return e, nil
}

func (f *flat) id(m int32) string {
	if m < 0 {
		return ""
	}
	return f.in.Members[m].ID
}

// instead computes the best plan in which the member has partition p: p becomes
// a topic of its own that nobody else subscribes to.
func (f *flat) instead(in Input, o Options, p int32, id string) (Other, error) {
	m := slices.IndexFunc(in.Members, func(m Member) bool { return m.ID == id })
	t := f.plan.Topic[p]
	if m < 0 || !f.subscribes(int32(m), t) {
		return Other{}, fmt.Errorf("explaining %s-%d: %q is no member that subscribes to the topic", in.Topics[t].Name, p-f.first[t], id)
	}
	pinned := pin(in, int(t), p-f.first[t], m)
	plan, err := Sticky{o}.Assign(pinned)
	if err != nil {
		return Other{}, err
	}
	g, err := flatten(pinned, plan, o)
	if err != nil {
		return Other{}, err
	}
	score, now := g.score(), f.score()
	g.movedIfPinned(f, p, int32(m), &score)
	other := Other{Member: id, Loads: score.Loads, Moves: score.Moves, Misfits: score.Misfits, Reason: compareScores(o, now, score)}
	if other.Reason == LessFair {
		set, least := certificate.Within(f.plan, int32(m))
		other.Least = int(least)
		for _, x := range set {
			other.Blocking = append(other.Blocking, f.id(x))
		}
	}
	return other, nil
}

// movedIfPinned counts the pinned partition itself, whose claims the pinned
// topic does not show: only the member that has it subscribes to it.
func (g *flat) movedIfPinned(f *flat, p, m int32, s *Score) {
	last := len(g.plan.Owner) - 1 // the pinned topic is the last one
	if owner := f.plan.Owner[p]; owner >= 0 {
		if g.plan.Owner[last] < 0 {
			s.Unowned--
		}
		if owner != m {
			s.Moves++
		}
	}
	if former := f.plan.Former[p]; former >= 0 && former != m && f.plan.Owner[p] != m {
		s.Estranged++
	}
}

func compareScores(o Options, now, then Score) Reason {
	moves, racks := cmp.Compare(then.Moves, now.Moves), cmp.Compare(then.Misfits, now.Misfits)
	if o.Racks == RacksIgnored {
		racks = 0
	}
	switch {
	case o.Slack == 0 && !slices.Equal(now.Loads, then.Loads):
		return LessFair
	case o.Racks == RacksBeforeMoves && racks != 0:
		return WorseRacks
	case moves != 0:
		return MoreMoves
	case racks != 0:
		return WorseRacks
	case then.Estranged != now.Estranged:
		return LeavesFormer
	}
	return Tie
}

// pin takes a partition out of its topic and makes it a topic that only member m
// subscribes to. The partitions behind it get the numbers before theirs.
func pin(in Input, t int, partition int32, m int) Input {
	const name = "\x00pinned"
	old := in.Topics[t]
	out := Input{Topics: slices.Clone(in.Topics), Members: slices.Clone(in.Members)}
	alone := Topic{Name: name, Partitions: 1}
	out.Topics[t].Partitions--
	if int(partition) < len(old.Racks) {
		alone.Racks = old.Racks[partition : partition+1]
		out.Topics[t].Racks = slices.Delete(slices.Clone(old.Racks), int(partition), int(partition)+1)
	}
	out.Topics = append(out.Topics, alone)
	for i := range out.Members {
		out.Members[i].Owned = renumber(out.Members[i].Owned, old.Name, partition, name)
	}
	out.Members[m].Topics = append(slices.Clone(out.Members[m].Topics), name)
	return out
}

func renumber(owned []TopicPartitions, topic string, partition int32, name string) []TopicPartitions {
	var out []TopicPartitions
	for _, tp := range owned {
		if tp.Topic != topic {
			out = append(out, tp)
			continue
		}
		var rest []int32
		for _, p := range tp.Partitions {
			switch {
			case p == partition:
				out = append(out, TopicPartitions{name, []int32{0}})
			case p > partition:
				rest = append(rest, p-1)
			default:
				rest = append(rest, p)
			}
		}
		out = append(out, TopicPartitions{topic, rest})
	}
	return out
}
