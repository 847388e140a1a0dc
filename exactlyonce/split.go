package exactlyonce

import (
	"hash/maphash"

	"github.com/skeinstream/skein/consumer"
)

// split makes the parts of a batch that may be processed at once: in each, records of a partition keep their order.
func (c Config) split(batch consumer.Batch) []consumer.Batch {
	if c.By == ByKey {
		return byKey(batch, c.Concurrency)
	}
	return byPartition(batch)
}

func byPartition(batch consumer.Batch) (parts []consumer.Batch) {
	at := map[consumer.TopicPartition]int{}
	for _, p := range batch.Partitions {
		i, known := at[p.TopicPartition]
		if !known {
			i = len(parts)
			at[p.TopicPartition] = i
			parts = append(parts, consumer.Batch{})
		}
		parts[i].Partitions = append(parts[i].Partitions, p)
	}
	return parts
}

// byKey deals records out to n parts at the most, those of a key to the same one. Records without a key are dealt out evenly.
func byKey(batch consumer.Batch, n int) (parts []consumer.Batch) {
	n = min(n, batch.Len())
	dealt := make([]consumer.Batch, n)
	seed, turn := maphash.MakeSeed(), 0
	for _, p := range batch.Partitions {
		piles := make([][]*consumer.Record, n)
		for _, r := range p.Records {
			to := turn
			if r.Key == nil {
				turn = (turn + 1) % n
			} else {
				to = int(maphash.Bytes(seed, r.Key) % uint64(n))
			}
			piles[to] = append(piles[to], r)
		}
		for to, pile := range piles {
			if len(pile) > 0 {
				part := p
				part.Records = pile
				dealt[to].Partitions = append(dealt[to].Partitions, part)
			}
		}
	}
	for _, part := range dealt {
		if len(part.Partitions) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}
