package consumer

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// committer sends one commit at a time, in the order in which they were asked for, so that none overtakes another and moves an offset back.
type committer struct {
	c *Consumer
	// life ends the commit that is out, and with it run.
	life context.Context
	stop context.CancelFunc
	wake chan struct{}

	mu    sync.Mutex
	queue []*commitJob
	over  bool
}

// commitJob is one commit that was asked for.
type commitJob struct {
	ctx        context.Context // until when it is of use
	offsets    Offsets
	generation membership.Generation
	done       func(Offsets, error)
	waits      bool // somebody waits for it: it is not sent together with others
}

func newCommitter(c *Consumer) *committer {
	m := &committer{c: c, wake: make(chan struct{}, 1)}
	m.life, m.stop = context.WithCancel(context.Background())
	return m
}

// run is the goroutine that commits. It ends with life, when every job has its answer.
func (m *committer) run() {
	ticker := time.NewTicker(m.c.cfg.AutoCommitInterval)
	defer ticker.Stop()
	if m.c.cfg.ManualCommit {
		ticker.Stop()
	}
	for {
		for jobs := m.next(); len(jobs) > 0; jobs = m.next() {
			m.commit(jobs)
		}
		select {
		case <-m.wake:
		case <-ticker.C:
			m.auto()
		case <-m.life.Done():
			m.abandon()
			return
		}
	}
}

// auto commits what the user is done with.
func (m *committer) auto() {
	m.ask(func() *commitJob {
		g, err := m.c.committing()
		if err != nil {
			return nil
		}
		offsets := m.c.table.progress(nil, true)
		if len(offsets) == 0 {
			return nil
		}
		return &commitJob{ctx: m.life, offsets: offsets, generation: g, done: m.c.autoCommitted}
	})
}

func (c *Consumer) autoCommitted(offsets Offsets, err error) {
	if err != nil {
		c.log.Warn("committing failed: it is tried again with what comes next", "group", c.cfg.Group, "partitions", len(offsets), "error", err)
	}
}

// ask puts a job at the end of the queue, unless there is none. The job is made while the queue is locked: who is behind another has
// looked later, and does not move an offset back.
func (m *committer) ask(job func() *commitJob) bool {
	m.mu.Lock()
	j, over := job(), m.over
	if j != nil && !over {
		m.queue = append(m.queue, j)
	}
	m.mu.Unlock()
	if j == nil {
		return false
	}
	if over {
		j.done(j.offsets, ErrClosed)
		return true
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// next takes the first job, and with it those after it that can be sent in one request.
func (m *committer) next() []*commitJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.queue) && (n == 0 || m.queue[n].follows(m.queue[0])) {
		n++
	}
	jobs := m.queue[:n:n]
	m.queue = m.queue[n:]
	return jobs
}

func (j *commitJob) follows(first *commitJob) bool {
	return !j.waits && !first.waits && j.generation == first.generation
}

// commit sends jobs in one request: of two offsets of a partition, the later one.
func (m *committer) commit(jobs []*commitJob) {
	offsets := Offsets{}
	for _, j := range jobs {
		maps.Copy(offsets, j.offsets)
	}
	err := m.c.send(jobs[0].ctx, m.life, jobs[0].generation, offsets)
	for _, j := range jobs {
		if len(j.offsets) > 0 {
			m.c.cfg.Hooks.commit(j.offsets, err)
		}
		j.done(j.offsets, err)
	}
}

// abandon answers what is left.
func (m *committer) abandon() {
	m.mu.Lock()
	jobs := m.queue
	m.queue, m.over = nil, true
	m.mu.Unlock()
	for _, j := range jobs {
		j.done(j.offsets, ErrClosed)
	}
}

// end waits until the queue is empty, or for ctx, and ends run.
func (m *committer) end(ctx context.Context) {
	last := make(chan struct{})
	m.ask(func() *commitJob {
		return &commitJob{ctx: ctx, done: func(Offsets, error) { close(last) }, waits: true}
	})
	select {
	case <-last:
	case <-ctx.Done():
	}
	m.stop()
}
