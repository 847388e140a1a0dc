package broker

import (
	"sync"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/machine"
)

// Mark implements api.Transactions.
func (t *transactions) Mark(marks []api.Mark, done func(codes []int16)) {
	all := &marked{codes: make([]int16, len(marks)), missing: len(marks), done: done}
	if len(marks) == 0 {
		done(all.codes)
		return
	}
	for i, m := range marks {
		t.mark(m, func(err error) { all.told(i, api.MarkCode(err)) })
	}
}

// marked gathers what has become of several markers.
type marked struct {
	done func([]int16)

	mu      sync.Mutex // guards what follows
	codes   []int16
	missing int
}

func (a *marked) told(i int, code int16) {
	a.mu.Lock()
	a.codes[i] = code
	a.missing--
	last := a.missing == 0
	a.mu.Unlock()
	if last {
		a.done(a.codes)
	}
}

// mark writes one marker, through the coordinator whose log the partition is, if it is one's: what it refuses costs that
// nothing, since it is looked at before.
func (t *transactions) mark(m api.Mark, done func(error)) {
	p := t.broker.partition(m.Topic, m.Partition)
	if p == nil {
		done(partition.ErrUnknown)
		return
	}
	if err := checkMark(p, &m); err != nil {
		done(err)
		return
	}
	of := machine.Producer{Transactional: true, ID: m.ProducerID, Epoch: m.ProducerEpoch}
	if c, coordinated := t.writer(m.Topic); coordinated {
		if c == nil {
			done(coordinator.ErrNotCoordinator)
			return
		}
		c.Write(m.Partition, []machine.Record{{Producer: of, Marker: &machine.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch}}}, done)
		return
	}
	kind := record.Abort
	if m.Commit {
		kind = record.Commit
	}
	a := &markAppend{done: done}
	a.Records, a.Done = record.ControlMarker(kind, of.ID, of.Epoch, m.CoordinatorEpoch, t.broker.cfg.now().UnixMilli()), a
	p.AppendAt(&a.Append, partition.Anywhere)
}

func checkMark(p *partition.Partition, m *api.Mark) error {
	if err := p.Barred(); err != nil {
		return err
	}
	marker := producers.Marker{Epoch: m.ProducerEpoch, CoordinatorEpoch: m.CoordinatorEpoch}
	if m.Raised {
		return p.Producer(m.ProducerID).CheckRaised(marker)
	}
	return p.Producer(m.ProducerID).CheckMarker(marker)
}

// writer is the coordinator that alone writes to a topic, which may have ended.
func (t *transactions) writer(topic string) (c *coordinator.Coordinator, coordinated bool) {
	switch topic {
	case offsetsTopic:
		return t.broker.groups.current.Load(), true
	case transactionsTopic:
		return t.current.Load(), true
	}
	return nil, false
}

// markAppend is a marker on its way into a partition that is nobody's log.
type markAppend struct {
	partition.Append
	done func(error)
}

// Appended implements partition.Appended.
func (a *markAppend) Appended(*partition.Append) { a.done(a.Result.Err()) }

// partition finds a partition by name, nil when there is none.
func (b *Broker) partition(topic string, index int32) *partition.Partition {
	t := b.table.Topic(topic)
	if t == nil {
		return nil
	}
	return t.Partition(index)
}
