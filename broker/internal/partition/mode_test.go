package partition

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// syncs counts the syncs of a topic's segments.
func syncs(faults *vfs.Faults) *int {
	n := new(int)
	faults.BeforeMutation(func(_ int, op vfs.Op, name string) {
		if op == vfs.OpSync && strings.Contains(name, "t-0/") && strings.HasSuffix(name, ".log") {
			*n++
		}
	})
	return n
}

// TestModesSync: what a mode promises is when the segment is synced.
func TestModesSync(t *testing.T) {
	tests := []struct {
		name    string
		configs []string
		appends int
		wait    time.Duration
		want    int
	}{
		{"os never", []string{"skein.durability", "os"}, 3, time.Hour, 0},
		{"interval after the interval", []string{"skein.durability", "interval"}, 3, 1100 * time.Millisecond, 1},
		{"interval not before", []string{"skein.durability", "interval"}, 3, 900 * time.Millisecond, 0},
		{"flush.ms in os", []string{"skein.durability", "os", "flush.ms", "3000"}, 3, 5 * time.Second, 1},
		{"flush.messages in os", []string{"skein.durability", "os", "flush.messages", "3"}, 3, 10 * time.Millisecond, 1},
		{"flush.messages not reached", []string{"skein.durability", "os", "flush.messages", "4"}, 3, time.Minute, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := vfs.NewFaults(vfs.NewMemory())
				n := syncs(faults)
				w := newWorld(t, faults).start()
				p := w.create("t", 1, test.configs...).Partition(0)
				for range test.appends {
					w.appended(p, batch(1), 0)
				}
				w.settle(test.wait)
				if *n != test.want {
					t.Errorf("%d syncs, want %d", *n, test.want)
				}
				w.stop()
			})
		})
	}
}

// TestFlushAfterEveryMessageIsModeAlways: such an append is not answered before it is on the disk.
func TestFlushAfterEveryMessageIsModeAlways(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.create("t", 1, "skein.durability", "os", "flush.messages", "1").Partition(0)
		if f := send(p, batch(1)); f.count() != 0 {
			t.Error("answered before a commit")
		}
		w.run()
		w.stop()
	})
}

// TestModeChangesUnderway: appends of both modes keep their order, and from relaxed to always nothing un-synced is left
// below what the write-ahead log has.
func TestModeChangesUnderway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		topic := w.create("t", 1, "skein.durability", "os")
		p := topic.Partition(0)
		next := int32(0)
		for round := range 6 {
			for range 3 {
				w.appended(p, from(5, 0, next, 1), 0)
				next++
			}
			w.configure(topic, "skein.durability", []string{"always", "os"}[round%2])
			f := send(p, from(5, 0, next, 1)) // may be parked
			next++
			synctest.Wait()
			if f.count() != 1 || f.Result.Code != 0 || f.Result.BaseOffset != int64(next-1) {
				t.Fatalf("round %d: told %d times, %+v", round, f.count(), f.Result)
			}
			if p.relaxed == (round%2 == 0) {
				t.Errorf("round %d: relaxed is %v", round, p.relaxed)
			}
		}
		w.configure(topic, "skein.durability", "always")
		synctest.Wait()
		w.appended(p, from(5, 0, next, 1), 0)
		clone := fs.CrashClone(11)
		w.kill()
		w = newWorld(t, clone).start()
		if got := w.partition("t").HighWatermark(); got != int64(next)+1 {
			t.Errorf("high watermark %d after a power cut, want %d", got, next+1)
		}
		w.stop()
	})
}

// TestChangeToRelaxedWaitsForTheCommitter: appends behind pending ones are parked, not written before them.
func TestChangeToRelaxedWaitsForTheCommitter(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil { // nothing commits yet
			t.Fatal(err)
		}
		topic := w.create("t", 1)
		p := topic.Partition(0)
		var order []int64
		var sent []*waitFor
		add := func() {
			f := &waitFor{order: &order}
			f.Records, f.Done = batch(1), f
			sent = append(sent, f)
			p.Append(&f.Append)
		}
		add()
		w.configure(topic, "skein.durability", "os")
		if err := p.followMode(); err != nil {
			t.Fatal(err)
		}
		add()
		if !p.changing || sent[1].count() != 0 {
			t.Fatal("the append overtook one that is pending")
		}
		w.run()
		add()
		if !slices.Equal(order, []int64{0, 1, 2}) || !p.relaxed || p.changing {
			t.Errorf("order %v, relaxed %v, changing %v", order, p.relaxed, p.changing)
		}
		if got := w.read(p, 0); !slices.Equal(got, []int64{0, 1, 2}) {
			t.Errorf("read %v", got)
		}
		w.stop()
	})
}

// TestUnsyncedTailOfAnEarlierModeIsSyncedFirst: the broker was killed in mode os and comes back in mode always.
func TestUnsyncedTailOfAnEarlierModeIsSyncedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs)
		w.static["skein.durability"] = "os"
		w.start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, batch(2), 0)
		clone := fs.KillClone()
		w.kill()
		w = newWorld(t, clone)
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p = w.partition("t")
		if p.log.RecoveryPoint() != 2 {
			t.Errorf("recovery point %d before anything can follow", p.log.RecoveryPoint())
		}
		f := send(p, batch(1))
		w.run()
		if f.count() != 1 || f.Result.BaseOffset != 2 {
			t.Errorf("told %d times, %+v", f.count(), f.Result)
		}
		cut := clone.CrashClone(5)
		w.kill()
		w = newWorld(t, cut).start()
		if got := w.read(w.partition("t"), 0); !slices.Equal(got, []int64{0, 2}) {
			t.Errorf("read %v", got)
		}
		w.stop()
	})
}
