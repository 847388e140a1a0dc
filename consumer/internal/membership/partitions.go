package membership

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/skeinstream/skein/assign"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the partition as Kafka's tools and logs write it: topic-0.
func (p TopicPartition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// Compare orders partitions by topic, then by number.
func (p TopicPartition) Compare(q TopicPartition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// set is a set of partitions, in order.
type set []TopicPartition

func setOf(list []assign.TopicPartitions) set {
	var s set
	for _, t := range list {
		for _, p := range t.Partitions {
			if p < 0 {
				continue // there is none such, whatever a foreign leader or member says
			}
			s = append(s, TopicPartition{t.Topic, p})
		}
	}
	slices.SortFunc(s, TopicPartition.Compare)
	return slices.Compact(s)
}

// lists is the set as it is sent.
func (s set) lists() []assign.TopicPartitions {
	var lists []assign.TopicPartitions
	for _, p := range s {
		if n := len(lists); n == 0 || lists[n-1].Topic != p.Topic {
			lists = append(lists, assign.TopicPartitions{Topic: p.Topic})
		}
		last := &lists[len(lists)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return lists
}

// minus is what is in s and not in other.
func (s set) minus(other set) set {
	var rest set
	for _, p := range s {
		if _, found := slices.BinarySearchFunc(other, p, TopicPartition.Compare); !found {
			rest = append(rest, p)
		}
	}
	return rest
}

// outside is what belongs to none of the topics, which are sorted.
func (s set) outside(topics []string) set {
	var rest set
	for _, p := range s {
		if _, found := slices.BinarySearch(topics, p.Topic); !found {
			rest = append(rest, p)
		}
	}
	return rest
}
