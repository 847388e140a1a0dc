package vfs

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pageSize   = 4096
	sectorSize = 512
	// historyMax bounds what is remembered of one page or size between two syncs. Beyond it, states in the middle are
	// forgotten; a crash image then shows fewer of the possible states, never an impossible one.
	historyMax = 64
)

// content is what a file holds: pages, the size, and how to take back what has not been synced.
type content struct {
	size    int64
	modTime int64 // ms
	pages   map[int64]*page
	dirty   map[int64]bool // pages with undo records
	// sizes are the sizes since the last sync: the first is durable, the last is now. A crash may leave any of them.
	sizes []int64
}

// page is one page of a file. Bytes beyond the end of the file are zero.
type page struct {
	data   *[pageSize]byte // nil: zeros
	shared bool            // data also belongs to a clone, copy before writing
	undo   []undo          // one for each un-synced write, oldest first
}

// undo takes back one write to a page.
type undo struct {
	at  int
	old []byte
	// shrink is the index in content.sizes that this write belongs to when it is the clearing done by a truncation, else 0.
	// A journaling file system has either both the smaller size and the cleared bytes, or neither.
	shrink int
}

func newContent(now time.Time) content {
	return content{pages: map[int64]*page{}, dirty: map[int64]bool{}, sizes: []int64{0}, modTime: now.UnixMilli()}
}

func (c *content) readAt(b []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), c.size-off))
	for done := 0; done < n; {
		number, at := (off+int64(done))/pageSize, int((off+int64(done))%pageSize)
		piece := b[done:min(n, done+pageSize-at)]
		if p := c.pages[number]; p != nil && p.data != nil {
			copy(piece, p.data[at:])
		} else {
			clear(piece)
		}
		done += len(piece)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (c *content) writeAt(b []byte, off int64, now time.Time) {
	c.modTime = now.UnixMilli()
	if end := off + int64(len(b)); end > c.size && len(b) > 0 {
		c.setSize(end)
	}
	for len(b) > 0 {
		number, at := off/pageSize, int(off%pageSize)
		n := min(len(b), pageSize-at)
		c.writePage(number, at, b[:n], 0)
		b, off = b[n:], off+int64(n)
	}
}

func (c *content) writePage(number int64, at int, b []byte, shrink int) {
	p := c.pages[number]
	if p == nil {
		p = new(page)
		c.pages[number] = p
	}
	if p.data == nil && allZero(b) {
		return // the page reads the same before and after
	}
	p.own()
	p.undo = append(p.undo, undo{at: at, old: append([]byte(nil), p.data[at:at+len(b)]...), shrink: shrink})
	copy(p.data[at:], b)
	c.dirty[number] = true
	p.forgetMiddle()
}

func (p *page) own() {
	if p.data == nil {
		p.data = new([pageSize]byte)
	} else if p.shared {
		data := *p.data
		p.data = &data
	}
	p.shared = false
}

// back returns the page as it was before the last undos[keep:] writes.
func (p *page) back(keep int) *[pageSize]byte {
	var data [pageSize]byte
	if p.data != nil {
		data = *p.data
	}
	for i := len(p.undo) - 1; i >= keep; i-- {
		copy(data[p.undo[i].at:], p.undo[i].old)
	}
	return &data
}

func (p *page) forgetMiddle() {
	if len(p.undo) < historyMax {
		return
	}
	for _, u := range p.undo {
		if u.shrink > 0 {
			return
		}
	}
	p.undo = append(p.undo[:0:0], undo{old: p.back(0)[:]})
}

// setSize records a new size. Growth after growth is forgotten beyond historyMax; a shrink never, since undo records
// point at it.
func (c *content) setSize(size int64) {
	grows := size > c.size
	c.size = size
	last := len(c.sizes) - 1
	if grows && last >= historyMax && c.sizes[last] > c.sizes[last-1] {
		c.sizes[last] = size
		return
	}
	c.sizes = append(c.sizes, size)
}

func (c *content) resize(size int64, now time.Time) {
	if size == c.size {
		return
	}
	c.modTime = now.UnixMilli()
	old := c.size
	c.setSize(size)
	if size > old {
		return
	}
	for number, p := range c.pages {
		at := int(max(0, size-number*pageSize))
		if at < pageSize && p.data != nil {
			c.writePage(number, at, make([]byte, pageSize-at), len(c.sizes)-1)
		}
	}
}

func (c *content) sync() {
	for number := range c.dirty {
		p := c.pages[number]
		p.undo = nil
		if number*pageSize >= c.size {
			delete(c.pages, number)
		}
	}
	clear(c.dirty)
	c.sizes = append(c.sizes[:0], c.size)
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// memoryFile is a handle.
type memoryFile struct {
	m        *Memory
	node     *node
	name     string
	writable bool
	closed   atomic.Bool
}

func (f *memoryFile) check(op string, off int64) error {
	switch {
	case f.closed.Load():
		return pathError(op, f.name, os.ErrClosed)
	case off < 0:
		return pathError(op, f.name, syscall.EINVAL)
	case !f.writable && (op == "write" || op == "truncate"):
		return pathError(op, f.name, syscall.EBADF)
	}
	return nil
}

func (f *memoryFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read", off); err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	return f.node.readAt(b, off)
}

func (f *memoryFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check("write", off); err != nil {
		return 0, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.node.writeAt(b, off, time.Now())
	return len(b), nil
}

func (f *memoryFile) Truncate(size int64) error {
	if err := f.check("truncate", size); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.node.resize(size, time.Now())
	return nil
}

func (f *memoryFile) Sync() error {
	if err := f.check("sync", 0); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.node.sync()
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	if err := f.check("size", 0); err != nil {
		return 0, err
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	return f.node.size, nil
}

func (f *memoryFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, os.ErrClosed)
	}
	return nil
}
