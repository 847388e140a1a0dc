// Package exactlyonce has real clients consume, transform and produce in
// transactions while they and the broker are killed with -9, and judges what is
// left: every input has exactly one output that read_committed consumers see,
// nothing aborted is seen, no transaction in part, the group's offsets are those
// of the outputs, and outputs have the order of their inputs.
package exactlyonce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

const (
	inputTopic  = "orders"
	outputTopic = "invoices"
	group       = "app"
	partitions  = 4
	session     = 3 * time.Second // how long a killed member is waited for
	heartbeat   = 300 * time.Millisecond
	patience    = 3 * time.Minute // only ends a hang

	shortTransaction = 4 * time.Second  // of a worker that nobody comes back for
	longTransaction  = 30 * time.Second // of others: they are fenced before it is over
	forever          = 2 * patience     // of who must be fenced: who waits for its end fails
)

// life is a group of two workers on a broker of its own.
type life struct {
	t       *testing.T
	broker  target.Target
	tools   *kafka.Tools // nil when they cannot be had
	dir     string
	seen    *observer
	source  *source
	inputs  reader
	outputs reader
	admin   *kadm.Client
	a, b    *slot
	random  *rand.Rand
	began   time.Time
	kills   int
	crashes int
	freezes int
	cuts    int
	bounces int
	gaveUp  []string // workers that could not go on, and why

	downstream []*slot // groups that read what a and b write
}

// slot is a place that one worker after the other takes. Where transactional
// ids are those of workers, all of a slot have the same.
type slot struct {
	name     string
	job      job
	instance string   // the group.instance.id of its workers; empty: they have none
	clients  []client // in turn
	line     *line    // to the broker; nil: its workers go there directly
	born     int
	gaveUp   int
	timeout  time.Duration
	worker   *worker // nil: none is to be there
}

func (s *slot) client() client { return s.clients[max(0, s.born-1)%len(s.clients)] }

// alone says that nobody fences the worker by its name once it is dead: it has one of its own, or whoever comes next has.
func (s *slot) alone() bool { return s.client().short || s.clients[s.born%len(s.clients)].short }

func newLife(t *testing.T, tools *kafka.Tools, seed uint64, broker string, a, b []client) *life {
	t.Helper()
	t.Logf("seed %d", seed)
	work := job{group, inputTopic, outputTopic}
	l := &life{t: t, tools: tools, dir: kept(t), seen: newObserver(), random: rand.New(rand.NewPCG(seed, 6)), began: time.Now(),
		a: &slot{name: "a", job: work, clients: a}, b: &slot{name: "b", job: work, clients: b}}
	l.broker = target.StartNamed(t, broker, map[string]string{
		"group.initial.rebalance.delay.ms": "300", "group.min.session.timeout.ms": "1000",
		"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
	})
	l.must(admin.CreateTopics(t.Context(), l.broker.Addr, partitions, nil, inputTopic, outputTopic))
	var err error
	l.outputs, err = newReader(l.broker.Addr, outputTopic)
	l.must(err)
	l.inputs = reader{l.outputs.client, inputTopic}
	l.admin = kadm.NewClient(l.outputs.client)
	l.source, err = startSource(l.broker.Addr, partitions, l.seen.fail)
	l.must(err)
	t.Cleanup(l.end)
	return l
}

// end stops what still runs.
func (l *life) end() {
	if l.t.Failed() {
		l.failed()
	}
	for _, s := range l.everyone() {
		if s.worker != nil {
			s.worker.kill()
		}
		for born := range s.born {
			if name := fmt.Sprint(s.name, born+1); l.t.Failed() {
				l.t.Logf("%s said:\n%s", name, said(l.dir, name))
			}
		}
	}
	l.source.stop()
	l.outputs.client.Close()
	for _, why := range l.gaveUp {
		l.t.Logf("gave up: %s", why)
	}
}

func (l *life) slots() []*slot { return []*slot{l.a, l.b} }

func (l *life) everyone() []*slot { return append(l.slots(), l.downstream...) }

// start starts a slot's next worker.
func (l *life) start(s *slot, timeout time.Duration) {
	l.t.Helper()
	s.born++
	c := s.client()
	if s.alone() && timeout != forever {
		timeout = shortTransaction
	}
	name, id := fmt.Sprint(s.name, s.born), s.job.group+"-"+s.name
	if c.fence == byPartition {
		id = s.job.group
	}
	addr := l.broker.Addr
	if s.line != nil {
		addr = s.line.addr
	}
	cmd, err := c.command(l.t.Context(), settings{s.job, addr, c.assignor, c.fence, s.instance}.arguments(name, id, timeout)...)
	l.must(err)
	s.timeout = timeout
	s.worker, err = startWorker(l.seen, l.dir, name, cmd)
	l.must(err)
}

// maxGaveUp ends a life whose workers give up for ever.
const maxGaveUp = 40

// revive starts a next worker where one has given up.
func (l *life) revive() error {
	for _, s := range l.everyone() {
		if s.worker == nil || !s.worker.ended() {
			continue
		}
		reason, gaveUp := l.seen.reason(s.worker.name)
		if !gaveUp || s.worker.err != nil {
			return fmt.Errorf("%s ended: %v: %s", s.worker.name, s.worker.err, s.worker.said())
		}
		s.gaveUp++
		l.gaveUp = append(l.gaveUp, s.worker.name+": "+reason)
		if len(l.gaveUp) > maxGaveUp {
			return fmt.Errorf("workers give up again and again: %q", l.gaveUp[maxGaveUp-5:])
		}
		l.start(s, s.timeout)
	}
	return nil
}

// await waits until ok; who gives up meanwhile is followed by another.
func (l *life) await(what string, ok func() bool) {
	l.t.Helper()
	err := l.seen.await(l.t.Context(), what, func() (bool, error) {
		if err := l.revive(); err != nil {
			return false, err
		}
		return ok(), nil
	})
	l.must(err)
}

// progress waits until all that is written now is handled, which the group's
// offsets tell.
func (l *life) progress(what string) {
	l.t.Helper()
	began := time.Now()
	e := evidence{inputs: l.source.written()}
	var asked time.Time
	l.await(what+": every input is handled", func() bool {
		if time.Since(asked) < 150*time.Millisecond {
			return false
		}
		asked = time.Now()
		var err error
		e.offsets, err = l.offsets(l.a.job)
		return err == nil && e.all()
	})
	l.log(began, "%s: handled", what)
}

// all tells whether every input is below the group's offset.
func (e evidence) all() bool {
	for p := range e.inputs {
		if e.handled(p) < len(e.inputs[p]) {
			return false
		}
	}
	return true
}

// offsets are those of a job's group, but for what is in open transactions.
func (l *life) offsets(of job) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer cancel()
	answer, err := l.admin.FetchOffsets(ctx, of.group)
	if err == nil {
		err = answer.Error()
	}
	offsets := map[int32]int64{}
	answer.Each(func(o kadm.OffsetResponse) {
		if o.Topic == of.input {
			offsets[o.Partition] = o.At
		}
	})
	return offsets, err
}

// hears waits until a slot's worker says something anew.
func (l *life) hears(s *slot, kinds ...kind) {
	l.t.Helper()
	w := s.worker
	before := l.seen.count(w.name, kinds...)
	l.await(fmt.Sprintf("%s says %v", s.name, kinds), func() bool {
		if w != s.worker {
			w, before = s.worker, 0
		}
		return l.seen.count(w.name, kinds...) > before
	})
}

// works waits until a slot's worker gets something done.
func (l *life) works(s *slot) {
	l.t.Helper()
	began := time.Now()
	l.hears(s, committed, handled)
	l.log(began, "%s works", s.worker.name)
}

// inTransaction waits until a worker is somewhere in a transaction.
func (l *life) inTransaction(s *slot) {
	l.t.Helper()
	moments := s.client().moments
	moment := moments[l.random.IntN(len(moments))]
	l.hears(s, moment)
	if moment != began {
		l.pause(60 * time.Millisecond)
	}
}

// pause waits for a random time.
func (l *life) pause(most time.Duration) {
	select {
	case <-time.After(time.Duration(l.random.Int64N(int64(most)))):
	case <-l.t.Context().Done():
	}
}

// log tells what has happened, when, and how long after something.
func (l *life) log(since time.Time, format string, args ...any) {
	l.t.Helper()
	now := time.Now()
	l.t.Logf("%5.1f s: %s after %v", now.Sub(l.began).Seconds(), fmt.Sprintf(format, args...), now.Sub(since).Round(10*time.Millisecond))
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}
