package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// SyncDir makes every change that touches dir durable, and with it the older changes that those stand on, as a journal
// does.
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.directory("syncdir", dir)
	if err != nil {
		return err
	}
	touched := map[*node]bool{n: true}
	durable := make([]bool, len(m.pending))
	for i, c := range slices.Backward(m.pending) {
		if touched[c.from.dir] || touched[c.to.dir] {
			durable[i] = true
			for _, d := range []*node{c.from.dir, c.to.dir} {
				if d != nil {
					touched[d] = true
				}
			}
		}
	}
	var rest []entryChange
	for i, c := range m.pending {
		if durable[i] {
			c.apply(func(d *node) map[string]*node { return d.durable })
		} else {
			rest = append(rest, c)
		}
	}
	m.pending = rest
	return nil
}

func (c entryChange) apply(entries func(dir *node) map[string]*node) {
	if c.from.dir != nil {
		if from := entries(c.from.dir); from[c.from.name] == c.node {
			delete(from, c.from.name)
		}
	}
	if c.to.dir != nil {
		entries(c.to.dir)[c.to.name] = c.node
	}
}

// KillClone returns a copy as a new process finds it after the old one was killed: everything written is there, what was
// not synced still is not, and nobody holds a lock.
func (m *Memory) KillClone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	copies := map[*node]*node{}
	clone := &Memory{locks: map[*node]bool{}}
	clone.root = copyNode(m.root, copies)
	for _, c := range m.pending {
		c.node = copyNode(c.node, copies)
		c.from.dir = copyNode(c.from.dir, copies)
		c.to.dir = copyNode(c.to.dir, copies)
		clone.pending = append(clone.pending, c)
	}
	return clone
}

func copyNode(n *node, copies map[*node]*node) *node {
	if n == nil || copies[n] != nil {
		return copies[n]
	}
	c := new(node)
	copies[n] = c
	if n.isDir() {
		c.entries, c.durable = map[string]*node{}, map[string]*node{}
		for name, child := range n.entries {
			c.entries[name] = copyNode(child, copies)
		}
		for name, child := range n.durable {
			c.durable[name] = copyNode(child, copies)
		}
		return c
	}
	c.content = n.content
	c.pages = make(map[int64]*page, len(n.pages))
	for number, p := range n.pages {
		p.shared = true
		c.pages[number] = &page{data: p.data, shared: true, undo: slices.Clone(p.undo)}
	}
	c.dirty, c.sizes = maps.Clone(n.dirty), slices.Clone(n.sizes)
	return c
}

// CrashClone returns a copy as it may be after a power cut: synced bytes and entries are there, of everything else an
// arbitrary part that the seed decides. Each page of 4 KiB keeps its un-synced writes up to one of them, independently of
// all other pages; a size may have persisted or not (pages that did not read as zero); each change of a directory may
// have persisted or not. Everything in the copy is durable and nobody holds a lock. The original goes on as if nothing
// had happened.
func (m *Memory) CrashClone(seed uint64) *Memory { return m.crash(seed, pageSize) }

// CrashCloneTorn is CrashClone on a disk that writes 512 bytes at a time: each sector of a page makes its own choice.
func (m *Memory) CrashCloneTorn(seed uint64) *Memory { return m.crash(seed, sectorSize) }

func (m *Memory) crash(seed uint64, unit int) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &crash{dice: rand.New(rand.NewPCG(seed, 0x5eed)), unit: unit, images: map[*node]map[string]*node{}, at: map[*node]place{}}
	keep := c.coin()
	for _, change := range m.pending {
		if _, seen := c.at[change.node]; !seen {
			c.at[change.node] = change.from // where it durably is, if anywhere
		}
		if keep() {
			c.apply(change)
		}
	}
	return &Memory{locks: map[*node]bool{}, root: c.build(m.root)}
}

// crash builds one image.
type crash struct {
	dice   *rand.Rand
	unit   int
	images map[*node]map[string]*node // the entries of directories as they survive
	at     map[*node]place            // where the nodes are that have changes
}

// coin returns a coin that always shows tails, always heads, or is more or less fair: the extremes would hardly ever
// come up among many fair throws.
func (c *crash) coin() func() bool {
	chance := []float64{0, 1, 0.1, 0.5, 0.5, 0.9}[c.dice.IntN(6)]
	return func() bool { return c.dice.Float64() < chance }
}

func (c *crash) entries(dir *node) map[string]*node {
	if c.images[dir] == nil {
		c.images[dir] = maps.Clone(dir.durable)
	}
	return c.images[dir]
}

// apply lets one change survive. A node that an earlier change, which did not survive, had moved is taken from where it
// still is: no file has two names.
func (c *crash) apply(change entryChange) {
	if last := c.at[change.node]; last.dir != nil && c.entries(last.dir)[last.name] == change.node {
		delete(c.entries(last.dir), last.name)
	}
	change.apply(c.entries)
	c.at[change.node] = change.to
}

func (c *crash) build(n *node) *node {
	if !n.isDir() {
		return c.buildFile(n)
	}
	dir := newDir()
	entries := c.entries(n)
	for _, name := range sortedKeys(entries) {
		child := c.build(entries[name])
		dir.entries[name], dir.durable[name] = child, child
	}
	return dir
}

func (c *crash) buildFile(n *node) *node {
	f := &node{content: newContent(time.Time{})}
	f.modTime = n.modTime
	chosen := c.pick(0, len(n.sizes)-1, c.coin())
	f.size = n.sizes[chosen]
	f.sizes[0] = f.size
	keep := c.coin()
	for _, number := range slices.Sorted(maps.Keys(n.pages)) {
		if number*pageSize >= f.size {
			continue
		}
		f.pages[number] = c.buildPage(n.pages[number], chosen, keep)
		if end := f.size - number*pageSize; end < pageSize {
			f.pages[number].own()
			clear(f.pages[number].data[end:])
		}
	}
	return f
}

// pick throws the coin: heads is the newest state, tails the oldest, and one throw in three any between.
func (c *crash) pick(oldest, newest int, keep func() bool) int {
	if newest-oldest > 1 && c.dice.IntN(3) == 0 {
		return oldest + c.dice.IntN(newest-oldest+1)
	}
	if keep() {
		return newest
	}
	return oldest
}

func (c *crash) buildPage(p *page, size int, keep func() bool) *page {
	oldest, newest := 0, len(p.undo)
	for i, u := range p.undo {
		if u.shrink > 0 && u.shrink <= size {
			oldest = i + 1
		}
		if u.shrink > size {
			newest = min(newest, i)
		}
	}
	if len(p.undo) == 0 {
		p.shared = true
		return &page{data: p.data, shared: true}
	}
	data := new([pageSize]byte)
	for at := 0; at < pageSize; at += c.unit {
		state := p.back(c.pick(oldest, newest, keep))
		copy(data[at:at+c.unit], state[at:])
	}
	return &page{data: data}
}
