package api

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is merged is what is sorted, whatever lists there are.
func TestMergeSorted(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	for n := range 20 {
		var lists [][]int
		var want []int
		for range n {
			list := make([]int, dice.IntN(6))
			for i := range list {
				list[i] = dice.IntN(30)
			}
			slices.Sort(list)
			lists, want = append(lists, list), append(want, list...)
		}
		slices.Sort(want)
		if got := mergeSorted(lists, func(a, b *int) int { return cmp.Compare(*a, *b) }); !slices.Equal(got, want) {
			t.Errorf("%d lists: %v, want %v", n, got, want)
		}
	}
}

// BenchmarkListed is what ListGroups does with the answers of the shards, for 100,000 groups.
func BenchmarkListed(b *testing.B) {
	replies := make([]any, 50)
	for i := range replies {
		list := make([]kmsg.ListGroupsResponseGroup, 2000)
		for j := range list {
			list[j].Group, list[j].GroupState = fmt.Sprintf("group-of-a-service-%06d", (j*50+i*7919)%100_000), "Stable"
		}
		slices.SortFunc(list, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
		replies[i] = list
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(listed(kmsg.NewPtrListGroupsRequest(), replies)); n != 100_000 {
			b.Fatal(n)
		}
	}
}
