package storage

import (
	"errors"
	"fmt"
	"io"
)

// indexPageBytes is how much of an index file a search reads at once: its last
// nine steps, which lie close together, then cost one read and not nine.
const indexPageBytes = 4096

// indexPage is the piece of an index file that a search has read last. It comes
// from a pool: give it back with done.
type indexPage struct {
	index *index
	first int // entry that the page begins with
	count int // entries in it
	bytes [indexPageBytes]byte
}

func (f *Files) page(x *index) *indexPage {
	p, ok := f.pages.Get().(*indexPage)
	if !ok {
		p = new(indexPage)
	}
	p.index, p.first, p.count = x, 0, 0
	return p
}

func (p *indexPage) done() {
	files := p.index.file.files
	p.index = nil
	files.pages.Put(p)
}

// entry copies entry i of state s into b, which has the width of one.
func (p *indexPage) entry(s *indexState, i int, b []byte) error {
	if i >= s.written {
		return p.index.entry(s, i, b)
	}
	if i < p.first || i >= p.first+p.count {
		if err := p.read(s, i); err != nil {
			return err
		}
	}
	at := (i - p.first) * p.index.width
	copy(b, p.bytes[at:at+p.index.width])
	return nil
}

// read reads the page that holds entry i. Where the file ends before it should,
// entries are zero, and what they point to will tell.
func (p *indexPage) read(s *indexState, i int) error {
	width := p.index.width
	h, err := p.index.file.acquire()
	if err != nil {
		return fmt.Errorf("opening index: %w", err)
	}
	defer h.release()
	each := indexPageBytes / width
	p.first, p.count = i/each*each, 0
	want := p.bytes[:min(each, s.written-p.first)*width]
	got, err := h.file.ReadAt(want, int64(p.first*width))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading index %s: %w", p.index.file.name, err)
	}
	clear(want[got:])
	p.count = len(want) / width
	return nil
}
