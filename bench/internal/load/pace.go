package load

import (
	"context"
	"runtime"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
)

// schedule is an open loop: record i is due at a fixed time, whatever became
// of the records before it. A late sender does not move the times, so that a
// stall is counted for every record that it kept waiting (no coordinated
// omission).
type schedule struct {
	began time.Time
	every time.Duration
	count int
	first uint64 // number of record 0
}

func newSchedule(began time.Time, rate int, length time.Duration) schedule {
	return schedule{began: began, every: time.Second / time.Duration(rate), count: int(length.Seconds() * float64(rate))}
}

// due is when record i shall be sent.
func (s schedule) due(i int) time.Time { return s.began.Add(time.Duration(i) * s.every) }

// number goes into record i, so that it is known when it comes out.
func (s schedule) number(i int) uint64 { return s.first + uint64(i) }

// index is the record with this number; ok is false when it is of no record of
// this schedule.
func (s schedule) index(number uint64) (i int, ok bool) {
	number -= s.first // what was before it becomes great
	return int(number), number < uint64(s.count)
}

// leadIn is how many of the first records are sent but not counted: a tenth.
func (s schedule) leadIn() int { return s.count / 10 }

// run calls send for each record when it is due, on a thread of its own.
func (s schedule) run(ctx context.Context, send func(i int)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range s.count {
		for wait := time.Until(s.due(i)); wait > 0; wait = time.Until(s.due(i)) {
			machine.Pause(wait)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		send(i)
	}
	return nil
}
