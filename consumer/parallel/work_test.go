//go:build synctests

package parallel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skeinstream/skein/consumer"
)

// plain is a program with goroutines of its own: one for each record.
type plain struct {
	c    *consumer.Consumer
	work *Work
	w    *world
	all  sync.WaitGroup
	quit context.CancelFunc
	done chan struct{}
}

// plainly polls, and hands records to handle, each in a goroutine; false is that it failed.
func (w *world) plainly(cfg consumer.Config, handle func(r *consumer.Record) bool) *plain {
	w.t.Helper()
	c, work, err := Open(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &plain{c: c, work: work, w: w, done: make(chan struct{})}
	w.ok(c.Subscribe("t"))
	var ctx context.Context
	ctx, p.quit = context.WithCancel(context.Background())
	go func() {
		defer close(p.done)
		for {
			b, err := c.Poll(ctx)
			if err != nil {
				return
			}
			work.Begin(b)
			for r := range b.Records() {
				p.all.Go(func() {
					if handle(r) {
						work.DoneWith(r, "by hand")
					} else {
						work.Failed(r)
					}
				})
			}
		}
	}()
	return p
}

func (p *plain) ends() {
	p.w.t.Helper()
	p.quit()
	<-p.done
	p.w.ok(p.c.Close(context.Background()))
	p.all.Wait()
}

func TestAPlainProgramDrainsAndCommitsOnItsWayOut(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 50)
		b := newBook()
		handle := b.takes(func(r *consumer.Record) time.Duration { return time.Duration(50-r.Offset) * 100 * time.Millisecond })
		p := w.plainly(w.config(), func(r *consumer.Record) bool { return handle(context.Background(), r) == nil })
		pass(3 * time.Second)
		w.ok(p.work.Commit(context.Background()))
		if at := w.committed("t", 0); at > 0 {
			t.Errorf("committed %d while 0 was under way", at)
		}
		p.ends()
		if got := sorted(b.of("t", 0)); !slices.Equal(got, upTo(50)) {
			t.Errorf("handled %v", got)
		}
		if at := w.committed("t", 0); at != 50 {
			t.Errorf("committed %d", at)
		}
	})
}

// TestWhatFailedIsReadAgain: nothing from it on is committed, and nobody waits for it.
func TestWhatFailedIsReadAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		p := w.plainly(w.config(), func(r *consumer.Record) bool { return r.Offset != 4 })
		pass(5 * time.Second)
		if n := p.work.UnderWay(); n != 0 {
			t.Errorf("%d under way", n)
		}
		w.ok(p.work.Commit(context.Background()))
		committed, err := p.c.Committed(context.Background())
		if o := committed[consumer.TopicPartition{Topic: "t"}]; err != nil || o.At != 4 || o.Metadata != "by hand" || o.LeaderEpoch < 0 {
			t.Errorf("committed %+v, %v", o, err)
		}
		p.ends()
	})
}

func TestDrainSaysHowMuchIsLeft(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 3)
		end := make(chan struct{})
		p := w.plainly(w.config(), func(*consumer.Record) bool { <-end; return true })
		pass(5 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := p.work.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3 records") {
			t.Errorf("draining: %v", err)
		}
		w.ok(p.work.Drain(ctx, consumer.TopicPartition{Topic: "t", Partition: 1})) // of which nothing is under way
		close(end)
		w.ok(p.work.Drain(context.Background()))
		p.ends()
	})
}

// TestCommitsInARebalanceAreNoErrors: FR-C10.
func TestCommitsInARebalanceAreNoErrors(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 4)
		for p := range int32(4) {
			w.writes("t", p, 20)
		}
		always := func(*consumer.Record) bool { return true }
		a := w.plainly(w.config(), always)
		pass(5 * time.Second)
		b := w.plainly(w.config(), always)
		for range 50 {
			w.ok(a.work.Commit(context.Background()))
			w.ok(b.work.Commit(context.Background()))
			pass(100 * time.Millisecond)
		}
		w.expel(a.c)
		for range 50 {
			w.ok(a.work.Commit(context.Background()))
			pass(100 * time.Millisecond)
		}
		a.ends()
		b.ends()
		for p := range int32(4) {
			if at := w.committed("t", p); at != 20 {
				t.Errorf("of partition %d is committed %d", p, at)
			}
		}
	})
}
