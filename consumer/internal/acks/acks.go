// Package acks turns acknowledgements that come in any order into offsets that are safe to commit.
//
// Records of a partition are handed to workers in the order of the log, and are done in any. A committed offset says that everything
// before it is done, so it may only be that of the first record which is not. The obvious way, to commit the highest offset that is done,
// loses what was still open when the process ends (FR-C9).
//
// What is remembered reaches from the first open record to the last one that was taken, so that one slow record makes it grow; who hands
// records out looks at Len and stops in time.
package acks

import (
	"cmp"
	"slices"
)

// Tracker is one partition's. Its zero value has nothing.
type Tracker struct {
	window []entry // window[head:] begins with an open record, or is empty
	head   int
	open   int
	last   int64 // taken last, once started
	point  Point
	ok     bool // the point is known
	start  bool // something was taken
}

type entry struct {
	offset   int64
	epoch    int32
	done     bool
	metadata string
}

// Point is what may be committed.
type Point struct {
	// At is the offset of the first record that is not done; when all are, the one after the last.
	At int64
	// LeaderEpoch is that of the record before it, which is the last that is done with all before it (KIP-320).
	LeaderEpoch int32
	// Metadata is what the last record up to there that brought any was acknowledged with.
	Metadata string
}

// Take says that a record was handed out. Offsets rise; some may be missing, as they are in logs that are compacted. It returns false for
// one that does not come after those before.
func (t *Tracker) Take(offset int64, epoch int32) bool {
	if t.start && offset <= t.last {
		return false
	}
	t.start, t.last = true, offset
	t.window = append(t.window, entry{offset: offset, epoch: epoch})
	t.open++
	return true
}

// Ack says that a record is done; what metadata says, if anything, is committed with it. It returns false for a record that is not open:
// one that was acknowledged before, or was never taken, or was cut off.
func (t *Tracker) Ack(offset int64, metadata string) bool {
	e := t.find(offset)
	if e == nil {
		return false
	}
	e.done, e.metadata = true, metadata
	t.open--
	t.advance()
	return true
}

// find returns an open record.
func (t *Tracker) find(offset int64) *entry {
	window := t.window[t.head:]
	i, found := slices.BinarySearchFunc(window, offset, func(e entry, offset int64) int { return cmp.Compare(e.offset, offset) })
	if !found || window[i].done {
		return nil
	}
	return &window[i]
}

// IsOpen says whether a record was taken and is not done.
func (t *Tracker) IsOpen(offset int64) bool { return t.find(offset) != nil }

// advance moves the point over what is done.
func (t *Tracker) advance() {
	for t.head < len(t.window) && t.window[t.head].done {
		e := &t.window[t.head]
		t.point.At, t.point.LeaderEpoch, t.ok = e.offset+1, e.epoch, true
		if e.metadata != "" {
			t.point.Metadata = e.metadata
		}
		t.head++
	}
	if t.head > len(t.window)/2 {
		kept := copy(t.window, t.window[t.head:])
		clear(t.window[kept:])
		t.window, t.head = t.window[:kept], 0
	}
}

// Cut forgets the records after an offset as if they had never been taken. They may be taken again.
func (t *Tracker) Cut(after int64) {
	t.point, _ = t.Point() // which may not move back
	for n := len(t.window); n > t.head && t.window[n-1].offset > after; n-- {
		if !t.window[n-1].done {
			t.open--
		}
		t.window = t.window[:n-1]
	}
	t.last = min(t.last, after)
}

// Point returns what may be committed; false as long as no record with all before it is done.
func (t *Tracker) Point() (Point, bool) {
	p := t.point
	if t.ok && t.Len() > 0 {
		p.At = t.window[t.head].offset // what lies between them is no record
	}
	return p, t.ok
}

// Open counts the records that are not done.
func (t *Tracker) Open() int { return t.open }

// Len counts the records that are remembered: the first open one and all after it.
func (t *Tracker) Len() int { return len(t.window) - t.head }
