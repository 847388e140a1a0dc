package storage

import (
	"fmt"
	"math"
)

// Recovery is what the caller knows of a log that Open does not.
type Recovery struct {
	// DurableTo is the recovery point: every offset below it was once reported by
	// Log.RecoveryPoint, so its bytes must be there and valid.
	DurableTo int64
	// Promised is at least DurableTo: every offset below it was durable, in the
	// segments or in what Resupply has.
	Promised int64
	// Clean: the log was closed with Close and nothing has written since. The tail
	// is then trusted and not read through.
	Clean bool
	// StartOffset is the log start offset that was last persisted, 0 if none was.
	StartOffset int64
	// Resupply are the offsets that the caller will write again after Open, from
	// its write-ahead log: bad bytes below Promised are cut, not reported as
	// damage, when these ranges cover everything from there to Promised.
	Resupply []Range
}

// Range is offsets From up to, not including, To.
type Range struct{ From, To int64 }

// Cover reports whether everything from up to, not including, to lies in one of
// the ranges, which may be in any order.
func Cover(ranges []Range, from, to int64) bool {
	for from < to {
		reached := from
		for _, span := range ranges {
			if span.From <= from {
				reached = max(reached, span.To)
			}
		}
		if reached == from {
			return false
		}
		from = reached
	}
	return true
}

// Report says what Open found and did.
type Report struct {
	Segments int
	// Cut is the number of bytes behind the last valid batch that were removed,
	// CutFrom the log's end after that. CutBatches of the batches removed were whole
	// and valid but stood behind a hole: nobody had been told of them.
	Cut        int64
	CutFrom    int64
	CutBatches int
	CutReason  string
	// Scanned is the number of bytes read through and validated.
	Scanned int64
	// Rebuilt names the derived files that had to be made anew.
	Rebuilt []string
	// Swapped is the number of segments whose replacement a crash had interrupted
	// and Open finished.
	Swapped int
}

// DamageError says that bytes which were durable are not valid batches any more.
// No batch has been touched. Repair decides what becomes of the log.
type DamageError struct {
	File     string // path of the segment
	Position int64  // of the first bad byte in File
	Offset   int64  // first offset that cannot be read
	Reason   string

	cause error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d, offset %d: %s", e.File, e.Position, e.Offset, e.Reason)
}

// Unwrap is what was found there, if anything was.
func (e *DamageError) Unwrap() error { return e.cause }

// resupplied reports whether the caller will write everything from up to to again.
func (r *Recovery) resupplied(from, to int64) bool { return Cover(r.Resupply, from, to) }

// trusted is the offset below which batches are taken as they are: what lies
// below was durable, and must be valid or is damage.
func (r *Recovery) trusted() int64 {
	if r.Clean {
		return math.MaxInt64
	}
	return r.DurableTo
}
