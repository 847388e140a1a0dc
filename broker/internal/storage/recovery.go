package storage

import "fmt"

// Recovery is what the caller knows of a log that Open does not.
type Recovery struct {
	// DurableTo is the recovery point: every offset below it was once reported by
	// Log.RecoveryPoint, so its bytes must be there and valid.
	DurableTo int64
	// Clean: the log was closed with Close and nothing has written since. The tail
	// is then trusted and not read through.
	Clean bool
	// StartOffset is the log start offset that was last persisted, 0 if none was.
	// Segments wholly below it are removed.
	StartOffset int64
	// Resupply are the offsets that the caller will write again after Open, from
	// its write-ahead log: bad bytes below DurableTo are cut, not reported as
	// damage, when these ranges cover everything from there to DurableTo.
	Resupply []Range
}

// Range is offsets From up to, not including, To.
type Range struct{ From, To int64 }

// Report says what Open found and did.
type Report struct {
	Segments int
	// Cut is the number of bytes behind the last valid batch that were removed.
	// CutFrom is the log's end after that. CutBatches of the batches removed were
	// whole and valid but stood behind a hole: nobody had been told of them.
	Cut        int64
	CutFrom    int64
	CutBatches int
	CutReason  string
	// Scanned is the number of bytes read through and validated.
	Scanned int64
	// Rebuilt names the derived files that had to be made anew.
	Rebuilt []string
	// Swapped is the number of segments whose compaction a crash had interrupted
	// and Open finished.
	Swapped int
}

// DamageError says that bytes which were durable are not valid batches any more.
// Nothing has been changed. Repair decides what becomes of the log.
type DamageError struct {
	File     string // path of the segment
	Position int64  // of the first bad byte in File
	Offset   int64  // first offset that cannot be read
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d, offset %d: %s", e.File, e.Position, e.Offset, e.Reason)
}
