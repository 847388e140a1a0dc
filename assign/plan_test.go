package assign_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/skeinstream/skein/assign"
)

func list(t string, p ...int32) assign.TopicPartitions {
	return assign.TopicPartitions{Topic: t, Partitions: p}
}

func TestPlanHandsOutWhatItHolds(t *testing.T) {
	p := assign.PlanOf([][]assign.TopicPartitions{{list("b", 3, 1), list("a", 0), list("b", 2)}, nil, {list("a", 1), list("c")}})
	if p.Members() != 3 || p.Partitions() != 5 {
		t.Fatalf("%d members, %d partitions", p.Members(), p.Partitions())
	}
	want := [][]assign.TopicPartitions{{list("a", 0), list("b", 1, 2, 3)}, nil, {list("a", 1)}}
	for i, w := range want {
		if got := p.List(i); !reflect.DeepEqual(got, w) {
			t.Errorf("member %d: %v, want %v", i, got, w)
		}
	}
	if p.Load(0) != 4 || p.Load(1) != 0 || p.Load(2) != 1 {
		t.Errorf("loads %d %d %d", p.Load(0), p.Load(1), p.Load(2))
	}
	members := []assign.Member{{ID: "x"}, {ID: "y"}, {ID: "z"}}
	maps := map[string]map[string][]int32{"x": {"a": {0}, "b": {1, 2, 3}}, "y": {}, "z": {"a": {1}}}
	if got := p.Map(members); !reflect.DeepEqual(got, maps) {
		t.Errorf("%v, want %v", got, maps)
	}
}

func TestPlanEncodesAsItsListsWould(t *testing.T) {
	p := assign.PlanOf([][]assign.TopicPartitions{{list("b", 3, 1), list("a", 0)}, nil}).WithUserData([][]byte{{9}, nil})
	for i, got := range p.Encode() {
		want := assign.Assignment{Partitions: p.List(i), UserData: p.UserData(i)}.Append(nil, assign.HighestVersion)
		if !bytes.Equal(got, want) {
			t.Errorf("member %d: %x, want %x", i, got, want)
		}
		if cap(got) != len(got) {
			t.Errorf("member %d could be appended into its neighbour", i)
		}
	}
}
