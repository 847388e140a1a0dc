package assign_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestEveryGroupOfSmallSize looks at all there are: up to three members and two
// topics with three partitions together (with SKEIN_LONG, four), every
// subscription, every past. Of every seventh (with SKEIN_LONG, of all) it also
// asks for the same plan from another order, a fixed point and two rounds.
func TestEveryGroupOfSmallSize(t *testing.T) {
	total, nth := 3, 7
	if rounds(1) > 1 {
		total, nth = 4, 1
	}
	r := seeded(t)
	groups := 0
	for first := range total + 1 {
		for second := range total + 1 - first {
			for n := 1; n <= 3; n++ {
				topics := cluster(fmt.Sprintf("t0:%d t1:%d", first, second))
				everyChoice(n, 4, func(subscriptions []int) {
					everyChoice(first+second, n+1, func(owners []int) {
						groups++
						if raced && groups%7 != 0 {
							return
						}
						in := smallGroup(topics, subscriptions, owners)
						checkOptimal(t, in)
						if groups%nth == 0 {
							checkPromises(t, r, in, assign.Options{})
						}
					})
				})
			}
		}
	}
	t.Logf("%d groups", groups)
}

// everyChoice calls visit with every list of n numbers below limit.
func everyChoice(n, limit int, visit func([]int)) {
	list := make([]int, n)
	var next func(i int)
	next = func(i int) {
		if i == n {
			visit(list)
			return
		}
		for list[i] = 0; list[i] < limit; list[i]++ {
			next(i + 1)
		}
	}
	next(0)
}

// smallGroup: bit k of a subscription is topic k; owner 0 is nobody.
func smallGroup(topics []assign.Topic, subscriptions, owners []int) assign.Input {
	in := assign.Input{Topics: topics}
	for i, s := range subscriptions {
		m := assign.Member{ID: fmt.Sprintf("m%d", i)}
		for k := range topics {
			if s>>k&1 == 1 {
				m.Topics = append(m.Topics, topics[k].Name)
			}
		}
		in.Members = append(in.Members, m)
	}
	p := 0
	for _, topic := range topics {
		for n := range topic.Partitions {
			if o := owners[p]; o > 0 {
				in.Members[o-1].Owned = append(in.Members[o-1].Owned, list(topic.Name, n))
			}
			p++
		}
	}
	return in
}

func checkOptimal(t *testing.T, in assign.Input) {
	t.Helper()
	o := newOracle(in)
	plan := mustPlan(t, assign.Sticky{}, in)
	of := o.flatten(t, plan)
	o.complete(t, of)
	score := func(of []int) []int { return append(descending(o.loads(of)), o.moved(of), o.spread(of)) }
	if got, best := score(of), o.best(score); !slices.Equal(got, best) {
		t.Fatalf("%+v\nplan %s\nscore %v, best %v", in, show(in, plan), got, best)
	}
	if err := assign.Verify(in, plan, assign.Options{}); err != nil {
		t.Fatalf("%+v\nplan %s: %v", in, show(in, plan), err)
	}
}
