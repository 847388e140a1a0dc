package cluster

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/machine"
)

// Partition is one of a topic.
type Partition struct {
	Topic string
	Index int32
}

func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Index) }

// Compare orders partitions by topic, then by number.
func (p Partition) Compare(q Partition) int {
	switch {
	case p.Topic < q.Topic:
		return -1
	case p.Topic > q.Topic:
		return 1
	}
	return int(p.Index - q.Index)
}

// State is what is known of what stands at an offset.
type State uint8

// States of an entry. A Marker is never handed out.
const (
	Plain State = iota
	Open
	Committed
	Aborted
	Marker
)

// Entry is what stands at one offset.
type Entry struct {
	State    State
	Producer machine.Producer
	Value    any
}

// visible says that readers of what is committed see it.
func (e Entry) visible() bool { return e.State == Plain || e.State == Committed }

// Log is a partition.
type Log struct {
	At        Partition
	Entries   []Entry
	producers map[int64]*producer
	open      []*producer // with a transaction, by its first offset
}

// window is how many of a producer's last batches are remembered (T15).
const window = 5

// producer is what a partition knows of one.
type producer struct {
	id      int64
	epoch   int16
	next    int32 // sequence
	recent  []batch
	first   int64 // of the open transaction; -1: there is none
	markers int
}

type batch struct{ sequence, count int32 }

func newLog(at Partition) *Log { return &Log{At: at, producers: map[int64]*producer{}} }

// End is the offset after the last.
func (l *Log) End() int64 { return int64(len(l.Entries)) }

// Stable is the last stable offset: all before it is decided.
func (l *Log) Stable() int64 {
	if len(l.open) == 0 {
		return l.End()
	}
	return l.open[0].first
}

// Read is what readers get from an offset on, at most so much, and where they go on: of what is committed, or, dirty, of all.
func (l *Log) Read(from int64, most int, dirty bool) (offsets []int64, next int64) {
	end := l.Stable()
	if dirty {
		end = l.End()
	}
	for next = from; next < end && len(offsets) < most; next++ {
		if e := l.Entries[next]; e.visible() || dirty && e.State != Marker {
			offsets = append(offsets, next)
		}
	}
	return offsets, next
}

// Visible says whether readers of what is committed see what is at an offset.
func (l *Log) Visible(offset int64) bool { return l.Entries[offset].visible() }

func (l *Log) known(id int64) *producer {
	p := l.producers[id]
	if p == nil {
		p = &producer{id: id, epoch: -1, first: -1}
		l.producers[id] = p
	}
	return p
}

// guard is what has to be true still when a batch comes that the coordinator was asked about: no marker of its producer has come.
type guard struct {
	open    bool
	markers int
}

func (l *Log) guard(of machine.Producer) guard {
	p := l.known(of.ID)
	return guard{open: p.first >= 0 && p.epoch == of.Epoch, markers: p.markers}
}

// check is why a batch is not appended, 0 if it is; repeated says that it is there already (R-E11, R-K27).
func (l *Log) check(of machine.Producer, sequence, count int32, g guard, absent int16) (code int16, repeated bool) {
	p := l.known(of.ID)
	want := p.next
	switch {
	case of.Epoch == p.epoch && slices.Contains(p.recent, batch{sequence, count}):
		return 0, true
	case of.Epoch < p.epoch:
		return kerr.InvalidProducerEpoch.Code, false
	case of.Epoch > p.epoch && p.epoch >= 0:
		want = 0
	}
	switch {
	case p.epoch >= 0 && sequence != want:
		return kerr.OutOfOrderSequenceNumber.Code, false
	case !(p.first >= 0 && p.epoch == of.Epoch) && g.markers != p.markers:
		return absent, false
	}
	return 0, false
}

// append writes a batch of a transaction, which was checked.
func (l *Log) append(of machine.Producer, sequence int32, values []any) {
	p := l.known(of.ID)
	if p.epoch != of.Epoch {
		p.epoch, p.recent = of.Epoch, nil
	}
	if p.recent = append(p.recent, batch{sequence, int32(len(values))}); len(p.recent) > window {
		p.recent = p.recent[1:]
	}
	p.next = sequence + int32(len(values))
	if p.first < 0 {
		p.first = l.End()
		l.open = append(l.open, p)
	}
	for _, v := range values {
		l.Entries = append(l.Entries, Entry{State: Open, Producer: of, Value: v})
	}
}

// Write appends records that are of no transaction.
func (l *Log) Write(values ...any) {
	for _, v := range values {
		l.Entries = append(l.Entries, Entry{Value: v})
	}
}

// Begin appends a batch of a producer that speaks to nobody else.
func (l *Log) Begin(id int64, values ...any) {
	of := machine.Producer{Transactional: true, ID: id}
	l.append(of, l.known(id).next, values)
}

// Mark ends the transaction of a producer and says what it wrote. A marker of an older epoch than the partition knows is of a
// producer that was replaced, and is not taken.
func (l *Log) Mark(of machine.Producer, commit bool) (ended []Entry) {
	p := l.known(of.ID)
	if of.Epoch < p.epoch {
		return nil
	}
	if p.first >= 0 {
		l.open = slices.DeleteFunc(l.open, func(o *producer) bool { return o == p })
		for i := p.first; i < l.End(); i++ {
			if e := &l.Entries[i]; e.State == Open && e.Producer.ID == of.ID {
				e.State = Aborted
				if commit {
					e.State = Committed
				}
				ended = append(ended, *e)
			}
		}
	}
	if p.epoch != of.Epoch {
		p.epoch, p.recent, p.next = of.Epoch, nil, 0
	}
	p.first = -1
	p.markers++
	l.Entries = append(l.Entries, Entry{State: Marker, Producer: of})
	return ended
}
