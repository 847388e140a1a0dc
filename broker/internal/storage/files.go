package storage

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

// filesDefault is how many files of sealed segments stay open.
const filesDefault = 512

// Files keeps the files of sealed segments open, so many at most, for all logs
// of a broker, and lends buffers for reading headers and indexes. It may be used by any
// number of goroutines.
//
// Every open file counts its users. The cache is one of them, so a file is
// closed when the cache has dropped it and the last reader has given it back:
// that is what keeps a Slice readable whatever happens to its segment.
type Files struct {
	fs      vfs.FS
	limit   int
	buffers sync.Pool // of *scanner
	pages   sync.Pool // of *indexPage

	mu   sync.Mutex
	ring []*handle // what the cache holds
	hand int       // where the next search for a victim begins
}

// NewFiles keeps up to limit files of fs open; limit 0 stands for 512.
func NewFiles(fs vfs.FS, limit int) *Files {
	if limit <= 0 {
		limit = filesDefault
	}
	return &Files{fs: fs, limit: limit}
}

// Close closes what nobody uses. Slices that are still out stay readable.
func (f *Files) Close() error {
	f.mu.Lock()
	ring := f.ring
	f.ring = nil
	for _, h := range ring {
		h.at = uncached
		h.source.current.CompareAndSwap(h, nil)
	}
	f.mu.Unlock()
	releaseAll(ring)
	return nil
}

// handle is an open file with a count of its users.
type handle struct {
	file   vfs.File
	source *source
	refs   atomic.Int32
	used   atomic.Bool // since the hand came by last
	at     int         // place in the ring or uncached; Files.mu guards it
}

const uncached = -1

// use adds a user unless the last one has gone already.
func (h *handle) use() bool {
	for {
		n := h.refs.Load()
		if n == 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release takes a user away. A failed close of a file that was only read, or
// synced before, loses nothing.
func (h *handle) release() {
	if h.refs.Add(-1) == 0 {
		_ = h.file.Close()
	}
}

// source is a file by name, opened when it is needed.
type source struct {
	files   *Files
	name    string
	gone    atomic.Bool // the name is, or may be, another file's by now
	current atomic.Pointer[handle]
}

// acquire returns the file open for reading; the caller releases it. The error
// wraps os.ErrNotExist when the file is gone.
func (s *source) acquire() (*handle, error) {
	if h := s.current.Load(); h != nil && h.use() {
		h.used.Store(true)
		return h, nil
	}
	file, err := s.files.fs.Open(s.name)
	if err != nil {
		return nil, err
	}
	h := s.files.keep(s, file)
	if h == nil { // what was opened may be a successor of the same name
		return nil, &os.PathError{Op: "open", Path: s.name, Err: os.ErrNotExist}
	}
	return h, nil
}

// pin opens the file for writing, makes it when it is missing, and keeps it open
// for its owner and for every reader until unpin.
func (s *source) pin() (*handle, error) {
	file, err := s.files.fs.OpenFile(s.name)
	if err != nil {
		return nil, err
	}
	h := &handle{file: file, source: s, at: uncached}
	h.refs.Store(1)
	if old := s.current.Swap(h); old != nil {
		s.files.forget(old)
	}
	return h, nil
}

// hold opens the file under another name that it still has, for reading, and
// keeps it open until unpin.
func (s *source) hold(name string) (*handle, error) {
	file, err := s.files.fs.Open(name)
	if err != nil {
		return nil, err
	}
	h := &handle{file: file, source: s, at: uncached}
	h.refs.Store(1)
	s.current.Store(h)
	return h, nil
}

// unpin gives what pin returned to the cache.
func (s *source) unpin(h *handle) {
	s.files.adopt(h)
}

// drop says that the name is about to be taken away from the file.
func (s *source) drop() {
	s.files.mu.Lock()
	s.gone.Store(true)
	h := s.current.Swap(nil)
	s.files.mu.Unlock()
	if h != nil {
		s.files.forget(h)
	}
}

// keep puts a file just opened for s into the cache and returns it in use, or
// what another caller has put there meanwhile, or nil when s is gone.
func (f *Files) keep(s *source, file vfs.File) *handle {
	f.mu.Lock()
	if h := s.current.Load(); h != nil && h.use() {
		f.mu.Unlock()
		_ = file.Close()
		return h
	}
	if s.gone.Load() {
		f.mu.Unlock()
		_ = file.Close()
		return nil
	}
	h := &handle{file: file, source: s}
	h.refs.Store(2) // the cache and the caller
	s.current.Store(h)
	victims := f.add(h)
	f.mu.Unlock()
	releaseAll(victims)
	return h
}

// adopt makes the cache the user of h that its owner was.
func (f *Files) adopt(h *handle) {
	f.mu.Lock()
	if h.source.current.Load() != h {
		f.mu.Unlock()
		h.release()
		return
	}
	victims := f.add(h)
	f.mu.Unlock()
	releaseAll(victims)
}

// add puts h into the ring and takes out what has not been used since the hand
// last came by. The caller holds f.mu and releases the victims after it.
func (f *Files) add(h *handle) (victims []*handle) {
	h.at = len(f.ring)
	f.ring = append(f.ring, h)
	for len(f.ring) > f.limit {
		f.hand %= len(f.ring)
		if victim := f.ring[f.hand]; !victim.used.Swap(false) && victim != h {
			victim.source.current.CompareAndSwap(victim, nil)
			f.remove(victim)
			victims = append(victims, victim)
			continue
		}
		f.hand++
	}
	return victims
}

// remove takes h out of the ring. The caller holds f.mu.
func (f *Files) remove(h *handle) {
	last := len(f.ring) - 1
	f.ring[h.at] = f.ring[last]
	f.ring[h.at].at = h.at
	f.ring[last] = nil
	f.ring = f.ring[:last]
	h.at = uncached
}

// forget takes h out of the cache, if it is there.
func (f *Files) forget(h *handle) {
	f.mu.Lock()
	cached := h.at != uncached
	if cached {
		f.remove(h)
	}
	f.mu.Unlock()
	if cached {
		h.release()
	}
}

func releaseAll(handles []*handle) {
	for _, h := range handles {
		h.release()
	}
}
