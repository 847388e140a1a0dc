package exactlyonce

import (
	"slices"
	"testing"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
)

// position is that of every partition.
type position int64

func (p position) Position(consumer.TopicPartition) (consumer.Offset, bool) {
	return consumer.Offset{At: int64(p)}, true
}

// TestAPartitionThatIsSeveralTimesInABatch: after the first of two fetches it is where the second begins, and only after the second past the
// end of a transaction that follows. What would be committed else is not processed.
func TestAPartitionThatIsSeveralTimesInABatch(t *testing.T) {
	tp := consumer.TopicPartition{Topic: "t"}
	fetched := func(offsets ...int64) (p consumer.PartitionBatch) {
		p.TopicPartition = tp
		for _, at := range offsets {
			p.Records = append(p.Records, &consumer.Record{Topic: "t", Offset: at})
		}
		return p
	}
	var b backlog
	told := b.add(position(10), consumer.Batch{Partitions: []consumer.PartitionBatch{fetched(3, 4), fetched(5, 7, 8)}})
	if want := (work.Batch{Partition: work.Partition(tp), Records: 2}); len(told) != 2 || told[0] != want {
		t.Errorf("the machine is told %v", told)
	}
	var at []int64
	for _, n := range []int{1, 1, 2, 1} {
		reached, _ := b.done(n)
		for _, r := range reached {
			at = append(at, r.At)
		}
	}
	if want := []int64{4, 5, 8, 10}; !slices.Equal(at, want) {
		t.Errorf("it is at %v, want %v", at, want)
	}
}
