// Package reset decides where a partition is read from when there is no committed offset, or none that the log holds: pure.
package reset

import (
	"errors"
	"time"
)

// Policy is auto.offset.reset (KIP-1106): one of the constants, or how long ago, by ByDuration.
type Policy time.Duration

const (
	// Latest is the end of the log: what is written from now on.
	Latest Policy = 0
	// Earliest is the start of the log.
	Earliest Policy = -1
	// None is an error for the user.
	None Policy = -2
)

// ByDuration is the first record that is not older than d, or the end of the log if there is none.
func ByDuration(d time.Duration) Policy { return Policy(max(d, 1)) }

// ErrPolicy is a policy that is none of the constants and no duration.
var ErrPolicy = errors.New("the reset policy is Latest, Earliest, None, or ByDuration of a positive duration")

// Check refuses what is no policy.
func (p Policy) Check() error {
	if p < None {
		return ErrPolicy
	}
	return nil
}

// Timestamps of ListOffsets that are no time.
const (
	End   int64 = -1
	Start int64 = -2
)

// Timestamp is what ListOffsets is asked with. It is not called with None.
func (p Policy) Timestamp(now time.Time) int64 {
	switch {
	case p == Latest:
		return End
	case p == Earliest:
		return Start
	}
	return now.Add(-time.Duration(p)).UnixMilli()
}

// Verdict says what to do about a position that a broker has called out of range.
type Verdict uint8

const (
	// Stay at the position: the log holds it, and the answer was one of a passing moment (FR-F8).
	Stay Verdict = iota
	// Skip to the start of the log: what was in between is gone by retention (FR-F9).
	Skip
	// Apply the policy: the log ends before the position.
	Apply
	// Ask the user.
	Ask
)

// OutOfRange judges a position by the bounds of the log, as its leader gives them.
func (p Policy) OutOfRange(position, start, end int64) Verdict {
	switch {
	case start <= position && position <= end:
		return Stay
	case p == None:
		return Ask
	case position < start:
		return Skip
	}
	return Apply
}
