package partition

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/skeinstream/skein/broker/internal/storage"
)

// troubles is what is wrong with the files of a log that is served: a start does not read everything. Who meets it meets it
// again and again, so each trouble is logged when it is new, and again after troubleAgain.
type troubles struct {
	mu    sync.Mutex
	known map[string]trouble // by what it is
}

type trouble struct {
	told   int64 // ms
	offset int64 // first one that cannot be read, -1 when nobody knows that any is damaged
}

const (
	troubleAgain = time.Hour
	troublesMax  = 64 // of one log that are remembered; others are not told of
)

// news reports whether the trouble is to be logged now.
func (t *troubles) news(what string, offset, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := now - troubleAgain.Milliseconds()
	if known, ok := t.known[what]; ok && known.told > old {
		return false
	}
	maps.DeleteFunc(t.known, func(_ string, x trouble) bool { return x.told <= old && x.offset < 0 })
	if _, ok := t.known[what]; !ok && len(t.known) >= troublesMax {
		return false
	}
	if t.known == nil {
		t.known = map[string]trouble{}
	}
	t.known[what] = trouble{now, offset}
	return true
}

// damaged reports whether anything from start on is known to be damaged. What retention has taken since is none.
func (t *troubles) damaged(start int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.known {
		if x.offset >= start {
			return true
		}
	}
	return false
}

// Damaged reports whether somebody has found damage in the log though the partition is served. It stays so until a repair
// or until the damaged records are deleted.
func (p *Partition) Damaged() bool {
	return p.Refusal() == 0 && p.troubles.damaged(p.log.StartOffset())
}

// readFailed reports records that cannot be read, and whether they are damaged.
func (t *Table) readFailed(p *Partition, err error) (damaged bool) {
	damage, damaged := errors.AsType[*storage.DamageError](err)
	switch {
	case damaged:
		t.damageMet(p, damage)
	case p.troubles.news(err.Error(), -1, t.now()):
		t.opts.Logger.Error("reading a log failed", "partition", p.name(), "error", err)
	}
	return damaged
}

func (t *Table) damageMet(p *Partition, d *storage.DamageError) {
	if p.troubles.news(fmt.Sprint(d.File, d.Position), d.Offset, t.now()) {
		t.opts.Logger.Error("a log is damaged and cannot be read there: `skein log repair` on the stopped broker tells what is lost and repairs it",
			"partition", p.name(), "file", d.File, "position", d.Position, "offset", d.Offset, "reason", d.Reason)
	}
}

// cleanFailed reports a log that cannot be compacted.
func (t *Table) cleanFailed(p *Partition, err error) {
	if damage, ok := errors.AsType[*storage.DamageError](err); ok {
		t.damageMet(p, damage)
	}
	if p.troubles.news("compacting: "+err.Error(), -1, t.now()) {
		t.opts.Logger.Error("a log cannot be compacted", "partition", p.name(), "error", err)
	}
}
