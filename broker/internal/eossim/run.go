package eossim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
	"github.com/skeinstream/skein/internal/vfs"
)

// Run lives through the world of a seed and judges it. It must run inside a bubble of testing/synctest, where it takes about a
// minute. Everything that it has started has ended when it returns.
func Run(seed uint64, open Open) *Result {
	w := &world{seed: seed, open: open, began: time.Now()}
	w.plan = newPlan(w.dice("plan", 0))
	w.h.Slack = slack
	if w.start(vfs.NewMemory(), 0) {
		w.live()
	}
	if l := w.there(); l != nil {
		w.leave(l)
	}
	w.work.Wait()
	r := &Result{Seed: seed, History: &w.h, Problems: w.problems, Hash: hash(w.traces), Crashes: w.crashes, clients: w.traces}
	if len(w.problems) == 0 {
		r.Violations = history.Check(&w.h)
	}
	return r
}

func (w *world) live() {
	all := slices.Concat(inputs(), outputs(), sides())
	groups := map[string][]history.Partition{"old": inputs(), "shared": inputs()}
	lineages := w.lineages(groups)
	if err := w.found(); err != nil {
		w.problem("making topics: %w", err)
		return
	}
	for i := range 2 {
		w.work.Go(func() { w.reading(i, all, groups, slices.Sorted(maps.Keys(groups))) })
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		w.feed("feed", inputs(), 40, w.plan.calm)
		w.fed.Store(true)
	})
	busy.Go(func() { w.feed("plain", slices.Concat(outputs(), sides()), 20, w.plan.calm) })
	for i, l := range lineages {
		instances := 1 + w.dice("instances", i).IntN(4)
		busy.Go(func() { l.run(instances) })
	}
	busy.Go(w.fates)
	busy.Go(func() {
		time.Sleep(w.plan.calm)
		w.calm.Store(true)
	})
	busy.Wait()
	w.settle(all, groups)
}

// lineages are the transactional ids: two or three that write, one for each input of the old group, two members of the new one.
func (w *world) lineages(groups map[string][]history.Partition) (all []*lineage) {
	dice := w.dice("lineages", 0)
	add := func(id string, live func(p *producer) error) {
		l := &lineage{w: w, id: id, speaks: protocol(dice.IntN(3)), timeout: timeouts(dice), live: live}
		l.dice = w.dice("lineage "+id, 0)
		all = append(all, l)
	}
	for i := range 2 + dice.IntN(2) {
		id := fmt.Sprint("writer ", i)
		groups[id] = inputs()[:1]
		add(id, w.writing(id, slices.Concat(outputs(), sides()), 3+dice.IntN(6)))
	}
	for i, at := range inputs() {
		add(fmt.Sprint("old ", i), w.transforming("old", at))
	}
	for i := range 2 {
		add(fmt.Sprint("member ", i), w.sharing("shared"))
		if l := all[len(all)-1]; l.speaks == ancient { // KIP-447 came with KIP-360
			l.speaks = plain
		}
	}
	return all
}

// found makes the topics, before anything can go wrong.
func (w *world) found() error {
	c := w.client("founder", 0)
	c.steady = true
	defer c.drop()
	for _, t := range []struct {
		name       string
		partitions int32
	}{{"in", 2}, {"out", 2}, {"side", 1}} {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: t.name, NumPartitions: t.partitions, ReplicationFactor: 1}}
		resp, err := c.call(req, 5, t.name, func(r kmsg.Response) int16 { return r.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode })
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
			return kerr.ErrorForCode(code)
		}
	}
	return nil
}

// settle waits until every transaction has ended or is out of time, and notes what is there then.
func (w *world) settle(all []history.Partition, groups map[string][]history.Partition) {
	time.Sleep(lagMax + timeoutMax + slack)
	w.over.Store(true)
	if w.trouble() {
		return
	}
	c := w.client("judge", 0)
	c.steady = true
	defer c.drop()
	f := history.Final{Logs: map[history.Partition]history.Log{}, Offsets: map[string]map[history.Partition]int64{}}
	f.Inputs = map[string][]history.Partition{"old": inputs(), "shared": inputs()}
	for _, at := range all {
		l, err := c.readAll(at)
		if err != nil {
			return
		}
		f.Logs[at] = l
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		f.Offsets[group] = map[history.Partition]int64{}
		for _, at := range groups[group] {
			next, err := c.committed(group, at)
			if err != nil {
				return
			}
			if next >= 0 {
				f.Offsets[group][at] = next
			}
		}
	}
	w.know(func(h *history.History) { h.Final = f })
	if err := w.there().broker.Err(); err != nil {
		w.problem("the broker has failed: %w", err)
	}
}

// readAll reads a partition from its start to its end, in both ways.
func (c *client) readAll(at history.Partition) (l history.Log, err error) {
	for isolation := range int8(2) {
		for from := int64(0); ; {
			f, err := c.fetchAs(at, from, 1<<20, isolation)
			if err != nil {
				return l, err
			}
			if !f.known {
				c.w.problem("%s: %v cannot be read at the end", c.name, at)
				return l, context.DeadlineExceeded
			}
			if l.Stable, l.High = f.stable, f.high; f.next == from {
				break
			}
			if from = f.next; isolation == 0 {
				l.All = append(l.All, f.all...)
			} else {
				l.Committed = append(l.Committed, f.records...)
			}
		}
	}
	return l, nil
}
