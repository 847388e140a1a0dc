package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

// chunkEntries is how many entries an index holds in memory before it writes
// them to its file. With Kafka's default of one entry in 4 KiB a segment's file
// is written once in a MiB, and a partition that is written to costs 5 KiB.
const chunkEntries = 256

// index is a file of entries of one size, ascending. Entries are appended in
// memory and written in chunks, without a sync: what a crash takes is read from
// the segment again. One goroutine appends, any number read meanwhile.
type index struct {
	file  source
	width int                        // bytes of one entry
	state atomic.Pointer[indexState] // nil: the file has not been looked at yet
}

// indexState is one instant of an index. Entries of tail that are counted never
// change, so that a reader may go on with a state that has been replaced.
type indexState struct {
	written int // entries in the file
	tail    *chunk
}

type chunk struct {
	entries []byte // with room for all
	count   atomic.Int32
}

func (x *index) init(files *Files, name string, width int) {
	x.file.files, x.file.name, x.width = files, name, width
}

// reset makes the first n entries of the file the index.
func (x *index) reset(n int) { x.state.Store(&indexState{written: n}) }

// now returns the state. A file that is missing is empty.
func (x *index) now() (*indexState, error) {
	if s := x.state.Load(); s != nil {
		return s, nil
	}
	info, err := x.file.files.fs.Stat(x.file.name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking at index: %w", err)
	}
	x.state.CompareAndSwap(nil, &indexState{written: int(info.Size) / x.width})
	return x.state.Load(), nil
}

func (s *indexState) tailCount() int {
	if s.tail == nil {
		return 0
	}
	return int(s.tail.count.Load())
}

// count is the number of entries, 0 for a file that cannot be looked at.
func (x *index) count() int {
	s, err := x.now()
	if err != nil {
		return 0
	}
	return s.written + s.tailCount()
}

// reserve makes room for n more entries, so that the appends cannot fail.
func (x *index) reserve(n int) error {
	s := x.state.Load()
	if s.tail != nil && len(s.tail.entries)/x.width-s.tailCount() >= n {
		return nil
	}
	if err := x.flush(); err != nil {
		return err
	}
	tail := &chunk{entries: make([]byte, max(n, chunkEntries)*x.width)}
	x.state.Store(&indexState{written: x.state.Load().written, tail: tail})
	return nil
}

// append adds an entry for which reserve has made room.
func (x *index) append(entry []byte) {
	tail := x.state.Load().tail
	n := tail.count.Load()
	copy(tail.entries[int(n)*x.width:], entry)
	tail.count.Store(n + 1)
}

// flush writes what is in memory to the file.
func (x *index) flush() error {
	s := x.state.Load()
	n := s.tailCount()
	if n == 0 {
		return nil
	}
	if err := x.write(s.tail.entries[:n*x.width], int64(s.written*x.width)); err != nil {
		return err
	}
	x.state.Store(&indexState{written: s.written + n})
	return nil
}

func (x *index) write(b []byte, at int64) error {
	f, err := x.file.files.fs.OpenFile(x.file.name)
	if err != nil {
		return fmt.Errorf("opening index: %w", err)
	}
	_, err = f.WriteAt(b, at)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing index %s: %w", x.file.name, err)
	}
	return nil
}

// finish writes everything to the file, cuts what stands behind it there and
// makes it durable. The file exists afterwards, as Kafka wants it, even empty.
func (x *index) finish() error {
	if err := x.flush(); err != nil {
		return err
	}
	return x.cut(x.state.Load().written)
}

// cut makes the file end after n entries, durably.
func (x *index) cut(n int) error {
	f, err := x.file.files.fs.OpenFile(x.file.name)
	if err != nil {
		return fmt.Errorf("opening index: %w", err)
	}
	err = f.Truncate(int64(n * x.width))
	if err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cutting index %s to %d entries: %w", x.file.name, n, err)
	}
	return nil
}

// entry copies entry i of state s into b, which has the width of one.
func (x *index) entry(s *indexState, i int, b []byte) error {
	if i >= s.written {
		at := (i - s.written) * x.width
		copy(b, s.tail.entries[at:at+x.width])
		return nil
	}
	h, err := x.file.acquire()
	if err != nil {
		return fmt.Errorf("opening index: %w", err)
	}
	defer h.release()
	if _, err := h.file.ReadAt(b, int64(i*x.width)); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading index %s: %w", x.file.name, err)
	}
	return nil
}

// last copies the last entry into b; ok is false when there is none.
func (x *index) last(b []byte) (ok bool, err error) {
	s, err := x.now()
	if err != nil {
		return false, err
	}
	n := s.written + s.tailCount()
	if n == 0 {
		return false, nil
	}
	return true, x.entry(s, n-1, b)
}

// search returns the number of entries at the start for which before is true; as
// entries ascend, it is true for none behind them. The last of them is left in b.
func (x *index) search(b []byte, before func(entry []byte) bool) (int, error) {
	s, err := x.now()
	if err != nil {
		return 0, err
	}
	page := x.file.files.page(x)
	defer page.done()
	low, high, held := 0, s.written+s.tailCount(), -1
	for low < high {
		middle := int(uint(low+high) >> 1)
		if err := page.entry(s, middle, b); err != nil {
			return 0, err
		}
		held = middle
		if before(b) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low > 0 && held != low-1 {
		return low, page.entry(s, low-1, b)
	}
	return low, nil
}

// load reads the whole file; a file that is missing is empty.
func (x *index) load() ([]byte, error) {
	b, err := vfs.ReadFile(x.file.files.fs, x.file.name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading index %s: %w", x.file.name, err)
	}
	return b, nil
}

// forget makes the first n entries of a file of that size the index. The others
// are cut, durably: a later crash must not show them among newer ones.
func (x *index) forget(size, n int) error {
	x.reset(n)
	if size == n*x.width {
		return nil
	}
	return x.cut(n)
}
