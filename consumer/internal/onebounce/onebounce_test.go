package onebounce

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

// promise is what a scenario must show.
type promise struct {
	unsafe  bool // the rule is wrong: the model must find that out
	refuses bool // members of old code may be refused
	climbs  bool // the group comes to be COOPERATIVE
	stuck   bool // with enough generations, it comes into states out of which it cannot be whole again
}

var scenarios = []struct {
	name  string
	model Model
	promise
}{
	{"two bounces, the first, as shipped", Model{Kinds: all(Old), Bounce: to(Old, Both), Faults: Faults{Bounces: 3, Crashes: 1}}, promise{}},
	{"two bounces, the second, as shipped", Model{Kinds: all(Both), Bounce: to(Both, CooperativeOnly), Faults: Faults{Bounces: 3, Crashes: 1}}, promise{climbs: true}},
	{"a mistake: from range straight to cooperative-sticky", Model{Kinds: all(Old), Bounce: to(Old, CooperativeOnly), Faults: Faults{Bounces: 3, Crashes: 1}}, promise{refuses: true, climbs: true}},
	{"range meets cooperative-sticky alone", Model{Kinds: kinds(CooperativeOnly, CooperativeOnly, Old), Faults: Faults{Crashes: 1}}, promise{refuses: true, stuck: true}},
	{"Kafka 3's default to cooperative-sticky alone", Model{Kinds: all(RangeFirst), Bounce: to(RangeFirst, CooperativeOnly), Faults: Faults{Bounces: 3, Crashes: 1}}, promise{climbs: true}},
	{"the same with a coordinator that forgets", Model{Kinds: all(RangeFirst), Bounce: to(RangeFirst, CooperativeOnly), Forgets: true, Faults: Faults{Bounces: 3, Failovers: 1}}, promise{refuses: true, climbs: true}},

	{"cooperative-sticky as shipped, static members", Model{Kinds: all(CooperativeOnly), Static: static, Faults: Faults{Crashes: 1}}, promise{climbs: true, stuck: true}},

	{"naive", Model{Rule: Naive, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: oneOfEach}, promise{unsafe: true, climbs: true}},
	{"naive, down", Model{Rule: Naive, Kinds: all(Dynamic), Bounce: down, Faults: Faults{Bounces: 2}}, promise{unsafe: true, climbs: true}},
	{"short circuit", Model{Rule: ShortCircuit, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: oneOfEach}, promise{unsafe: true, climbs: true}},
	{"leaders that look", Model{Rule: LeaderCheck, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: oneOfEach}, promise{unsafe: true, climbs: true}},

	{"withhold, the last old member", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: oneOfEach}, promise{refuses: true, climbs: true}},
	{"withhold, up", Model{Rule: Withhold, Kinds: all(Old), Bounce: up, Faults: Faults{Bounces: 3}}, promise{refuses: true, climbs: true}},
	{"withhold, down", Model{Rule: Withhold, Kinds: all(Dynamic), Bounce: down, Faults: Faults{Bounces: 2}}, promise{refuses: true, climbs: true, stuck: true}},
	{"withhold, down in two steps, the first", Model{Rule: Withhold, Kinds: all(Dynamic), Bounce: to(Dynamic, RangeFirst), Faults: Faults{Bounces: 3}}, promise{climbs: true}},
	{"withhold, down in two steps, the second", Model{Rule: Withhold, Kinds: all(RangeFirst), Bounce: to(RangeFirst, Old), Faults: Faults{Bounces: 3, Crashes: 1}}, promise{}},
	{"withhold, up and down", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 3}}, promise{refuses: true, climbs: true, stuck: true}},
	{"withhold, a coordinator that forgets", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Forgets: true, Faults: Faults{Bounces: 1, Failovers: 1}}, promise{refuses: true, climbs: true}},
	{"withhold, beside shipped members", Model{Rule: Withhold, Kinds: kinds(Dynamic, Both, CooperativeOnly), Faults: Faults{Crashes: 1}}, promise{}},

	{"union, the last old member", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: oneOfEach}, promise{climbs: true}},
	{"union, up", Model{Rule: Union, Kinds: all(Old), Bounce: up, Faults: Faults{Bounces: 3}}, promise{climbs: true}},
	{"union, down", Model{Rule: Union, Kinds: all(Dynamic), Bounce: down, Faults: Faults{Bounces: 3}}, promise{climbs: true}},
	{"union, up and down", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 3}}, promise{climbs: true}},
	{"union, the coordinator fails over", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Faults: Faults{Bounces: 1, Crashes: 1, Failovers: 1}}, promise{climbs: true}},
	{"union, a coordinator that forgets", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: up, Forgets: true, Faults: Faults{Bounces: 1, Failovers: 1}}, promise{refuses: true, climbs: true}},

	{"withhold, live members are expelled", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 1, Expelled: 1}}, promise{refuses: true, climbs: true, stuck: true}},
	{"withhold, answers are lost", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 1, Lost: 1}}, promise{refuses: true, climbs: true, stuck: true}},
	{"withhold, static members", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Static: static, Bounce: both, Faults: Faults{Bounces: 1, Crashes: 1}}, promise{refuses: true, climbs: true, stuck: true}},
	{"withhold, static members miss rounds", Model{Rule: Withhold, Kinds: kinds(Old, Dynamic, Dynamic), Static: static, Bounce: both, Faults: Faults{Bounces: 1, Expelled: 1}}, promise{refuses: true, climbs: true, stuck: true}},
	{"union, live members are expelled", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 1, Expelled: 1}}, promise{climbs: true}},
	{"union, answers are lost", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Bounce: both, Faults: Faults{Bounces: 1, Lost: 1}}, promise{climbs: true}},
	{"union, static members", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Static: static, Bounce: both, Faults: Faults{Bounces: 1, Crashes: 1}}, promise{climbs: true}},
	{"union, static members miss rounds", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Static: static, Bounce: both, Faults: Faults{Bounces: 1, Expelled: 1}}, promise{climbs: true}},
	{"union, all of it", Model{Rule: Union, Kinds: kinds(Old, Dynamic, Dynamic), Static: [Members]bool{true, true, false}, Bounce: both, Generations: generations() - 1, Faults: Faults{Bounces: 1, Expelled: 1, Lost: 1, Failovers: 1}}, promise{climbs: true}},
}

var (
	up        = map[Kind]Kind{Old: Dynamic}
	down      = map[Kind]Kind{Dynamic: Old}
	both      = map[Kind]Kind{Old: Dynamic, Dynamic: Old}
	oneOfEach = Faults{Bounces: 1, Crashes: 1}
	static    = [Members]bool{true, true, true}
)

func kinds(a, b, c Kind) [Members]Kind { return [Members]Kind{a, b, c} }

func all(k Kind) [Members]Kind { return kinds(k, k, k) }

func to(from, kind Kind) map[Kind]Kind { return map[Kind]Kind{from: kind} }

// generations is how far the groups are followed: SKEIN_LONG=1 takes two or three minutes and 2 GB.
func generations() uint8 {
	switch {
	case os.Getenv("SKEIN_LONG") != "":
		return 6
	case underRace: // one goroutine, walking: nothing to find, and slow
		return 3
	}
	return 4
}

// R-C7, R-C8, R-C13 to R-C15, R-C22 and the rows M1 to M19 of the matrix, in every order of events.
func TestEveryOrderOfEvents(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			c.model.Generations = cmp.Or(c.model.Generations, generations())
			got := c.model.Explore()
			t.Logf("%d states; owned twice %d, overwritten %d, by zombies %d; refused %d, of ours %d; cooperative %d; stuck %d",
				got.States, got.Overlaps, got.Overwrites, got.Zombies, got.Fatal, got.FatalDynamic, got.Climbed, got.Stuck)
			c.check(t, got, c.model.Faults.Expelled > 0)
		})
	}
}

func (p promise) check(t *testing.T, got Result, expels bool) {
	t.Helper()
	if unsafe := got.Overlaps+got.Overwrites > 0; unsafe != p.unsafe {
		t.Errorf("unsafe: %t; it begins with\n  %s", unsafe, strings.Join(got.Trace, "\n  "))
	}
	if refuses := got.Fatal > 0; refuses != p.refuses {
		t.Errorf("refuses members of old code: %t", refuses)
	}
	if got.Zombies > 0 && !expels {
		t.Errorf("%d states with a member that the group has forgotten, and nobody was expelled", got.Zombies)
	}
	if got.FatalDynamic > 0 {
		t.Errorf("refuses %d members of ours for good", got.FatalDynamic)
	}
	if climbs := got.Climbed > 0; climbs != p.climbs {
		t.Errorf("becomes cooperative: %t", climbs)
	}
	if got.Stuck > 0 && !p.stuck {
		t.Errorf("%d states from which the group cannot be whole again", got.Stuck)
	}
}
