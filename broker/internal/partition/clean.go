package partition

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skeinstream/skein/broker/internal/storage"
)

// cleanings knows which partition is being compacted, so that its deletion can stop that first.
type cleanings struct {
	mu      sync.Mutex
	current map[*Partition]*cleaningRun
}

type cleaningRun struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// begin notes that p is being compacted, unless it is gone.
func (c *cleanings) begin(ctx context.Context, p *Partition) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	run := &cleaningRun{cancel: cancel, done: make(chan struct{})}
	c.mu.Lock()
	if c.current == nil {
		c.current = map[*Partition]*cleaningRun{}
	}
	c.current[p] = run
	c.mu.Unlock()
	if p.Deleted() { // stop may have come before begin
		cancel()
	}
	return ctx, func() {
		c.mu.Lock()
		delete(c.current, p)
		c.mu.Unlock()
		cancel()
		close(run.done)
	}
}

// stop ends the compaction of a partition that is deleted, and waits for its end.
func (c *cleanings) stop(p *Partition) {
	c.mu.Lock()
	run := c.current[p]
	c.mu.Unlock()
	if run != nil {
		run.cancel()
		<-run.done
	}
}

// keepClean compacts the logs of compacted topics, always the one with the largest dirty share next, and rests when there
// is none to compact.
func (t *Table) keepClean(ctx context.Context) error {
	cleaner, mapBytes := (*storage.Cleaner)(nil), int64(0)
	pace := &pacer{table: t}
	for ctx.Err() == nil {
		b := t.opts.Broker()
		if cleaner == nil || mapBytes != b.CleanerDedupeBufferBytes {
			mapBytes = b.CleanerDedupeBufferBytes
			cleaner = storage.NewCleaner(storage.CleanerConfig{MapBytes: mapBytes, Pace: pace.wait})
		}
		if p := t.dirtiest(); p != nil && b.CleanerEnable {
			t.clean(ctx, cleaner, p)
			continue
		}
		if !pause(ctx, milliseconds(max(b.CleanerBackoffMs, cleanBackoffMin))) {
			return nil
		}
	}
	return nil
}

// cleanBackoffMin keeps a backoff of 0 from burning a core.
const cleanBackoffMin = 100

// dirtiest is the partition that needs compaction most, nil when none does.
func (t *Table) dirtiest() (most *Partition) {
	largest := 0.0
	for p := range t.each {
		if p.Refusal() != 0 || !p.topic.Settings().Compact || t.now() < p.cleanAfter.Load() {
			continue
		}
		b, err := p.log.Backlog(p.cleaned.Load(), p.LastStableOffset(), t.now())
		if err != nil || !b.Due(p.topic.Settings().MinCleanableDirtyRatio) {
			continue
		}
		if most == nil || b.Ratio() > largest {
			most, largest = p, b.Ratio()
		}
	}
	return most
}

// cleanAgain is how long a log is left alone that could not be compacted.
const cleanAgain = time.Minute

// clean compacts one log.
func (t *Table) clean(ctx context.Context, cleaner *storage.Cleaner, p *Partition) {
	ctx, end := t.cleaning.begin(ctx, p)
	defer end()
	report, err := cleaner.Clean(ctx, p.log, p.cleaned.Load(), p.LastStableOffset(), t.now())
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, storage.ErrInterrupted):
		return
	case err != nil:
		p.cleanAfter.Store(t.now() + cleanAgain.Milliseconds())
		t.cleanFailed(p, err)
		if errors.Is(err, storage.ErrSync) {
			t.fail("compacting "+p.name(), err)
		}
		return
	}
	p.cleaned.Store(report.To)
	if err := t.saveCleaned(); err != nil {
		t.opts.Logger.Error("writing a checkpoint failed", "error", err)
	}
	if t.opts.Events.Cleaned != nil {
		t.opts.Events.Cleaned(report.BytesRead, report.BytesKept)
	}
}

// pacer holds the cleaner to log.cleaner.io.max.bytes.per.second.
type pacer struct {
	table *Table
	owed  time.Duration
}

// wait is told of bytes read or written. It waits once what they should have taken is worth waiting for.
func (p *pacer) wait(ctx context.Context, n int) error {
	perSecond := p.table.opts.Broker().CleanerBytesPerSecond
	p.owed += time.Duration(min(float64(n)/perSecond, paceMax) * float64(time.Second))
	if p.owed < paceMin {
		return ctx.Err()
	}
	owed := p.owed
	p.owed = 0
	if !pause(ctx, owed) {
		return context.Cause(ctx)
	}
	return nil
}

const (
	paceMin = 10 * time.Millisecond
	paceMax = 60 // seconds
)
