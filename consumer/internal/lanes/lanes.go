// Package lanes decides which record may be worked on next, where those of one key have to keep their order and all others need not
// wait for them.
//
// To deal keys out to workers by their hash would do it too, and have every key of a worker wait behind its slowest. Here each key
// has a lane of its own while it has records: the first of a lane is ready when the one before it is over, and whoever is free takes
// what has been ready for the longest.
package lanes

import "github.com/skeinstream/skein/consumer/internal/membership"

// Partition names a partition.
type Partition = membership.TopicPartition

// Queue is what waits and what is under way. Its zero value is empty.
type Queue[T any] struct {
	partitions map[Partition]*partition[T]
	ready      fifo[*lane[T]]
}

// Item is one record under way.
type Item[T any] struct {
	Offset int64
	Value  T
	lane   *lane[T]
}

// Partition is whose record it is.
func (i Item[T]) Partition() Partition { return i.lane.of.name }

// Abandoned says that its partition was forgotten meanwhile.
func (i Item[T]) Abandoned() bool { return i.lane.of.forgotten }

type partition[T any] struct {
	name      Partition
	lanes     map[string]*lane[T]
	begun     int64 // the highest offset that was worked on
	underWay  int
	waiting   int
	forgotten bool
}

// lane has records that wait for each other. It is ready when it has some and none is under way.
type lane[T any] struct {
	of      *partition[T]
	key     string
	named   bool // it is found by its key
	waiting fifo[Item[T]]
	busy    bool
}

// Add has a record wait. Those of a partition with one key are worked on one after the other; one that is alone waits for none.
// Offsets of a partition rise.
func (q *Queue[T]) Add(p Partition, offset int64, key []byte, alone bool, value T) {
	of := q.partitions[p]
	if of == nil {
		of = &partition[T]{name: p, lanes: map[string]*lane[T]{}, begun: -1}
		if q.partitions == nil {
			q.partitions = map[Partition]*partition[T]{}
		}
		q.partitions[p] = of
	}
	l := of.lanes[string(key)]
	if l == nil || alone {
		l = &lane[T]{of: of, named: !alone}
		if !alone {
			l.key = string(key)
			of.lanes[l.key] = l
		}
	}
	of.waiting++
	l.waiting.push(Item[T]{Offset: offset, Value: value, lane: l})
	if l.waiting.len() == 1 && !l.busy {
		q.ready.push(l)
	}
}

// Next takes the record that has been ready for the longest; false when there is none.
func (q *Queue[T]) Next() (Item[T], bool) {
	if q.ready.len() == 0 {
		return Item[T]{}, false
	}
	l := q.ready.pop()
	item := l.waiting.pop()
	l.busy = true
	l.of.waiting--
	l.of.underWay++
	l.of.begun = max(l.of.begun, item.Offset)
	return item, true
}

// Done says that a record is over: the next of its lane is ready.
func (q *Queue[T]) Done(item Item[T]) {
	l := item.lane
	l.busy = false
	l.of.underWay--
	switch {
	case l.waiting.len() > 0:
		q.ready.push(l)
	case l.named:
		delete(l.of.lanes, l.key)
	}
}

// Cut takes away what waits behind every record that was begun, and returns how many those are, and the highest offset that was begun. What is
// left is needed for the offsets to have no hole: with it done, nothing that was done is done again by the next owner.
func (q *Queue[T]) Cut(p Partition) (n int, begun int64) {
	of := q.partitions[p]
	if of == nil {
		return 0, -1
	}
	return q.drop(of, func(i Item[T]) bool { return i.Offset > of.begun }), of.begun
}

// Clear takes away all that waits of a partition, and returns how many records that are.
func (q *Queue[T]) Clear(p Partition) (n int) {
	of := q.partitions[p]
	if of == nil {
		return 0
	}
	return q.drop(of, func(Item[T]) bool { return true })
}

func (q *Queue[T]) drop(of *partition[T], is func(Item[T]) bool) (n int) {
	for key, l := range of.lanes {
		n += l.waiting.drop(is)
		if l.waiting.len() == 0 && !l.busy {
			delete(of.lanes, key)
		}
	}
	q.ready.drop(func(l *lane[T]) bool {
		if l.of == of && !l.named {
			n += l.waiting.drop(is)
		}
		return l.waiting.len() == 0
	})
	of.waiting -= n
	return n
}

// Forget takes away all that waits of a partition. What is under way stays so until it is Done.
func (q *Queue[T]) Forget(p Partition) {
	of := q.partitions[p]
	if of == nil {
		return
	}
	q.Clear(p)
	delete(q.partitions, p)
	of.forgotten = true
}

// Pending counts the records of a partition that wait or are under way.
func (q *Queue[T]) Pending(p Partition) int {
	of := q.partitions[p]
	if of == nil {
		return 0
	}
	return of.waiting + of.underWay
}
