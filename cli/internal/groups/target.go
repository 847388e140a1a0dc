package groups

import (
	"fmt"
	"time"
)

// Kind is a way to say where a group is to go on.
type Kind string

// The kinds of targets, by the names of their options.
const (
	ToOffset   Kind = "to-offset"
	ToTime     Kind = "to-datetime"
	ByDuration Kind = "by-duration"
	ToEarliest Kind = "to-earliest"
	ToLatest   Kind = "to-latest"
	ToCurrent  Kind = "to-current"
	ShiftBy    Kind = "shift-by"
	FromFile   Kind = "from-file"
)

// Target is where a group is to go on.
type Target struct {
	Kind   Kind
	Number int64     // the offset, or by how much to shift
	Time   time.Time // for ToTime and ByDuration
	Rows   []Row     // for FromFile
}

// timed says that the target needs offsets looked up by time.
func (t Target) timed() bool { return t.Kind == ToTime || t.Kind == ByDuration }

// Move is what a reset does to one partition.
type Move struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Old       *int64 `json:"old_offset"` // null: nothing was committed
	New       *int64 `json:"new_offset"` // null: there is none, and Error says why
	Note      string `json:"note,omitempty"`
	Error     string `json:"error,omitempty"`

	epoch    int32 // of what stays as it is
	metadata string
}

// known is what there is to know about one partition before a reset.
type known struct {
	ends  ends
	timed int64 // first offset of the target's time; the end where there is none
	// What is committed; Old is nil where nothing is.
	old      *int64
	epoch    int32
	metadata string
	// wanted is what a file says.
	wanted int64
}

// move works out where the target is in one partition.
func (t Target) move(topic string, partition int32, k known) Move {
	m := Move{Topic: topic, Partition: partition, Old: k.old, epoch: -1}
	switch t.Kind {
	case ToOffset:
		m.clamp(t.Number, k.ends)
	case FromFile:
		m.clamp(k.wanted, k.ends)
	case ToEarliest:
		m.New = &k.ends.start
	case ToLatest:
		m.New = &k.ends.high
	case ToTime, ByDuration:
		m.clamp(k.timed, k.ends)
		if k.timed == k.ends.high {
			m.Note = "no record is that young"
		}
	case ToCurrent:
		m.stay(k)
	case ShiftBy:
		m.shift(t.Number, k)
	}
	return m
}

// clamp moves an offset to where the log is.
func (m *Move) clamp(offset int64, e ends) {
	inside := min(max(offset, e.start), e.high)
	m.New = &inside
	switch {
	case offset < inside:
		m.Note = fmt.Sprintf("%d is before the log, which begins at %d", offset, e.start)
	case offset > inside:
		m.Note = fmt.Sprintf("%d is behind the log, which ends before %d", offset, e.high)
	}
}

// stay keeps what is committed, and all that belongs to it, unless the log has nothing there any more.
func (m *Move) stay(k known) {
	if k.old == nil {
		m.New, m.Note = &k.ends.high, "nothing is committed: the end"
		return
	}
	if m.clamp(*k.old, k.ends); *m.New == *k.old {
		m.epoch, m.metadata = k.epoch, k.metadata
	}
}

func (m *Move) shift(by int64, k known) {
	if k.old == nil {
		m.Error = "nothing is committed that could be shifted"
		return
	}
	to := *k.old + by
	switch { // an overflow is as far as it goes
	case by > 0 && to < *k.old:
		to = k.ends.high
	case by < 0 && to > *k.old:
		to = k.ends.start
	}
	m.clamp(to, k.ends)
}
