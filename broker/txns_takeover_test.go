package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/txn"
)

// takeover is a directory in which some partitions have seen markers of a coordinator with a higher epoch than ours, as after
// years with Kafka, and a producer whose transaction reaches into those partitions and others.
type takeover struct {
	*house
	p *txnProducer
}

func takeoverPartitions() []partitionName { return []partitionName{{"a", 0}, {"a", 1}, {"b", 0}} }

func (o *takeover) prepare(old bool) {
	o.createTopic("a", 2)
	o.createTopic("b", 1)
	o.p = o.producer("id")
	o.p.w.old, o.p.timeout = old, 10*time.Second
	o.must(retrying(o.p.begin))
	o.must(retrying(func() error { return o.p.commitOffset("g", "a", 1) }))
	o.must(o.p.end(true))
	groups := o.b.groups.current.Load().Shards()
	o.marked("a", 1, 1000)
	o.marked(offsetsTopic, coordinator.Shard("g", groups), 2000)
	for _, at := range takeoverPartitions() {
		o.must(o.p.send(at, "x"))
	}
	o.must(o.p.commitOffset("g", "a", 7))
}

// marked writes the marker of a coordinator with a higher epoch, which ends nothing.
func (o *takeover) marked(topic string, index, epoch int32) {
	o.t.Helper()
	told := make(chan []int16, 1)
	o.b.txns.Mark([]api.Mark{{
		Topic: topic, Partition: index, ProducerID: o.p.producer, ProducerEpoch: o.p.epoch, CoordinatorEpoch: epoch,
	}}, func(codes []int16) { told <- codes })
	if codes := <-told; codes[0] != 0 {
		o.t.Fatalf("marking %s-%d: code %d", topic, index, codes[0])
	}
}

// TestATransactionIsWholeWhateverCoordinatorsWereBefore: a partition that has seen a higher coordinator epoch than ours takes
// the marker as all others do, however the transaction ends (R-E8, FR-H29).
func TestATransactionIsWholeWhateverCoordinatorsWereBefore(t *testing.T) {
	newcomer := func(o *takeover) error {
		o.p.w = o.wire()
		return o.p.begin()
	}
	for _, test := range []struct {
		name   string
		end    func(o *takeover) error
		commit bool
	}{
		{"commit", func(o *takeover) error { return o.p.end(true) }, true},
		{"abort", func(o *takeover) error { return o.p.end(false) }, false},
		{"newcomer", newcomer, false},
		{"timeout", func(*takeover) error { pass(11 * time.Second); return nil }, false},
		{"in two steps", func(o *takeover) error {
			return o.p.endWithout(o.house, true, []txn.Partition{{Topic: "a"}, {Topic: "a", Partition: 1}})
		}, true},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, old %t", test.name, old), func(t *testing.T) {
				inBubble(t, nil, func(h *house) {
					o := &takeover{house: h}
					o.prepare(old)
					h.must(test.end(o))
					pass(time.Second)
					o.expectWhole(test.commit)
					h.restart()
					pass(5 * time.Second)
					o.expectWhole(test.commit)
				})
			})
		}
	}
}

func (o *takeover) expectWhole(commit bool) {
	o.t.Helper()
	offset, want := int64(1), []string(nil)
	if commit {
		offset, want = 7, []string{"x"}
	}
	for _, at := range takeoverPartitions() {
		if _, open := o.committedValues(at); open > 0 {
			o.t.Errorf("%s: %d transactions are open", at, open)
		}
		o.expectCommitted(at, want...)
	}
	o.expectOffset("g", "a", offset)
}
