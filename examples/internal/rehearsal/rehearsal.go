//go:build synctests

package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/examples/internal/stage"
)

// Script is what goes wrong: of some kinds of faults, so many at the most. Those that are left when all input is worked on do not happen.
type Script struct {
	Seed   uint64
	Kinds  []Fault
	Faults int
	// Fuse is after how many messages at the most something happens to a worker again; 0 is 150.
	Fuse int
	// Steady is that nothing happens to the first worker.
	Steady bool
	// Nameless are workers that nobody knows when they come back: they leave the group when they end, and the group has to find out that they
	// have crashed.
	Nameless bool
}

// Run plays a play in a bubble and fails the test unless its check passes. It returns how many faults there were.
func Run(t *testing.T, play stage.Play, script Script) (faults int) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{
			"connections.max.idle.ms": "-1", "group.initial.rebalance.delay.ms": "0",
		}})
		if err != nil {
			t.Fatal(err)
		}
		at := stage.Place{Dir: dir, Cluster: client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer()}}
		c := &crew{play: play, at: at, script: script, random: rand.New(rand.NewPCG(script.Seed, 0)), left: script.Faults, count: map[Fault]int{}, failed: make(chan error, 1)}
		c.ctx, c.stop = context.WithCancel(ctx)
		verdict, err := play.Perform(ctx, at, c, 0, func(string) {})
		if err != nil {
			t.Errorf("seed %d: after %v: %v", script.Seed, c.count, err)
		}
		t.Logf("seed %d: %v; %s", script.Seed, c.count, verdict)
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		for _, n := range c.count {
			faults += n
		}
	})
	return faults
}

// crew are workers in this process. Each has a line with a fuse: when that is burnt, nothing of it is heard any more, which is all that the
// others and the broker notice of a crash.
type crew struct {
	play   stage.Play
	at     stage.Place
	script Script
	failed chan error

	ctx  context.Context // of all workers
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	left   int // faults that may happen yet
	count  map[Fault]int
}

// Fault is what happens to a worker, in the middle of a message.
type Fault string

const (
	// Crash ends it. It is started again within some seconds.
	Crash Fault = "crash"
	// Absence has it not be heard for up to a minute: more than its transactions may take, and more than its group waits. Then it goes on.
	Absence Fault = "absence"
	// End ends it in peace. It is started again within two seconds.
	End Fault = "end"
)

// longest is how long it lasts.
func (f Fault) longest() time.Duration {
	switch f {
	case Absence:
		return time.Minute
	case End:
		return 2 * time.Second
	}
	return 15 * time.Second
}

// Start begins the first of the lives of a worker.
func (c *crew) Start(name string) error {
	c.work.Go(func() {
		for again := true; again; {
			again = c.live(name)
		}
	})
	return nil
}

// live is one life of a worker; it says whether another is to follow.
func (c *crew) live(name string) bool {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel() // one that has crashed goes on in the dark until then
	l := &line{under: c.at.Cluster.Dial, burnt: make(chan struct{}, 1)}
	steady := c.script.Steady && name == stage.WorkerName(0)
	if !steady {
		l.mends(c.fuse())
	}
	at := c.at
	at.Cluster.Dial, at.Cluster.ClientID = l.dial, name
	if c.script.Nameless {
		name = ""
	}
	ended := make(chan error, 1)
	c.work.Go(func() { ended <- c.play.Work(ctx, at, name) })
	for {
		select {
		case err := <-ended:
			return c.ended(err)
		case <-l.burnt:
		}
		what, pause := c.fault()
		if what == End {
			l.mends(0, true)
			cancel()
			if err := <-ended; err != nil {
				return c.ended(err)
			}
		}
		if ends := stage.Wait(c.ctx, pause) != nil; ends || what != Absence {
			return !ends
		}
		l.mends(c.fuse())
	}
}

func (c *crew) ended(err error) bool {
	if c.ctx.Err() == nil || err != nil {
		c.fail(fmt.Errorf("a worker has ended by itself: %w", err))
	}
	return false
}

// fault says what it is that a burnt fuse means, and for how long.
func (c *crew) fault() (what Fault, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what = c.script.Kinds[c.random.IntN(len(c.script.Kinds))]
	c.count[what]++
	return what, time.Duration(c.random.Int64N(int64(what.longest())))
}

// fuse says after how many messages something happens, 0 is never, and whether the last one arrives.
func (c *crew) fuse() (length int, arrives bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return 0, true
	}
	c.left--
	return 1 + c.random.IntN(cmp.Or(c.script.Fuse, 150)), c.random.IntN(2) == 0
}

func (c *crew) fail(err error) {
	select {
	case c.failed <- err:
	default: // one is enough
	}
}

// Failed tells of a worker that has ended by itself.
func (c *crew) Failed() <-chan error { return c.failed }

// Kill has nothing to do: lines kill.
func (c *crew) Kill(string) {}

// End has all end in peace.
func (c *crew) End() error {
	c.stop()
	c.work.Wait()
	select {
	case err := <-c.failed:
		return err
	default:
		return nil
	}
}
