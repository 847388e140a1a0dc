package record

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// tally gathers what the records of one batch amount to: the largest timestamp,
// and the records that the topic's rules do not allow.
type tally struct {
	rules *Rules
	base  int64 // the batch's base timestamp
	// stamp is the timestamp of every record of a batch that came with the
	// LogAppendTime bit set, which Kafka lets pass unless the topic has it too.
	stamped bool
	stamp   int64

	max    int64
	maxAt  int32
	errors []RecordError
	faults int
	times  bool // one of the faults is a timestamp
}

func newTally(h Header, r *Rules) tally {
	t := tally{rules: r, base: h.BaseTimestamp, max: noTimestamp, stamped: h.LogAppendTime(), stamp: h.MaxTimestamp}
	if r.LogAppendTime {
		t.max = r.Now
	}
	return t
}

// unread is the tally of a batch whose records are not looked at.
func unread(h Header, r *Rules) tally {
	t := newTally(h, r)
	t.maxAt = h.LastOffsetDelta
	if !r.LogAppendTime {
		t.max = h.MaxTimestamp
	}
	return t
}

// add takes in a record. Of several faults of a record the first counts.
func (t *tally) add(index int32, f *fields) {
	timestamp := t.base + f.timestampDelta
	if t.stamped {
		timestamp = t.stamp
	}
	switch {
	case t.rules.Compacted && f.keyless:
		t.fault(index, "the topic is compacted and the record has no key")
	case t.rules.LogAppendTime || timestamp == noTimestamp:
		if t.stamped {
			t.times = true
			t.fault(index, "producers must not set the timestamp type to LogAppendTime")
		}
	case t.outside(timestamp):
		t.times = true
		t.fault(index, "")
		t.explain(timestamp)
	}
	if !t.rules.LogAppendTime && timestamp > t.max {
		t.max, t.maxAt = timestamp, index
	}
}

// outside reports whether a timestamp is out of range, by Kafka's arithmetic: it
// wraps around, so that the largest limit reaches every timestamp but those that
// themselves wrapped.
func (t *tally) outside(timestamp int64) bool {
	age := t.rules.Now - timestamp
	return age > t.rules.BeforeMaxMs || -age > t.rules.AfterMaxMs
}

func (t *tally) fault(index int32, message string) {
	t.faults++
	if len(t.errors) < recordErrorsMax {
		t.errors = append(t.errors, RecordError{Index: index, Message: message})
	}
}

// explain words the last fault, a timestamp, unless it is one too many to name.
func (t *tally) explain(timestamp int64) {
	if t.faults == len(t.errors) {
		t.errors[t.faults-1].Message = fmt.Sprintf("timestamp %d is out of range, it should be within [%d, %d]",
			timestamp, t.rules.Now-t.rules.BeforeMaxMs, t.rules.Now+t.rules.AfterMaxMs)
	}
}

// refusal names the records at fault. Any bad timestamp makes it a matter of
// timestamps, as in Kafka.
func (t *tally) refusal() *Refusal {
	if t.faults == 0 {
		return nil
	}
	code := kerr.InvalidRecord
	if t.times {
		code = kerr.InvalidTimestamp
	}
	r := refuse(code, "%d records were rejected; record %d: %s", t.faults, t.errors[0].Index, t.errors[0].Message)
	r.Records = t.errors
	return r
}
