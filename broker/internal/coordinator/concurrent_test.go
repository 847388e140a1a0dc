package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/machine"
)

// Many callers at a time, appends that end on other goroutines and now and then fail, and a shutdown in the midst: everybody is
// told once.
func TestManyCallersAndAShutdown(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { manyCallers(t, seed) })
		})
	}
}

func manyCallers(t *testing.T, seed uint64) {
	const shards, callers, calls = 10, 8, 300
	d := newDisk()
	c := Open(Config{Shards: shards, Workers: 3, Open: d.open, Machine: func(int32) machine.Machine { return newToy() }})
	synctest.Wait()
	var told [callers * calls]atomic.Int32
	var failed, answered atomic.Int32
	var all, settling sync.WaitGroup
	stop, begun := make(chan struct{}), make(chan struct{})
	for range 2 {
		settling.Go(func() { settleUntil(d, stop, rand.New(rand.NewPCG(seed, 1))) })
	}
	for i := range callers {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for j := range calls {
				in := []any{add{"a"}, get{"a"}, park{"door"}, open{"door", ""}, open{"door", "b"}, several{"a", "other"}}[dice.IntN(6)]
				c.Do(dice.Int32N(shards), in, func(_ any, err error) {
					told[i*calls+j].Add(1)
					if err != nil {
						failed.Add(1)
					} else if answered.Add(1) == 10 {
						close(begun)
					}
				})
			}
		})
	}
	all.Go(func() {
		<-begun
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	close(stop)
	settling.Wait()
	for i := range told {
		if n := told[i].Load(); n != 1 {
			t.Errorf("call %d was told %d times", i, n)
		}
	}
	if failed.Load() == 0 || answered.Load() == 0 {
		t.Errorf("%d answered, %d failed", answered.Load(), failed.Load())
	}
}

// settleUntil ends appends, one in 50 with an error, until it is stopped.
func settleUntil(d *disk, stop <-chan struct{}, dice *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		var err error
		if dice.IntN(50) == 0 {
			err = errDisk
		}
		d.settleOne(0, err)
	}
}
