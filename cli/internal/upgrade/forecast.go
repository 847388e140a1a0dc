package upgrade

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is what to do about a restart.
type Verdict string

const (
	Go      Verdict = "go"      // it is safe, and nobody is refused
	Stop    Verdict = "stop"    // newcomers are refused, or two members would own one partition
	Unclear Verdict = "unclear" // the broker does not tell enough: see Why
)

// Forecast is what a rolling restart would do.
type Forecast struct {
	Target
	Verdict Verdict `json:"verdict"`
	// Rows are those of the matrix that it is, the first one by its lists.
	Rows []string `json:"rows"`
	// Admitted says whether newcomers get into the group, KeptOutBy by whom not, and First who has to be restarted before all
	// others for them to.
	Admitted  Answer   `json:"admitted"`
	KeptOutBy []string `json:"kept_out_by,omitempty"`
	First     string   `json:"restart_first,omitempty"`
	// Adopts is the assignor that newcomers of our consumer offer besides their list, since they would be refused without (R-C10).
	// With StrictAssignors they are.
	Adopts string `json:"adopts,omitempty"`
	// Safe: INV1 and INV2 hold throughout.
	Safe Answer `json:"safe"`
	// Stages are what the group runs meanwhile; none where that hangs on what is not told. The last one is the end.
	Stages []Stage `json:"stages,omitempty"`
	// Why is in words, for people.
	Why []string `json:"why"`
}

// Restart says what becomes of a group whose members are restarted, one after the other, with a target's list.
func (g Group) Restart(t Target) Forecast {
	g.all = g.names()
	if t.Consumer || g.Consumer {
		return g.toOrFromConsumer(t)
	}
	if len(g.Members) == 0 {
		return Forecast{Target: t, Verdict: Go, Rows: []string{}, Admitted: Yes, Safe: Yes, Why: []string{"the group has no members: whoever comes first decides what it runs"}}
	}
	n := g.names()
	lists := [][]string{t.List, {g.Assignor}}
	for _, m := range g.Members {
		lists = append(lists, m.Offers, m.Withholds)
	}
	if strange := n.unknown(lists...); len(strange) > 0 {
		return g.strange(t, strange)
	}
	f := Forecast{Target: t, Safe: Yes}
	p := play{n: n, broker: g.Broker, before: g.admit(&f)}
	f.Rows = g.extra(g.find(t), f)
	if f.Admitted == Yes {
		f.Stages = p.stages(t)
	}
	if p.broken {
		f.Safe = No
	}
	f.Verdict = verdict(f.Admitted, f.Safe)
	f.Why = g.why(f)
	return f
}

func verdict(admitted, safe Answer) Verdict {
	switch {
	case safe == No || admitted == No:
		return Stop
	case admitted == Maybe:
		return Unclear
	}
	return Go
}

// admit finds out whether the first newcomer gets in; all that follow have fewer against them. It returns the members in an order
// in which it does, if there is one.
func (g Group) admit(f *Forecast) []seat {
	n, seats := g.names(), g.seats()
	if len(seats) == 0 || len(g.Members) == 1 && !seats[0].fixed { // the group is empty in between
		f.Admitted = Yes
		return seats
	}
	f.Admitted, f.KeptOutBy = admission(n, g.Broker, seats, f.List)
	if f.Admitted != Yes && f.Client.adopts(g.Assignor) { // what is selected is in every list
		f.Admitted, f.KeptOutBy, f.Adopts = Yes, nil, g.Assignor
	}
	if f.Admitted == Yes || len(f.KeptOutBy) > 1 {
		return seats
	}
	for i, s := range seats {
		if s.count > 1 || s.fixed {
			continue
		}
		rest := slices.Delete(slices.Clone(seats), i, i+1)
		if a, _ := admission(n, g.Broker, rest, f.List); a == Yes {
			f.Admitted, f.KeptOutBy, f.First = Yes, nil, s.ids[0]
			return append([]seat{s}, rest...)
		}
	}
	return seats
}

// strange is about assignors that nobody knows (M21, R-C9).
func (g Group) strange(t Target, names []string) Forecast {
	return Forecast{Target: t, Verdict: Unclear, Rows: []string{"M21"}, Admitted: Maybe, Safe: Maybe, Why: []string{
		fmt.Sprintf("%s: whether it supports COOPERATIVE is only known to who wrote it; --cooperative or --eager NAME says so", strings.Join(names, ", ")),
		"if old and new code call different protocols by one name, do not mix them: members would own partitions twice",
	}}
}

// toOrFromConsumer is about the new protocol (M23): the coordinator assigns, and lists count only for which classic members get in (R-H8).
func (g Group) toOrFromConsumer(t Target) Forecast {
	f := Forecast{Target: t, Verdict: Go, Rows: []string{"M23"}, Admitted: Yes, Safe: Yes}
	switch {
	case !g.Broker.Consumer:
		f.Verdict, f.Admitted = Stop, No
		f.Why = []string{"this broker has no groups of the new protocol (KIP-848): such a member is refused with UNSUPPORTED_VERSION"}
	case g.Consumer && t.Consumer:
		f.Why = []string{"the group runs the new protocol already: the coordinator assigns, and what members list does not count"}
	case g.Consumer:
		f.Why = []string{
			"a classic member gets into a group of the new protocol while its group.consumer.migration.policy allows it, and its list has a name that all other classic members list (else error 23); the broker's assignor plans",
			"members that list an EAGER assignor give up everything at each rebalance, as ever",
		}
	default:
		f.Why = []string{
			"the first member of the new protocol has the coordinator take over, while group.consumer.migration.policy allows it: a member that owns a partition keeps it until it has given it up",
			"until the last classic member has gone, EAGER ones give up everything at each rebalance, as ever",
		}
	}
	return f
}
