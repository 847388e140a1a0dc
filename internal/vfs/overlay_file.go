package vfs

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// overlayFile is a handle.
type overlayFile struct {
	overlay  *overlay
	node     *overlaid
	base     File // of the origin, nil without one
	name     string
	writable bool
	closed   atomic.Bool
}

func (f *overlayFile) check(op string, off int64, change bool) error {
	switch {
	case f.closed.Load():
		return pathError(op, f.name, os.ErrClosed)
	case off < 0:
		return pathError(op, f.name, syscall.EINVAL)
	case change && !f.writable:
		return pathError(op, f.name, syscall.EBADF)
	}
	return nil
}

func (f *overlayFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read", off, false); err != nil {
		return 0, err
	}
	f.overlay.mu.Lock()
	defer f.overlay.mu.Unlock()
	n := int(max(0, min(int64(len(b)), f.node.size-off)))
	for done := 0; done < n; {
		at := off + int64(done)
		piece := b[done:min(n, done+int(pageSize-at%pageSize))]
		if err := f.read(piece, at); err != nil {
			return done, err
		}
		done += len(piece)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// read fills b, which lies in one page. What nobody has written is zero.
func (f *overlayFile) read(b []byte, off int64) error {
	if page := f.node.pages[off/pageSize]; page != nil {
		copy(b, page[off%pageSize:])
		return nil
	}
	shown := int(max(0, min(int64(len(b)), f.node.reach-off)))
	clear(b[shown:])
	if shown == 0 {
		return nil
	}
	if _, err := f.base.ReadAt(b[:shown], off); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (f *overlayFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check("write", off, true); err != nil {
		return 0, err
	}
	f.overlay.mu.Lock()
	defer f.overlay.mu.Unlock()
	for done := 0; done < len(b); {
		at := off + int64(done)
		page, err := f.page(at / pageSize)
		if err != nil {
			return done, err
		}
		done += copy(page[at%pageSize:], b[done:])
	}
	f.node.size = max(f.node.size, off+int64(len(b)))
	f.node.modTime = time.Now().UnixMilli()
	return len(b), nil
}

// page returns a page of the overlay's own.
func (f *overlayFile) page(number int64) ([]byte, error) {
	if page := f.node.pages[number]; page != nil {
		return page, nil
	}
	page := make([]byte, pageSize)
	if err := f.read(page, number*pageSize); err != nil {
		return nil, err
	}
	f.node.pages[number] = page
	return page, nil
}

func (f *overlayFile) Truncate(size int64) error {
	if err := f.check("truncate", size, true); err != nil {
		return err
	}
	f.overlay.mu.Lock()
	defer f.overlay.mu.Unlock()
	n := f.node
	for number, page := range n.pages {
		if at := max(0, size-number*pageSize); at < pageSize {
			clear(page[at:])
		}
	}
	n.reach, n.size = min(n.reach, size), size
	n.modTime = time.Now().UnixMilli()
	return nil
}

func (f *overlayFile) Sync() error { return f.check("sync", 0, false) }

func (f *overlayFile) Size() (int64, error) {
	if err := f.check("size", 0, false); err != nil {
		return 0, err
	}
	f.overlay.mu.Lock()
	defer f.overlay.mu.Unlock()
	return f.node.size, nil
}

func (f *overlayFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, os.ErrClosed)
	}
	if f.base != nil {
		return f.base.Close()
	}
	return nil
}
