package txn

import (
	"cmp"
	"slices"
	"strings"
)

func comparePartitions(a, b Partition) int {
	if a.Topic != b.Topic { // most often it is one topic, and one string
		return strings.Compare(a.Topic, b.Topic)
	}
	return cmp.Compare(a.Partition, b.Partition)
}

// sortedSet is a copy of list, in order, each once.
func sortedSet(list []Partition) []Partition {
	set := slices.Clone(list)
	slices.SortFunc(set, comparePartitions)
	return slices.Compact(set)
}

func contains(set []Partition, p Partition) bool {
	_, found := slices.BinarySearchFunc(set, p, comparePartitions)
	return found
}

// containsAll says whether every one of list is in set.
func containsAll(set, list []Partition) bool {
	for _, p := range list {
		if !contains(set, p) {
			return false
		}
	}
	return true
}

// union is a set of those in set and in list.
func union(set, list []Partition) []Partition {
	all := make([]Partition, 0, len(set)+len(list))
	all = append(append(all, set...), list...)
	slices.SortFunc(all, comparePartitions)
	return slices.Compact(all)
}

// split tells those of set that are in list from those that are not.
func split(set, list []Partition) (in, out []Partition) {
	if len(list) == 0 {
		return nil, set
	}
	sorted := sortedSet(list)
	for _, p := range set {
		if contains(sorted, p) {
			in = append(in, p)
		} else {
			out = append(out, p)
		}
	}
	return in, out
}
