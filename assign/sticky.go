package assign

import (
	"slices"

	"github.com/skeinstream/skein/assign/internal/optimal"
)

// RackOrder says what racks are worth to the optimal assignors. Balance is
// always worth more.
type RackOrder int8

const (
	// RacksAfterMoves keeps a partition where it is even in the wrong rack, and
	// minds racks where partitions have to move or choose anyway. It is the default:
	// every move costs a consumer its caches, now.
	RacksAfterMoves RackOrder = iota
	// RacksBeforeMoves gives up partitions in a wrong rack, as Kafka's sticky
	// assignors do (KIP-881).
	RacksBeforeMoves
	// RacksIgnored plans as if racks were unknown.
	RacksIgnored
)

// Options are what the optimal assignors can be asked for.
type Options struct {
	// Racks is the place of racks among the goals.
	Racks RackOrder
	// Slack lets every load be this much above or below what is fair, if that saves
	// moves. Among plans with the fewest moves, loads are then as fair as can be. 0
	// is for the fairest loads. It is for groups where a move is dear: mending a
	// long chain of overlapping subscriptions can move half of all partitions.
	Slack int32
	// Fresh ignores what members own: the plan is a pure function of
	// subscriptions and metadata (R-A7).
	Fresh bool
}

// Sticky is Kafka's assignor of that name (KIP-54), for EAGER groups: fairest
// loads, then fewest moves, both exactly. Members say what they had in their user
// data; where that is missing, Subscription.Owned counts.
type Sticky struct{ Options }

// Name returns "sticky".
func (Sticky) Name() string { return "sticky" }

// Protocols returns Eager.
func (Sticky) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans; see Options and the package comment for what is optimal. Time is
// linear in the input and output, plus a few flows over classes of equal
// members and topics.
func (s Sticky) Assign(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	return x.optimal(s.Options, x.settle(stickyClaim))
}

// SubscriptionUserData returns what the member had, in Kafka's version 1; nil
// before its first assignment.
func (Sticky) SubscriptionUserData(_ []string, h History) []byte {
	if h.Owned == nil {
		return nil
	}
	return AppendStickyUserData(nil, h.Owned, h.Generation)
}

func stickyClaim(m *Member) claim {
	if len(m.UserData) == 0 {
		return claim{m.Owned, m.Generation}
	}
	owned, generation := DecodeStickyUserData(m.UserData)
	return claim{owned, generation}
}

// FairOptimal gives every group the fairest loads there are, without looking at
// what members own: Sticky with Fresh, under a name of its own, for groups that
// want a plan which depends on nothing but subscriptions and metadata.
type FairOptimal struct {
	// Racks is the place of racks among the goals; before and after moves are the
	// same here.
	Racks RackOrder
}

// Name returns "fair-optimal".
func (FairOptimal) Name() string { return "fair-optimal" }

// Protocols returns Eager.
func (FairOptimal) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans as Sticky does, from nothing.
func (f FairOptimal) Assign(in Input) (Plan, error) {
	return Sticky{Options{Racks: f.Racks, Fresh: true}}.Assign(in)
}

// optimal plans from claims.
func (x *index) optimal(o Options, c *claims) (Plan, error) {
	owner, err := x.solve(o, c)
	if err != nil {
		return Plan{}, err
	}
	return x.plan(owner), nil
}

// solve returns the optimal owner of every partition; what is in c.owner is lost.
func (x *index) solve(o Options, c *claims) ([]int32, error) {
	if o.Fresh {
		c = &claims{owner: x.vacant()}
	}
	p := optimal.Problem{Group: x.Group, Owner: c.owner, Former: c.former, Slack: max(o.Slack, 0), RacksFirst: o.Racks == RacksBeforeMoves}
	if o.Racks != RacksIgnored {
		p.Racks = x.racks()
	}
	if _, err := optimal.Solve(p); err != nil {
		return nil, ErrTooLarge
	}
	return p.Owner, nil
}

// racks puts the racks in numbers; nil when no member has one, or no partition.
func (x *index) racks() *optimal.Racks {
	if !x.anyRack() {
		return nil
	}
	number := map[string]int32{}
	r := &optimal.Racks{Member: make([]int32, len(x.order))}
	for m := range r.Member {
		r.Member[m] = -1
		if rack := x.member(int32(m)).Rack; rack != "" {
			n, seen := number[rack]
			if !seen {
				n = int32(len(number))
				number[rack] = n
			}
			r.Member[m] = n
		}
	}
	r.Count = len(number)
	if !x.rackSets(r, number) {
		return nil
	}
	return r
}

func (x *index) anyRack() bool {
	for i := range x.in.Members {
		if x.in.Members[i].Rack != "" {
			return true
		}
	}
	return false
}

// rackSets numbers the sets of members' racks in which partitions have
// replicas; racks without members do not matter. It reports whether any is known.
func (x *index) rackSets(r *optimal.Racks, number map[string]int32) (any bool) {
	r.Set = x.vacant()
	r.Sets.Start = []int32{0}
	sets := map[string]int32{}
	var set []int32
	var key []byte
	for t := range x.names {
		racks := x.topic(int32(t)).Racks
		for p := range min(int(x.Count(int32(t))), len(racks)) {
			if len(racks[p]) == 0 {
				continue
			}
			any = true
			set, key = set[:0], key[:0]
			for _, rack := range racks[p] {
				if n, known := number[rack]; known {
					set = append(set, n)
				}
			}
			slices.Sort(set)
			set = slices.Compact(set)
			for _, n := range set {
				key = appendInt32(key, n)
			}
			n, seen := sets[string(key)]
			if !seen {
				n = int32(len(sets))
				sets[string(key)] = n
				r.Sets.Items = append(r.Sets.Items, set...)
				r.Sets.Start = append(r.Sets.Start, int32(len(r.Sets.Items)))
			}
			r.Set[x.Base[t]+int32(p)] = n
		}
	}
	return any
}
