package assign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
)

const groups = 6000

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestRangeAndRoundRobinPlanAsKafka: R-A3, R-A4, R-A23: byte for byte what
// Kafka's own leader would send, static members and racks included.
func TestRangeAndRoundRobinPlanAsKafka(t *testing.T) {
	r := seeded(t)
	var s script
	racked := 0
	for i := range groups {
		in := randomGroup(r)
		s.describe(in)
		for _, a := range []assign.Assignor{assign.Range{}, assign.RoundRobin{}} {
			s.ask(func(answer string) {
				if got := planned(t, a, in); got != answer {
					t.Errorf("group %d, %s: %s\n%+v\ngot  %s\nwant %s", i, a.Name(), "plans differ", in, got, answer)
				}
			}, "assign %s", a.Name())
		}
		if slices.ContainsFunc(in.Members, func(m assign.Member) bool { return m.Rack != "" }) {
			racked++
		}
		s.say("end")
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d groups, %d of them with racks", groups, racked)
}

// planned is the answer the Java program would give: assignments in order of
// the member ids in Java's order.
func planned(t *testing.T, a assign.Assignor, in assign.Input) string {
	t.Helper()
	plan, err := a.Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	order := make([]int, len(in.Members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(utf16Of(in.Members[a].ID), utf16Of(in.Members[b].ID)) })
	encoded := plan.Encode()
	var parts []string
	for _, i := range order {
		parts = append(parts, fmt.Sprintf("%x", encoded[i]))
	}
	return strings.Join(parts, " ")
}
