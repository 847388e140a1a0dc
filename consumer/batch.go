package consumer

import (
	"github.com/twmb/franz-go/pkg/kgo"
)

// trouble is an error that franz-go has of a partition.
type trouble struct {
	*partition
	topicID [16]byte // that of the topic which is fetched
	err     error
}

// accept hands out what is owned of fetches, at most n records, and returns what is left over. Records are passed on as they are: no
// copies, and no memory for each.
func (t *table) accept(fetches kgo.Fetches, n int) (b Batch, left kgo.Fetches, troubles []trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at, f := range fetches {
		for of, topic := range f.Topics {
			for i := range topic.Partitions {
				if n == 0 {
					return b, follow(left, cut(fetches[at:], of, i)), troubles
				}
				fp := &topic.Partitions[i]
				p := t.partitions[TopicPartition{Topic: topic.Topic, Partition: fp.Partition}]
				if p == nil || p.stopped || !p.placed {
					continue
				}
				if fp.Err != nil {
					troubles = append(troubles, trouble{p, topic.TopicID, fp.Err})
					fp.Err = nil
				}
				if !p.paused && !p.untold {
					n -= t.handOut(&b, p, fp, n)
				}
				switch {
				case len(fp.Records) == 0:
				case n == 0:
					return b, follow(left, cut(fetches[at:], of, i)), troubles
				default:
					left = leave(left, topic, fp)
				}
			}
		}
	}
	return b, left, troubles
}

// handOut moves up to n records of a partition into a batch; n below 0 is all. Control records are passed over, but the position is behind
// them: what follows a transaction's end may be committed.
func (t *table) handOut(b *Batch, p *partition, fp *kgo.FetchPartition, n int) int {
	p.highWatermark, p.lastStable, p.logStart = fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset
	records, passed := withoutControl(fp.Records, n)
	if passed == 0 {
		return 0
	}
	last := fp.Records[passed-1]
	fp.Records = fp.Records[passed:]
	p.position = place{last.Offset + 1, last.LeaderEpoch}
	t.handed = append(t.handed, p)
	if len(records) > 0 {
		b.Partitions = append(b.Partitions, PartitionBatch{
			TopicPartition: p.TopicPartition, Records: records,
			HighWatermark: fp.HighWatermark, LastStable: fp.LastStableOffset, LogStart: fp.LogStartOffset,
		})
	}
	return len(records)
}

// withoutControl are the first n records without the ends of transactions, which it takes out in place, and how many it has passed. Those ends do not
// count: with nothing else in a batch Poll would wait for records, though there are some.
func withoutControl(records []*Record, n int) (kept []*Record, passed int) {
	at := 0
	for ; passed < len(records) && at != n; passed++ {
		r := records[passed]
		if r.Attrs.IsControl() {
			continue
		}
		if at != passed {
			records[at] = r
		}
		at++
	}
	return records[:at:at], passed
}

// cut takes out what is before a partition of a topic of the first fetch.
func cut(fetches kgo.Fetches, topic, partition int) kgo.Fetches {
	first := &fetches[0]
	first.Topics = first.Topics[topic:]
	first.Topics[0].Partitions = first.Topics[0].Partitions[partition:]
	return fetches
}

// follow puts the rest behind what is left, which is nothing as long as nothing is paused: a batch costs no memory then.
func follow(left, rest kgo.Fetches) kgo.Fetches {
	if len(left) == 0 {
		return rest
	}
	return append(left, rest...)
}

// leave puts what is left of a partition beside that of others of its topic: of many that are paused there is one list.
func leave(left kgo.Fetches, topic kgo.FetchTopic, fp *kgo.FetchPartition) kgo.Fetches {
	if len(left) > 0 {
		if last := &left[len(left)-1].Topics[0]; last.Topic == topic.Topic && last.TopicID == topic.TopicID {
			last.Partitions = append(last.Partitions, *fp)
			return left
		}
	}
	return append(left, kgo.Fetch{Topics: []kgo.FetchTopic{{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kgo.FetchPartition{*fp}}}})
}
