package eossim

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
	"github.com/skeinstream/skein/broker/internal/record"
)

// fetched is what a fetch of one partition has brought.
type fetched struct {
	known        bool // it was answered
	all, records []history.Seen
	next         int64
	stable, high int64
}

// fetch reads what is committed, once. When there is no answer, it has brought nothing.
func (c *client) fetch(at history.Partition, from int64, most int32) (fetched, error) {
	return c.fetchAs(at, from, most, 1)
}

func (c *client) fetchAs(at history.Partition, from int64, most int32, isolation int8) (f fetched, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MaxWaitMillis, req.SessionEpoch, req.IsolationLevel = 1<<20, 0, -1, isolation
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = at.Index, from, most
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = at.Topic, []kmsg.FetchRequestTopicPartition{part}
	req.Topics = append(req.Topics, topic)
	f.next = from
	resp, err := c.call(req, []int16{4, 11, 12}[c.dice.IntN(3)], fmt.Sprintf("%v from %d", at, from), fetchCode)
	switch {
	case err == errDead:
		return f, err
	case err == errLost || err == errDown || err == nil && retriable(fetchCode(resp)):
		return f, nil
	case err != nil || fetchCode(resp) != 0:
		c.w.problem("%s: fetching %v from %d: %v, code %d", c.name, at, from, err, fetchCode(resp))
		return f, errDead
	}
	if err := f.take(&resp.(*kmsg.FetchResponse).Topics[0].Partitions[0], isolation); err != nil {
		c.w.problem("%s: reading %v from %d: %w", c.name, at, from, err)
		return f, errDead
	}
	return f, nil
}

func fetchCode(resp kmsg.Response) int16 {
	r, ok := resp.(*kmsg.FetchResponse)
	switch {
	case !ok || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1:
		return -1
	case r.ErrorCode != 0:
		return r.ErrorCode
	}
	return r.Topics[0].Partitions[0].ErrorCode
}

// take reads batches as clients do: what an aborted transaction has written, from its first offset to its marker, is left out,
// if only what is committed was asked for.
func (f *fetched) take(p *kmsg.FetchResponseTopicPartition, isolation int8) error {
	f.known, f.stable, f.high = true, p.LastStableOffset, p.HighWatermark
	aborted, left := map[int64]bool{}, slices.Clone(p.AbortedTransactions)
	for b, err := range record.Batches(whole(p.RecordBatches)) {
		if err != nil {
			return err
		}
		h := b.Header()
		for len(left) > 0 && left[0].FirstOffset <= h.LastOffset() { // they come sorted
			aborted[left[0].ProducerID] = true
			left = left[1:]
		}
		from := f.next
		f.next = h.LastOffset() + 1
		if h.Control() {
			if kind, _, ok := record.ParseMarker(b); ok && kind == record.Abort {
				delete(aborted, h.ProducerID)
			}
			continue
		}
		counts := isolation == 0 || !h.Transactional() || !aborted[h.ProducerID]
		if err := f.walk(b, from, counts); err != nil {
			return err
		}
	}
	return nil
}

func (f *fetched) walk(b record.Batch, from int64, counts bool) error {
	base := b.Header().BaseOffset
	return record.Walk(b, nil, func(r record.Record) bool {
		if at := base + int64(r.OffsetDelta); at >= from {
			s := history.Seen{Offset: at, Value: string(r.Value)}
			if f.all = append(f.all, s); counts {
				f.records = append(f.records, s)
			}
		}
		return true
	})
}

// whole leaves out the part of a batch that a limit may have left at the end.
func whole(b []byte) []byte {
	for end := 0; ; {
		h, err := record.ParseHeader(b[end:])
		if err != nil || end+h.Size() > len(b) {
			return b[:end]
		}
		end += h.Size()
	}
}

// reading is a reader of everything that is committed, and of the offsets of groups.
func (w *world) reading(number int, partitions []history.Partition, groups map[string][]history.Partition, names []string) {
	c := w.client("reader", number)
	c.name = fmt.Sprintf("reader %d", number)
	c.trace.name = c.name
	defer c.drop()
	next := map[history.Partition]int64{}
	for !w.over.Load() && !w.trouble() {
		if c.dice.IntN(5) == 0 {
			group := names[c.dice.IntN(len(names))]
			if err := c.lookAt(group, groups[group][c.dice.IntN(len(groups[group]))]); err != nil {
				return
			}
		} else if err := c.readOn(partitions[c.dice.IntN(len(partitions))], next); err != nil {
			return
		}
		if c.rest(150 * time.Millisecond); w.calm.Load() {
			c.rest(2 * time.Second)
		}
	}
}

func (c *client) readOn(at history.Partition, next map[history.Partition]int64) error {
	sent := c.w.now()
	f, err := c.fetch(at, next[at], []int32{1, 150, 400, 1 << 20}[c.dice.IntN(4)])
	if err != nil || !f.known {
		return err
	}
	c.w.know(func(h *history.History) {
		h.Reads = append(h.Reads, history.Read{
			Reader: c.name, At: at, Sent: sent, Got: c.w.now(), From: next[at], Next: f.next, Stable: f.stable, Synced: f.high, Records: f.records,
		})
	})
	next[at] = f.next
	return nil
}

// lookAt fetches the stable offset of a group, once.
func (c *client) lookAt(group string, at history.Partition) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: at.Topic, Partitions: []int32{at.Index}}}}}
	sent := c.w.now()
	resp, err := c.call(req, 8, fmt.Sprintf("%s %v", group, at), offsetCode)
	if err != nil || offsetCode(resp) != 0 {
		if err == errDead {
			return err
		}
		return nil
	}
	c.w.know(func(h *history.History) {
		h.Fetched = append(h.Fetched, history.OffsetRead{
			Reader: c.name, Group: group, At: at, Sent: sent, Got: c.w.now(), Next: resp.(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0].Offset,
		})
	})
	return nil
}
