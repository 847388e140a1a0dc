//go:build synctests

package exactlyonce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer"
)

// TestLives lives through lives of a group that are made from seeds: members of both protocols come, go, crash, are cut off and come back, lose
// answers, stall, and meet records that they cannot process. SKEIN_SIM_SEED=n replays one, SKEIN_SIM_SEEDS=1000 with -timeout 0 is the
// long form, from SKEIN_SIM_FROM on.
func TestLives(t *testing.T) {
	from, n := number("SKEIN_SIM_FROM", 1), number("SKEIN_SIM_SEEDS", 6)
	if seed := number("SKEIN_SIM_SEED", 0); seed != 0 {
		from, n = seed, 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			inBubbleOf(t, []string{"", "", "3.9", "2.5"}[dice.IntN(4)], 1+dice.Int32N(8), func(w *world) { (&chaos{w: w, Rand: dice}).lives() })
		})
	}
}

func number(name string, otherwise uint64) uint64 {
	n, _ := strconv.ParseUint(os.Getenv(name), 10, 64)
	return cmp.Or(n, otherwise)
}

type chaos struct {
	*rand.Rand
	w     *world
	nodes []*node
	dead  []*node
	born  int
}

func (c *chaos) lives() {
	c.joins()
	for range 20 + c.IntN(40) {
		c.w.writes(c.IntN(6))
		if c.IntN(3) == 0 {
			c.happens()
		}
		pass(time.Duration(c.IntN(700)) * time.Millisecond)
	}
	for _, n := range c.nodes {
		n.mends()
	}
	c.joins()
	pass(2 * time.Minute)
	c.w.judges()
	for _, n := range append(c.nodes, c.dead...) {
		n.quit()
	}
	for _, n := range append(c.nodes, c.dead...) {
		c.w.ok(<-n.err)
	}
}

// happens is one thing.
func (c *chaos) happens() {
	if len(c.nodes) == 0 {
		c.joins()
		return
	}
	i := c.IntN(len(c.nodes))
	n := c.nodes[i]
	leave := func() { c.nodes = append(c.nodes[:i:i], c.nodes[i+1:]...) }
	switch c.IntN(6) {
	case 0, 1:
		if len(c.nodes) < 4 {
			c.joins()
		}
	case 2:
		leave()
		n.mends()
		n.ends()
	case 3:
		leave()
		c.dead = append(c.dead, n)
		n.crashes()
	case 4:
		n.crashes()
	case 5:
		n.mends()
	}
}

func (c *chaos) joins() {
	c.born++
	cfg := c.w.config()
	cfg.Consumer.Assignors = []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}}
	if c.IntN(4) == 0 {
		cfg.Consumer.Assignors, cfg.Consumer.StaticProtocol = []assign.Assignor{assign.Range{}}, true
	}
	if c.IntN(4) == 0 {
		cfg.Producers = OnePerPartition // which the first step of an upgrade has beside the others (R-F12)
	}
	cfg.Consumer.MaxPollRecords = 1 + c.IntN(20)
	cfg.MaxRecords, cfg.Concurrency, cfg.By = c.IntN(30), 1+c.IntN(3), By(c.IntN(2))
	cfg.Interval = []time.Duration{-1, 20 * time.Millisecond, 100 * time.Millisecond, time.Second}[c.IntN(4)]
	cfg.Poison = PoisonPolicy{Retries: -1, Backoff: 10 * time.Millisecond, BackoffMax: time.Second}
	keys := []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.InitProducerID, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Fetch}
	th := &thief{key: keys[c.IntN(len(keys))], after: c.IntN(2) == 0, every: 3 + c.IntN(20)}
	th.node = &node{w: c.w}
	cfg.Consumer.Cluster.Dial = th.dial
	n := c.w.runs(fmt.Sprint("n", c.born), cfg, c.process(c.Uint64()))
	n.line = th.node
	c.nodes = append(c.nodes, n)
}

// process copies, and sometimes stalls or cannot.
func (c *chaos) process(seed uint64) Func {
	dice := newDice(seed)
	return func(ctx context.Context, b consumer.Batch, out *Out) error {
		_ = copies(ctx, b, out)
		switch dice.roll(60) {
		case 0:
			return Poison(b.Partitions[0].Records[0], errPoison)
		case 1:
			<-time.After(time.Duration(dice.roll(15000)) * time.Millisecond)
		case 2:
			select {
			case <-time.After(time.Duration(dice.roll(15000)) * time.Millisecond):
			case <-ctx.Done():
				return errors.New("told to end")
			}
		}
		return nil
	}
}

// dice are thrown by several at once.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rand: rand.New(rand.NewPCG(seed, 1))} }

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(n)
}
