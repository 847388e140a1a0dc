package broker

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// TestAnEndIsOneSync: whatever a transaction has written to, its end waits for one sync of the write-ahead log, and when it
// is answered those who read what is committed can have all of it (docs/decision/0006).
func TestAnEndIsOneSync(t *testing.T) {
	for _, old := range []bool{false, true} {
		onFaultyDisk(t, nil, func(h *house) {
			h.createTopic("a", 3)
			p := h.producer("id")
			p.w.old = old
			h.must(retrying(p.begin))
			for round := range int64(10) {
				for index := range int32(3) {
					h.must(p.send(partitionName{"a", index}, "v"))
				}
				h.must(p.commitOffset("g", "a", round))
				pass(time.Second)
				synctest.Wait()
				var syncs, others atomic.Int64
				h.faults.BeforeMutation(func(_ int, op vfs.Op, name string) {
					switch {
					case op == vfs.OpSync && strings.Contains(name, "wal"):
						syncs.Add(1)
					case op == vfs.OpSync:
						others.Add(1)
					}
				})
				h.must(p.end(true))
				h.faults.BeforeMutation(func(int, vfs.Op, string) {})
				if syncs.Load() != 1 || others.Load() != 0 {
					t.Errorf("round %d: %d syncs of the log, %d others", round, syncs.Load(), others.Load())
				}
				for index := range int32(3) {
					got := h.isolated(partitionName{"a", index}, 0, 1)
					if end := 2 * (round + 1); got.LastStableOffset != end || got.HighWatermark != end {
						t.Errorf("round %d, partition %d: stable up to %d of %d", round, index, got.LastStableOffset, got.HighWatermark)
					}
				}
				h.expectOffset("g", "a", round)
			}
		})
	}
}
