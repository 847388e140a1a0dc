package exactlyonce

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
)

// backlog is what was polled and not processed, in order. What is taken stays in it until it is done, so that a call that fails leaves it as it
// was.
type backlog struct{ list []polled }

// polled is what one Poll has brought of a partition.
type polled struct {
	consumer.PartitionBatch
	next work.Offset // after it, and after ends of transactions that follow it
}

// add takes a batch, and says what it is to the machine. A partition may be in it several times, as often as it was fetched: only after the last
// of them is it where the consumer is.
func (b *backlog) add(c positioned, batch consumer.Batch) (list []work.Batch) {
	final := map[consumer.TopicPartition]int{}
	for i, p := range batch.Partitions {
		final[p.TopicPartition] = i
	}
	for i, p := range batch.Partitions {
		last := p.Records[len(p.Records)-1]
		next := work.Offset{At: last.Offset + 1, LeaderEpoch: last.LeaderEpoch}
		if at, known := c.Position(p.TopicPartition); known && at.At > next.At && i == final[p.TopicPartition] {
			next = work.Offset{At: at.At, LeaderEpoch: at.LeaderEpoch}
		}
		b.list = append(b.list, polled{p, next})
		list = append(list, work.Batch{Partition: work.Partition(p.TopicPartition), Records: len(p.Records)})
	}
	return list
}

// positioned is what the backlog asks of a consumer.
type positioned interface {
	Position(consumer.TopicPartition) (consumer.Offset, bool)
}

// first are the first n records.
func (b *backlog) first(n int) (batch consumer.Batch) {
	for _, p := range b.list {
		if n == 0 {
			break
		}
		part := p.PartitionBatch
		part.Records = part.Records[:min(n, len(part.Records))]
		n -= len(part.Records)
		batch.Partitions = append(batch.Partitions, part)
	}
	return batch
}

// done takes the first n records out, and says how far their partitions are.
func (b *backlog) done(n int) (reached []work.Reached, counts []work.Count) {
	for n > 0 {
		p := &b.list[0]
		tp := work.Partition(p.TopicPartition)
		taken := min(n, len(p.Records))
		last, next := p.Records[taken-1], p.next
		p.Records = p.Records[taken:]
		if len(p.Records) > 0 {
			next = work.Offset{At: last.Offset + 1, LeaderEpoch: last.LeaderEpoch}
		} else {
			b.list = b.list[1:]
		}
		n -= taken
		reached = append(reached, work.Reached{Partition: tp, Offset: next})
		counts = append(counts, work.Count{Partition: tp, Records: taken})
	}
	return reached, counts
}

// forget takes out what there is of partitions.
func (b *backlog) forget(list []work.Partition) {
	b.list = slices.DeleteFunc(b.list, func(p polled) bool { return slices.Contains(list, work.Partition(p.TopicPartition)) })
}

func ours(list []consumer.TopicPartition) (out []work.Partition) {
	for _, tp := range list {
		out = append(out, work.Partition(tp))
	}
	return out
}

func theirs(list []work.Partition) (out []consumer.TopicPartition) {
	for _, tp := range list {
		out = append(out, consumer.TopicPartition(tp))
	}
	return out
}

// reached is in order.
func reached(offsets consumer.Offsets) (list []work.Reached) {
	for tp, o := range offsets {
		list = append(list, work.Reached{Partition: work.Partition(tp), Offset: work.Offset{At: o.At, LeaderEpoch: o.LeaderEpoch}})
	}
	slices.SortFunc(list, func(a, b work.Reached) int {
		return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.At, b.At))
	})
	return list
}

func offsetsOf(list []work.Reached) consumer.Offsets {
	offsets := make(consumer.Offsets, len(list))
	for _, r := range list {
		offsets[consumer.TopicPartition(r.Partition)] = consumer.Offset{At: r.At, LeaderEpoch: r.LeaderEpoch}
	}
	return offsets
}
