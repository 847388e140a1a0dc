package partition

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/producers"
)

// An atomic group is batches of several partitions that become durable all or none: a transaction's offsets and markers.
// The committer writes them as one unit of its log, so all that is to do here is to place all of them before anybody else
// can place anything in between, and to answer when the last has been answered.
//
// The log is what makes a group whole, so every partition in it must be written through the log, in order. One whose mode
// is relaxed is therefore made strict; its housekeeper makes it relaxed again once no group has come for a while.

// Share is what one partition gets of an atomic group.
type Share struct {
	Partition *Partition
	Records   []byte // one batch of a record.Builder; it belongs to the group until done
	At        int64  // the offset that it must get, or Anywhere
}

// AppendGroup appends every share or none. An error says that nothing has been placed anywhere. Else done is called once:
// before it returns, or on the committer's goroutine later, where it must be quick. Each partition may be in it once. A
// partition that is deleted while the group is under way counts as written, since nobody will read it. It waits for nothing,
// but for a sync of partitions whose mode is not always.
func (t *Table) AppendGroup(shares []Share, done func(error)) error {
	if len(shares) == 0 {
		done(nil)
		return nil
	}
	g := &group{table: t, done: done, appends: make([]member, len(shares))}
	for i, s := range shares {
		g.appends[i].partition = s.Partition
		g.appends[i].Records, g.appends[i].Done = s.Records, g
		if err := s.Partition.adopt(&g.appends[i].Append, s.At); err != nil {
			return err
		}
	}
	return g.append()
}

// group is one atomic group under way.
type group struct {
	table   *Table
	appends []member // by key, the order in which they are locked
	done    func(error)

	mu     sync.Mutex // guards what follows
	told   int
	failed error
}

type member struct {
	Append
	partition *Partition
	entry     producers.Entry
}

// append places the group, or returns why it cannot be.
func (g *group) append() error {
	slices.SortFunc(g.appends, func(a, b member) int { return compareKeys(a.partition.Key(), b.partition.Key()) })
	for i := range g.appends {
		if i > 0 && g.appends[i].partition == g.appends[i-1].partition {
			return fmt.Errorf("partition %s is twice in an atomic group", g.appends[i].partition.name())
		}
		if err := g.appends[i].partition.Barred(); err != nil {
			return err
		}
	}
	for {
		relaxed, err := g.place()
		if relaxed == nil {
			return err
		}
		// Until the group is placed it may become relaxed again if that takes longer than it is held.
		if err := relaxed.makeStrict(); err != nil {
			return err
		}
	}
}

func compareKeys(a, b commit.Key) int {
	return cmp.Or(bytes.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Partition, b.Partition))
}

// place gives every batch its offset and hands them all to the committer. When a partition is not strict it does nothing
// and returns that.
func (g *group) place() (relaxed *Partition, err error) {
	for i := range g.appends {
		g.appends[i].partition.mu.Lock()
		defer g.appends[i].partition.mu.Unlock()
	}
	for i := range g.appends {
		m := &g.appends[i]
		if m.partition.relaxed || m.partition.changing {
			return m.partition, nil
		}
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	writes := make([]*commit.Write, len(g.appends))
	for i := range g.appends {
		m := &g.appends[i]
		m.partition.position(&m.Append)
		m.write = m.partition.writeOf(&m.Append)
		writes[i] = &m.write
	}
	if err := g.table.committing.EnqueueGroup(writes); err != nil {
		return nil, err
	}
	for i := range g.appends {
		m := &g.appends[i]
		m.partition.enqueued(&m.Append, m.entry)
		m.partition.hold()
	}
	return nil, nil
}

// check asks whether the batch may come next. The caller holds the partition's mutex.
func (m *member) check() (err error) {
	if m.partition.state != online {
		return failureError(failure(m.partition.state.code()))
	}
	if m.partition.table.broken.Load() {
		return errBroken
	}
	m.entry, err = m.partition.checkOwn(&m.Append)
	return err
}

// makeStrict makes the partition write through the committer: at once if it is about to become relaxed, else after a sync
// of what it has written without. It becomes what its topic says again once it is held no longer and the housekeeper looks.
func (p *Partition) makeStrict() error {
	p.mu.Lock()
	relaxed := p.relaxed
	p.changing = true
	p.hold()
	p.mu.Unlock()
	if relaxed {
		if err := p.SyncSegment(); err != nil {
			p.table.fail("syncing "+p.name()+" for an atomic group", err)
			return err
		}
	}
	p.endChange(false)
	return nil
}

// Appended hears of one batch of the group.
func (g *group) Appended(a *Append) {
	g.mu.Lock()
	g.told++
	if err := a.Result.Err(); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		g.failed = cmp.Or(g.failed, err)
	}
	last, err := g.told == len(g.appends), g.failed
	g.mu.Unlock()
	if last {
		g.done(err)
	}
}
