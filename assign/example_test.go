package assign_test

import (
	"fmt"

	"github.com/skeinstream/skein/assign"
)

// Two members share a topic when a third one joins: each of them gives up just
// what the newcomer must have.
func Example() {
	topics := []string{"orders"}
	in := assign.Input{
		Topics: []assign.Topic{{Name: "orders", Partitions: 6}},
		Members: []assign.Member{
			{ID: "c1", Subscription: assign.Subscription{Topics: topics, Owned: []assign.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1, 2}}}}},
			{ID: "c2", Subscription: assign.Subscription{Topics: topics, Owned: []assign.TopicPartitions{{Topic: "orders", Partitions: []int32{3, 4, 5}}}}},
			{ID: "c3", Subscription: assign.Subscription{Topics: topics}},
		},
	}
	plan, err := assign.Sticky{}.Assign(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, m := range in.Members {
		fmt.Println(m.ID, plan.List(i))
	}
	fmt.Println("proven:", assign.Verify(in, plan, assign.Options{}) == nil)
	// Output:
	// c1 [{orders [0 1]}]
	// c2 [{orders [3 4]}]
	// c3 [{orders [2 5]}]
	// proven: true
}

// The leader of a group decodes what JoinGroup brought, plans, and sends the
// bytes in SyncGroup.
func ExampleLead() {
	joined := map[string][]byte{
		"c1": assign.Subscription{Topics: []string{"orders"}, Generation: assign.NoGeneration}.Append(nil, 3),
	}
	in := assign.Input{Topics: []assign.Topic{{Name: "orders", Partitions: 2}}}
	var decoder assign.SubscriptionDecoder
	for id, metadata := range joined {
		s, err := decoder.Decode(metadata)
		if err != nil {
			fmt.Println(id, err)
			return
		}
		in.Members = append(in.Members, assign.Member{ID: id, Subscription: s})
	}
	plan, err := assign.Lead(assign.CooperativeSticky{}, assign.Cooperative, in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, b := range plan.Encode() {
		fmt.Printf("%s %x\n", in.Members[i].ID, b)
	}
	// Output:
	// c1 00030000000100066f7264657273000000020000000000000001ffffffff
}

func ExampleVerify() {
	in := assign.Input{
		Topics: []assign.Topic{{Name: "a", Partitions: 2}, {Name: "b", Partitions: 2}},
		Members: []assign.Member{
			{ID: "m1", Subscription: assign.Subscription{Topics: []string{"a", "b"}}},
			{ID: "m2", Subscription: assign.Subscription{Topics: []string{"a"}}},
		},
	}
	unfair := assign.PlanOf([][]assign.TopicPartitions{
		{{Topic: "a", Partitions: []int32{0}}, {Topic: "b", Partitions: []int32{0, 1}}},
		{{Topic: "a", Partitions: []int32{1}}},
	})
	fmt.Println(assign.Verify(in, unfair, assign.Options{}))
	// Output: the loads are not the fairest: m1 has 3 partitions, m2 1, and could have one more: one of a from m1 to m2
}
