package eossim

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// feeder is an idempotent producer: it sends each batch until it is acknowledged, and never crashes.
type feeder struct {
	*client
	producer int64
	epoch    int16
	next     map[history.Partition]int32
}

func (w *world) feeder(name string) (*feeder, error) {
	f := &feeder{client: w.client(name, 0), next: map[history.Partition]int32{}}
	req := kmsg.NewPtrInitProducerIDRequest()
	resp, _, err := f.insist(req, 4, "", func(r kmsg.Response) int16 { return r.(*kmsg.InitProducerIDResponse).ErrorCode })
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	f.producer, f.epoch = r.ProducerID, r.ProducerEpoch
	return f, nil
}

// feed sends so many records to random partitions of some, over so long.
func (w *world) feed(name string, partitions []history.Partition, records int, over time.Duration) {
	f, err := w.feeder(name)
	if err != nil {
		return
	}
	defer f.drop()
	for n := 0; n < records && !w.trouble(); {
		b := &batch{at: partitions[f.dice.IntN(len(partitions))]}
		b.sequence = f.next[b.at]
		for range 1 + f.dice.IntN(4) {
			b.writes = append(b.writes, &history.Write{At: b.at, Key: name, Order: n, Value: fmt.Sprintf("%s.%d", name, n)})
			n++
		}
		w.know(func(h *history.History) { h.Plain = append(h.Plain, b.writes...) })
		b.encode(f.producer, f.epoch, false)
		resp, _, err := f.insist(produceRequest(nil, []*batch{b}), 9, fmt.Sprint(b), produceCode)
		if err != nil {
			return
		}
		if code := produceCode(resp); code != 0 {
			w.problem("%s: sending %v: %w", name, b, kerr.ErrorForCode(code))
			return
		}
		f.next[b.at] += int32(len(b.writes))
		w.know(func(*history.History) {
			for _, x := range b.writes {
				x.Acked = true
			}
		})
		f.rest(8 * over / time.Duration(records))
	}
}
