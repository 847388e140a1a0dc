package coordinator

import (
	"cmp"
	"sync"

	"github.com/skeinstream/skein/internal/machine"
)

// A run is consecutive records that make one batch: those of one producer, or one marker.

// firstRun splits records behind the first run.
func firstRun(records []machine.Record) (run, rest []machine.Record) {
	if len(records) == 0 {
		return nil, nil
	}
	n := 1
	for n < len(records) && records[0].Marker == nil && records[n].Marker == nil && records[n].Producer == records[0].Producer {
		n++
	}
	return records[:n], records[n:]
}

func countRuns(records []machine.Record) (n int) {
	for run, rest := firstRun(records); len(run) > 0; run, rest = firstRun(rest) {
		n++
	}
	return n
}

// runs is the batches of one append, which is over when the last of them is.
type runs struct {
	done func(error)

	mu      sync.Mutex // guards what follows
	missing int
	failed  error
}

func (r *runs) told(err error) {
	r.mu.Lock()
	r.missing--
	r.failed = cmp.Or(r.failed, err)
	last, err := r.missing == 0, r.failed
	r.mu.Unlock()
	if last {
		r.done(err)
	}
}
