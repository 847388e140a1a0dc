package txn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSets: sets of partitions are what sets are, in order.
func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, list := sortedSet(partitionsOfTest(t, "set", 5)), partitionsOfTest(t, "list", 5)
		all := union(set, list)
		in, out := split(set, list)
		for _, s := range [][]Partition{set, all, in, out} {
			if !slices.IsSortedFunc(s, comparePartitions) || len(slices.Compact(slices.Clone(s))) != len(s) {
				t.Fatalf("no set: %v", s)
			}
		}
		if !containsAll(all, set) || !containsAll(all, list) || len(all) > len(set)+len(list) {
			t.Fatalf("%v and %v are %v", set, list, all)
		}
		if containsAll(set, list) != (len(all) == len(set)) {
			t.Fatalf("%v has all of %v: %t", set, list, containsAll(set, list))
		}
		for _, p := range set {
			if listed := slices.Contains(list, p); listed != contains(in, p) || listed == contains(out, p) {
				t.Fatalf("%v is split by %v into %v and %v", set, list, in, out)
			}
		}
	})
}
