package group

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// Offsets of open transactions stand beside the committed ones of their topic, until the marker of their producer comes:
// COMMIT makes them committed, ABORT drops them (R-D22). They take effect in the order of the log, and not in that of the
// markers: one that a plain commit, or another transaction's offset that was written later and is committed already, has
// overtaken is not committed any more. A tombstone takes away all that stand before it, so that what was deleted is not
// restored by a transaction that was open then (R-K14).

// openOffsets are a group's offsets of one topic in open transactions.
type openOffsets struct {
	list []uncommitted // by partition, those of one in the order of the log
}

// uncommitted is an offset of an open transaction.
type uncommitted struct {
	value     committed // what it is if the transaction is committed
	producer  int64
	overtaken bool
}

// holdOffset keeps an offset of an open transaction. A producer has one a partition: the last.
func (m *Machine) holdOffset(of machine.Producer, t *topicOffsets, partition int32, v kmsg.OffsetCommitValue) {
	u := uncommitted{value: t.offset(partition, v), producer: of.ID}
	if t.open == nil {
		t.open = &openOffsets{}
	}
	from, to := t.open.at(partition)
	for i := from; i < to; i++ {
		if t.open.list[i].producer == of.ID {
			t.open.list = slices.Insert(slices.Delete(t.open.list, i, i+1), to-1, u)
			return
		}
	}
	t.open.list = slices.Insert(t.open.list, to, u)
	m.producers.open[of.ID].add(t, 1)
	m.offsets.pending++
}

// at is where the offsets of a partition are.
func (o *openOffsets) at(partition int32) (from, to int) {
	if o == nil {
		return 0, 0
	}
	from, _ = slices.BinarySearchFunc(o.list, partition, func(u uncommitted, p int32) int { return cmp.Compare(u.value.partition, p) })
	for to = from; to < len(o.list) && o.list[to].value.partition == partition; to++ {
	}
	return from, to
}

// unstable says whether an open transaction has an offset of a partition.
func (t *topicOffsets) unstable(partition int32) bool {
	if t == nil || t.open == nil {
		return false
	}
	from, to := t.open.at(partition)
	return from < to
}

// overtake is told that a plain commit of a partition stands behind all that is open.
func (o *openOffsets) overtake(partition int32) {
	from, to := o.at(partition)
	for i := from; i < to; i++ {
		o.list[i].overtaken = true
	}
}

// applyMarker ends a producer's transaction.
func (m *Machine) applyMarker(of machine.Producer, commit bool) {
	x := m.producers.end(of)
	if x == nil {
		return
	}
	for _, in := range x.in {
		t := in.topic
		m.endOffsets(t, of.ID, commit)
		m.offsets.pending -= int64(in.count)
		m.offsets.tidy(&m.group(t.group).offsets, t)
	}
}

// endOffsets takes the offsets of a transaction that ends out of those that are open.
func (m *Machine) endOffsets(t *topicOffsets, producer int64, commit bool) {
	kept := t.open.list[:0]
	for _, u := range t.open.list {
		switch {
		case u.producer != producer:
			kept = append(kept, u)
		case commit && !u.overtaken:
			m.offsets.set(t, u.value)
			for i := len(kept) - 1; i >= 0 && kept[i].value.partition == u.value.partition; i-- {
				kept[i].overtaken = true
			}
		}
	}
	t.open.keep(len(kept))
}

// dropOpen forgets all that is open of a partition, for good: markers find nothing any more.
func (m *Machine) dropOpen(t *topicOffsets, partition int32) {
	from, to := t.open.at(partition)
	for i := from; i < to; i++ {
		m.producers.open[t.open.list[i].producer].add(t, -1)
	}
	if from < to {
		m.offsets.pending -= int64(to - from)
		t.open.list = slices.Delete(t.open.list, from, to)
	}
}

// keep cuts the list after n.
func (o *openOffsets) keep(n int) {
	clear(o.list[n:])
	o.list = o.list[:n]
}
