package broker

import (
	"time"

	"github.com/skeinstream/skein/broker/internal/monitor"
	"github.com/skeinstream/skein/internal/group"
)

// countsTimeout is how long a scrape waits for shards that are busy.
const countsTimeout = time.Second

// countsByShard is the last numbers of each shard, with the totals of its earlier machines added.
type countsByShard map[int32]shardCounts

type shardCounts struct {
	last   group.Counts
	before totals // of machines that were dropped since
}

type totals struct{ rebalances, commits, expired, deleted int64 }

// metrics asks every shard for its numbers. Of one that is being loaded, or too busy, the last ones known count.
func (g *groups) metrics() monitor.Groups {
	c := g.current.Load()
	if c == nil {
		return monitor.Groups{}
	}
	type answer struct {
		shard  int32
		counts group.Counts
		err    error
	}
	answers := make(chan answer, c.Shards())
	for shard := range int32(c.Shards()) {
		c.Do(shard, group.Count{}, func(reply any, err error) {
			counts, _ := reply.(group.Counts)
			answers <- answer{shard, counts, err}
		})
	}
	timeout := time.NewTimer(countsTimeout)
	defer timeout.Stop()
	serving := 0
	for range c.Shards() {
		select {
		case a := <-answers:
			if a.err == nil {
				serving++
				g.noteCounts(a.shard, a.counts)
			}
		case <-timeout.C:
			return g.sum(c.Shards(), serving)
		}
	}
	return g.sum(c.Shards(), serving)
}

// noteCounts keeps the numbers of a shard. Totals that have fallen are those of a new machine.
func (g *groups) noteCounts(shard int32, now group.Counts) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.counts[shard]
	if last := s.last; now.Commits < last.Commits || now.Rebalances < last.Rebalances || now.Expired < last.Expired || now.Deleted < last.Deleted {
		s.before.rebalances += last.Rebalances
		s.before.commits += last.Commits
		s.before.expired += last.Expired
		s.before.deleted += last.Deleted
	}
	s.last = now
	g.counts[shard] = s
}

func (g *groups) sum(shards, serving int) monitor.Groups {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := monitor.Groups{Shards: shards, Serving: serving, States: map[string]int{}}
	for _, s := range g.counts {
		for state, n := range s.last.Groups {
			all.States[state] += n
		}
		all.Members += s.last.Members
		all.Offsets += s.last.Offsets
		all.Pending += s.last.Pending
		all.Rebalances += s.before.rebalances + s.last.Rebalances
		all.Commits += s.before.commits + s.last.Commits
		all.Expired += s.before.expired + s.last.Expired
		all.Deleted += s.before.deleted + s.last.Deleted
	}
	return all
}
