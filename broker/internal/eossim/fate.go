package eossim

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
	"github.com/skeinstream/skein/internal/vfs"
)

// fates lets the broker crash, and come back, as often and when the plan says, and its disk be full in between.
func (w *world) fates() {
	dice := w.dice("fate", 0)
	for number := 1; ; number++ {
		time.Sleep(w.plan.calm/time.Duration(w.plan.crashes+1) + spread(dice, time.Second) - 500*time.Millisecond)
		if w.plan.full && dice.IntN(2) == 0 {
			w.fill(dice)
		}
		if number > w.plan.crashes {
			return
		}
		if !w.fate(fate{
			gentle: dice.IntN(6) == 0, power: dice.IntN(3) > 0, seed: dice.Uint64(), at: dice.IntN(60), down: spread(dice, w.plan.down),
		}, number) {
			return
		}
	}
}

// fill lets the disk be full for a while: the write-ahead log, segments, or both cannot be written.
func (w *world) fill(dice *rand.Rand) {
	from := w.now()
	room := w.last.Fail(vfs.Rule{
		Op: vfs.OpWrite, Name: []string{"*.wal", "*.log", ""}[dice.IntN(3)], Skip: dice.IntN(5), Err: syscall.ENOSPC, Short: dice.IntN(300),
	})
	time.Sleep(spread(dice, time.Second))
	room()
	w.know(func(h *history.History) { h.Full = append(h.Full, history.Span{From: from, To: w.now()}) })
}

// fate is one end of the broker.
type fate struct {
	gentle bool // it is shut down
	power  bool // else it is killed
	seed   uint64
	at     int // before this change of the disk, from now on; 0: now
	down   time.Duration
}

// fate ends the broker and starts the next one.
func (w *world) fate(f fate, number int) bool {
	l := w.there()
	if err := l.broker.Err(); err != nil {
		w.problem("the broker has failed: %w", err)
		return false
	}
	var left *vfs.Memory
	if f.gentle {
		w.leave(l)
		left = w.last.memory.KillClone()
	} else {
		left = w.kill(l, f)
	}
	w.mu.Lock()
	w.crashes++
	w.mu.Unlock()
	time.Sleep(f.down)
	return w.start(left, number)
}

// leave shuts the broker down.
func (w *world) leave(l *line) {
	w.mu.Lock()
	w.line = nil
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.broker.Shutdown(ctx); err != nil {
		w.problem("shutting down: %w", err)
	}
	l.cut.Store(true)
	l.end()
}

// patience is how long it waits for the change of the disk that a crash is to come before.
const patience = 300 * time.Millisecond

// kill stops the broker in the middle of what it does and returns what is left of its disk. What it has said before has been
// sent; nobody hears anything from it after that instant, though it lives on, on a disk that nobody looks at any more.
func (w *world) kill(l *line, f fate) *vfs.Memory {
	d := w.last
	left := make(chan *vfs.Memory, 1)
	stop := func() {
		if l.cut.CompareAndSwap(false, true) {
			left <- d.crash(f.power, f.seed)
		}
	}
	if f.at > 0 {
		from := d.Mutations()
		d.BeforeMutation(func(n int, _ vfs.Op, _ string) {
			if n == from+f.at {
				stop()
			}
		})
	}
	var image *vfs.Memory
	if f.at > 0 {
		select {
		case image = <-left:
		case <-time.After(patience):
		}
	}
	if image == nil {
		stop()
		image = <-left
	}
	w.mu.Lock()
	w.line = nil
	w.mu.Unlock()
	l.end()
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.broker.Shutdown(ctx)
	})
	return image
}
