package partition

import (
	"time"

	"github.com/skeinstream/skein/internal/settings"
)

// How skein.durability changes under a running partition. Appends of mode always go through the committer, those of the
// others to the segment at once, and the two must not overtake each other:
//
//   - from always to a relaxed mode, new appends are parked until the committer has nothing of the partition any more;
//   - from a relaxed mode to always, until what is in the page cache is durable. Else a power cut could leave a hole below
//     batches that the write-ahead log has.
//
// The first is begun by the housekeeper, the second by who changes the setting, before anybody hears of it; the housekeeper
// ends both, and a setting that has changed back meanwhile is a change of its own.

// holdStrict is how long a partition that became strict for an atomic group stays so after the last one. Each change costs
// a sync of the segment, for which everybody in the group waits, and transactions come one after the other.
const holdStrict = time.Second

// hold makes a partition of a relaxed mode stay strict for a while, since a group is in it. The caller holds p.mu.
func (p *Partition) hold() {
	if p.topic.state.Load().relaxed() {
		p.heldUntil = p.table.opts.Now().Add(holdStrict)
	}
}

// held is until when the partition stays strict; the zero time if it is not held.
func (p *Partition) held(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.relaxed || p.changing || !p.heldUntil.After(now) || !p.topic.state.Load().relaxed() {
		return time.Time{}
	}
	return p.heldUntil
}

// unflushed is what a relaxed mode has written and not synced. Partition.mu guards it.
type unflushed struct {
	records int64
	since   int64 // ms, of the first of them; 0: none
}

// wrote counts an append of a relaxed mode. The caller holds p.mu.
func (p *Partition) wrote(records int32, now int64) {
	if p.unflushed.since == 0 {
		p.unflushed.since = max(now, 1)
		p.table.flushes.arm()
	}
	p.unflushed.records += int64(records)
	if p.unflushed.records >= p.topic.Settings().FlushMessages {
		p.table.flushes.hurry()
	}
}

// takeFlush reports whether the partition must be synced now, and counts anew if so.
func (p *Partition) takeFlush(now int64, interval time.Duration) bool {
	set := p.topic.Settings()
	p.mu.Lock()
	defer p.mu.Unlock()
	u := &p.unflushed
	if p.state != online || u.since == 0 {
		return false
	}
	age := now - u.since
	due := u.records >= set.FlushMessages || age >= set.FlushMs || set.Durability == settings.Interval && age >= interval.Milliseconds()
	if due {
		*u = unflushed{}
	}
	return due
}

// hasUnflushed reports whether takeFlush may say yes later.
func (p *Partition) hasUnflushed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == online && p.unflushed.since != 0
}

// followMode makes the partition follow its topic's mode. It is called by the housekeeper alone.
func (p *Partition) followMode() error {
	switch want := p.topic.state.Load().relaxed(); {
	case p.beginStrict(want):
		if err := p.SyncSegment(); err != nil {
			return err
		}
		p.endChange(false)
	case p.beginRelaxed(want):
		p.endChange(true)
	}
	return nil
}

// beginStrict parks appends if the mode goes from relaxed to always, or has begun to.
func (p *Partition) beginStrict(want bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != online || !p.relaxed || want && !p.changing {
		return false
	}
	p.changing = true
	return true
}

// beginRelaxed parks appends if the mode goes from always to relaxed, and reports whether the change can be made at once.
// Else the committer's last answer makes it.
func (p *Partition) beginRelaxed(want bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != online || p.relaxed || !want {
		return false
	}
	p.changing = true
	return p.pending == 0
}

func (p *Partition) endChange(relaxed bool) {
	var done chain
	var woken wakes
	p.mu.Lock()
	p.unpark(relaxed, &done, &woken)
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// drained ends a change to a relaxed mode once the committer has nothing of the partition. The caller holds p.mu.
func (p *Partition) drained(done *chain, woken *wakes) {
	if p.changing && !p.relaxed && p.pending == 0 {
		p.unpark(true, done, woken)
	}
}

// unpark ends a change of mode. The caller holds p.mu.
func (p *Partition) unpark(relaxed bool, done *chain, woken *wakes) {
	if !p.changing { // it was made, or the partition is gone
		return
	}
	p.changing, p.relaxed = false, relaxed
	parked := p.parked
	p.parked = chain{}
	for a := range parked.each {
		p.place(a, done, woken)
	}
	if p.relaxed != p.topic.state.Load().relaxed() {
		p.table.poke() // the setting has changed again meanwhile
	}
}
