package storage

import (
	"testing"

	"pgregory.net/rapid"
)

// The same workload answers the same whatever the size of segments, the density of
// the indexes, and wherever the log is closed, killed and opened anew.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := small()
		cfg.SegmentBytes = rapid.SampledFrom([]int64{300, 1500, 10_000, 1 << 20}).Draw(rt, "segment")
		cfg.IndexInterval = rapid.SampledFrom([]int64{0, 150, 1000, 4096}).Draw(rt, "interval")
		cfg.IndexBytes = rapid.SampledFrom([]int64{60, 200, 10 << 20}).Draw(rt, "index")
		cfg.RetentionBytes = rapid.SampledFrom([]int64{-1, -1, 2000, 8000}).Draw(rt, "retention")
		disk, _ := memory(t)
		w := newWorld(t, rapid.Uint64().Draw(rt, "seed"), disk, cfg)
		w.open()
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			w.step()
			if w.w.IntN(30) == 0 { // kill it
				again := *w
				again.memory = w.memory.KillClone()
				again.faults = newWorld(t, 0, again.memory, cfg).faults
				w = &again
				w.saved.Clean = false
				w.open()
				w.point = w.log.RecoveryPoint()
			}
		}
		w.history.check(t, w.log)
	})
}
