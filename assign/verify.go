package assign

import (
	"fmt"
	"strings"

	"github.com/skeinstream/skein/assign/internal/certificate"
)

// Transfer is one step of a counter-example: a partition of Topic that From has
// and To may have.
type Transfer struct{ From, To, Topic string }

// UnfairError shows that loads can be fairer: if a partition each is passed on
// as Transfers say, the first member has one fewer and the last one more.
type UnfairError struct {
	Transfers []Transfer
	// Rich and Poor are the loads of the first and the last member; they differ by
	// two at least.
	Rich, Poor int
}

func (e *UnfairError) Error() string {
	return fmt.Sprintf("the loads are not the fairest: %s has %d partitions, %s %d, and could have one more: %s",
		e.Transfers[0].From, e.Rich, e.Transfers[len(e.Transfers)-1].To, e.Poor, tell(e.Transfers))
}

// WastefulError shows that a plan is not the best of those with the fairest
// loads: if a partition each is passed on as Transfers say, the loads stay as
// fair, and what the fields count is saved. A negative number is paid; the saving
// that comes first in the order of the goals decides.
type WastefulError struct {
	Transfers                         []Transfer
	Moves, Uneven, Misfits, Estranged int
}

func (e *WastefulError) Error() string {
	moves := "moves"
	if e.Moves == 1 {
		moves = "move"
	}
	return fmt.Sprintf("the plan is not the best of those with such loads: %s saves %d %s (partitions outside the fair loads: %d, in a wrong rack: %d, strange to their member: %d)",
		tell(e.Transfers), e.Moves, moves, e.Uneven, e.Misfits, e.Estranged)
}

func tell(transfers []Transfer) string {
	steps := make([]string, len(transfers))
	for i, t := range transfers {
		what := "one of " + t.Topic
		if i > 0 && t.Topic == transfers[i-1].Topic {
			what = "another"
		}
		steps[i] = fmt.Sprintf("%s from %s to %s", what, t.From, t.To)
		if t.From == t.To { // partitions of one topic change hands, and it has as many as before
			steps[i] = fmt.Sprintf("%s of %s for one that was its own", what, t.From)
		}
	}
	return strings.Join(steps, ", ")
}

// Verify checks that a plan is optimal for what Options ask: the loads fairest,
// then moves, misfits of racks and partitions estranged from a former owner
// fewest. Nil is a proof: Verify trusts nothing of the solver and shares no code
// with it. Otherwise the error is an *InvalidPlanError, also for a partition that
// nobody has and somebody could have, an *UnfairError or a *WastefulError, with a
// counter-example.
//
// Owners are those of Subscription.Owned and Generation; where an assignor reads
// them elsewhere, see Claimed. Whole plans are checked: of a cooperative one, its
// Target. Fairness takes time linear in input and plan, the rest near it for
// plans that are optimal. How evenly topics are spread is not checked.
func Verify(in Input, plan Plan, o Options) error {
	f, err := flatten(in, plan, o)
	if err != nil {
		return err
	}
	goals := &certificate.Goals{Racks: o.Racks != RacksIgnored, RacksFirst: o.Racks == RacksBeforeMoves, Slack: max(o.Slack, 0)}
	if goals.Slack == 0 {
		if err := f.unfair(); err != nil {
			return err
		}
	} else if goals.Low, goals.High, err = fairRanges(in); err != nil {
		return err
	} else if err := f.outside(goals); err != nil {
		return err
	}
	if steps, saved := certificate.Wasteful(f.plan, goals); steps != nil {
		return &WastefulError{f.tell(steps), int(saved.Moves), int(saved.Uneven), int(saved.Misfits), int(saved.Estranged)}
	}
	return nil
}

// fairRanges returns what each member has in fairest plans. It takes one from the
// solver and checks that it is one.
func fairRanges(in Input) (low, high []int32, err error) {
	fairest, err := FairOptimal{Racks: RacksIgnored}.Assign(in)
	if err != nil {
		return nil, nil, err
	}
	f, err := flatten(in, fairest, Options{Fresh: true})
	if err != nil {
		return nil, nil, err
	}
	if err := f.unfair(); err != nil {
		return nil, nil, fmt.Errorf("fair loads to measure slack from: %w", err)
	}
	low, high = certificate.Ranges(f.plan)
	return low, high, nil
}

func (f *flat) unfair() error {
	way := certificate.Unfair(f.plan)
	if way == nil {
		return nil
	}
	loads := f.plan.Loads()
	return &UnfairError{f.tell(way), int(loads[way[0].From]), int(loads[way[len(way)-1].To])}
}

// outside refuses loads that slack does not allow.
func (f *flat) outside(g *certificate.Goals) error {
	for m, load := range f.plan.Loads() {
		if load > g.High[m]+g.Slack || load < g.Low[m]-g.Slack {
			return &InvalidPlanError{Member: f.in.Members[m].ID, Reason: fmt.Sprintf("has %d partitions, more than %d away from the fair %d to %d", load, g.Slack, g.Low[m], g.High[m])}
		}
	}
	return nil
}

func (f *flat) tell(steps []certificate.Step) []Transfer {
	out := make([]Transfer, len(steps))
	for i, s := range steps {
		out[i] = Transfer{f.in.Members[s.From].ID, f.in.Members[s.To].ID, f.in.Topics[s.Topic].Name}
	}
	return out
}

// Claimed returns in with what members claim where every assignor can see it:
// in Owned and Generation. Sticky members have it in their user data,
// cooperative ones perhaps their generation.
func Claimed(a Assignor, in Input) Input {
	of := cooperativeClaim
	switch a.(type) {
	case Sticky:
		of = stickyClaim
	case CooperativeSticky:
	default:
		return in
	}
	out := Input{Topics: in.Topics, Members: make([]Member, len(in.Members))}
	for i := range in.Members {
		c := of(&in.Members[i])
		out.Members[i] = in.Members[i]
		out.Members[i].UserData, out.Members[i].Owned, out.Members[i].Generation = nil, c.owned, c.generation
	}
	return out
}
