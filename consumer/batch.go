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
	for _, f := range fetches {
		for _, topic := range f.Topics {
			for i := range topic.Partitions {
				fp := &topic.Partitions[i]
				p := t.partitions[TopicPartition{Topic: topic.Topic, Partition: fp.Partition}]
				if p == nil || p.stopped || !p.placed {
					continue
				}
				if fp.Err != nil {
					troubles = append(troubles, trouble{p, topic.TopicID, fp.Err})
				}
				if !p.paused && !p.untold {
					n -= t.handOut(&b, p, fp, n)
				}
				if len(fp.Records) > 0 {
					left = append(left, leftOver(topic, fp))
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
	records := fp.Records
	if n >= 0 && len(records) > n {
		records = records[:n]
	}
	fp.Records = fp.Records[len(records):]
	if len(records) == 0 {
		return 0
	}
	last := records[len(records)-1]
	p.position = place{last.Offset + 1, last.LeaderEpoch}
	t.handed = append(t.handed, p)
	if records = withoutControl(records); len(records) > 0 {
		b.Partitions = append(b.Partitions, PartitionBatch{
			TopicPartition: p.TopicPartition, Records: records,
			HighWatermark: fp.HighWatermark, LastStable: fp.LastStableOffset, LogStart: fp.LogStartOffset,
		})
	}
	return len(records)
}

// withoutControl takes the ends of transactions out, in place.
func withoutControl(records []*Record) []*Record {
	kept := 0
	for i, r := range records {
		if r.Attrs.IsControl() {
			continue
		}
		if kept != i {
			records[kept] = r
		}
		kept++
	}
	return records[:kept]
}

func leftOver(topic kgo.FetchTopic, fp *kgo.FetchPartition) kgo.Fetch {
	rest := *fp
	rest.Err = nil
	return kgo.Fetch{Topics: []kgo.FetchTopic{{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kgo.FetchPartition{rest}}}}
}
