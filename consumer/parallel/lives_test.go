//go:build synctests

package parallel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/skeinstream/skein/consumer"
)

// TestManyShortLives: FR-C9. A processor that is ended again and again, at any moment, leaves behind what it has done, and nothing more: no
// record is lost, and what was committed is done.
func TestManyShortLives(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	durations := make([]time.Duration, 997)
	for i := range durations {
		durations[i] = time.Duration(random.IntN(3000)) * time.Millisecond
	}
	inBubble(t, func(w *world) {
		const records = 2000
		w.topic("t", 1)
		w.writes("t", 0, records, "a", "b", "c", "d", "e", "f", "g")
		b := newBook()
		handle := b.takes(func(r *consumer.Record) time.Duration { return durations[int(r.Offset)%len(durations)] })
		lives := 0
		for ; w.committed("t", 0) < records && lives < 1000; lives++ {
			// The short drain has some of them end before their work does.
			drain := time.Duration(1+random.IntN(5)) * time.Second
			r := w.runs(Config{Consumer: w.config(), Handle: handle, Workers: 5, Window: 40, DrainTimeout: drain, CommitInterval: time.Hour}, "t")
			pass(time.Duration(random.IntN(8000)) * time.Millisecond)
			r.ends()
			done := slices.Compact(sorted(b.of("t", 0)))
			if at := w.committed("t", 0); at > int64(len(done)) || at > 0 && done[at-1] != at-1 {
				t.Fatalf("after %d lives %d is committed, and done are %v", lives, at, done)
			}
		}
		if got := slices.Compact(sorted(b.of("t", 0))); !slices.Equal(got, upTo(records)) || b.clashes > 0 {
			t.Errorf("after %d lives were handled %d of %d records, with %d clashes", lives, len(got), records, b.clashes)
		}
		t.Logf("%d lives, %d records handled twice", lives, len(b.of("t", 0))-records)
	})
}
