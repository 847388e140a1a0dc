package broker

import (
	"time"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/monitor"
	"github.com/skeinstream/skein/internal/txn"
)

// txnCounts is the last numbers of each shard, with the totals of its earlier machines added.
type txnCounts map[int32]txnShardCounts

type txnShardCounts struct {
	last   txn.Counts
	before txnTotals // of machines that were dropped since
}

type txnTotals [6]int64

func txnTotalsOf(c *txn.Counts) txnTotals {
	return txnTotals{c.Committed, c.Aborted, c.TimedOut, c.Fenced, c.Late, c.Expired}
}

func (t *txnTotals) add(other txnTotals) {
	for i, n := range other {
		t[i] += n
	}
}

// below says whether any total has fallen.
func (t *txnTotals) below(other txnTotals) bool {
	for i, n := range other {
		if t[i] < n {
			return true
		}
	}
	return false
}

// metrics asks every shard for its numbers. Of one that is being loaded, or too busy, the last ones known count.
func (t *transactions) metrics() monitor.Transactions {
	c := t.current.Load()
	held := t.held(c)
	if c == nil {
		return monitor.Transactions{Held: held}
	}
	serving := t.gather(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	all := monitor.Transactions{Shards: c.Shards(), Serving: serving, States: map[string]int{}, Held: held, Hanging: t.hanging}
	var sum txnTotals
	var oldest time.Time
	for _, s := range t.counts {
		for state, n := range s.last.States {
			all.States[state] += n
		}
		sum.add(s.before)
		sum.add(txnTotalsOf(&s.last))
		if id := s.last.OldestID; id != "" && (oldest.IsZero() || s.last.OldestStarted.Before(oldest)) {
			oldest, all.OldestID = s.last.OldestStarted, id
		}
	}
	if !oldest.IsZero() {
		all.OldestOpen = t.broker.cfg.now().Sub(oldest)
	}
	all.Committed, all.Aborted, all.TimedOut, all.Fenced, all.Late, all.Expired = sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]
	return all
}

// gather takes the numbers of all shards that answer in time, and returns how many have.
func (t *transactions) gather(c *coordinator.Coordinator) (serving int) {
	return each(c, txn.Count{}, func(shard int32, reply any) { t.noteCounts(shard, reply.(txn.Counts)) })
}

// each asks every shard and hands f the answers of those that answer in time, one after the other. It returns how many have.
func each(c *coordinator.Coordinator, in any, f func(shard int32, reply any)) (answered int) {
	type answer struct {
		shard int32
		reply any
		err   error
	}
	answers := make(chan answer, c.Shards())
	for shard := range int32(c.Shards()) {
		c.Do(shard, in, func(reply any, err error) { answers <- answer{shard, reply, err} })
	}
	timeout := time.NewTimer(countsTimeout)
	defer timeout.Stop()
	for range c.Shards() {
		select {
		case a := <-answers:
			if a.err == nil {
				answered++
				f(a.shard, a.reply)
			}
		case <-timeout.C:
			return answered
		}
	}
	return answered
}

// noteCounts keeps the numbers of a shard. Totals that have fallen are those of a new machine.
func (t *transactions) noteCounts(shard int32, now txn.Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.counts[shard]
	last, sum := txnTotalsOf(&s.last), txnTotalsOf(&now)
	if sum.below(last) {
		s.before.add(last)
	}
	s.last = now
	t.counts[shard] = s
}
