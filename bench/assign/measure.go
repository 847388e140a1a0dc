package main

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sample is what one implementation did in one scenario, in its own process.
type sample struct {
	// First is the first call, Best and Median are of all. With the error tooSlow
	// Best is how long it was waited for.
	First, Best, Median time.Duration
	Calls               int
	// Allocated is what one call allocates, in bytes and in pieces.
	Allocated, Pieces int64
	// Output is how much of Allocated is the plan itself, for Skein.
	Output int64 `json:",omitempty"`
	// Peak is the largest the process ever was, in bytes.
	Peak int64
	// Owner is who gets each partition, in the order of topics; -1 for nobody.
	Owner []int32 `json:",omitempty"`
	// Err says why there is no result.
	Err string `json:",omitempty"`
}

// tooSlow is the error of those who were ended.
const tooSlow = "too slow"

// clock tells the time that is measured.
type clock func() time.Duration

// wall is the time that passes.
func wall() clock {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// processor is the processor time of the calling thread, which others on the
// machine cannot take away. What collectors and compilers do on other threads is
// not in it.
func processor() clock {
	runtime.LockOSThread()
	return func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic(err) // Linux has it
		}
		return time.Duration(t.Nano())
	}
}

// how says how long a child measures, and by which clock.
type how struct {
	budget    time.Duration
	processor bool
}

// repeat calls run for the budget of time, at least twice unless that takes too
// long, and measures.
func repeat(h how, run func()) sample {
	var s sample
	var times []time.Duration
	now, budget := wall(), h.budget
	if h.processor {
		now = processor()
	}
	for spent := time.Duration(0); len(times) < 2 || spent < budget; {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := now()
		run()
		took := now() - began
		runtime.ReadMemStats(&after)
		times = append(times, took)
		spent += took
		s.Allocated, s.Pieces = int64(after.TotalAlloc-before.TotalAlloc), int64(after.Mallocs-before.Mallocs)
		if spent > 3*budget || len(times) == 1000 {
			break
		}
	}
	s.First, s.Calls = times[0], len(times)
	slices.Sort(times)
	s.Best, s.Median = times[0], times[len(times)/2]
	s.Peak = peak()
	return s
}

// peak reads the largest resident size of this process; 0 where the system does
// not tell.
func peak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
