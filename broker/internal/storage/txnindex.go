package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

// AbortedTxn is an aborted transaction of a producer.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	LastStable  int64 // first unstable offset right after the marker
}

const (
	abortedWidth   = 34
	abortedVersion = 0
)

// txnIndex is a segment's transaction index: the transactions whose abort marker
// is in the segment. Aborts are rare, so that all are kept in memory once asked
// for, and the file is only there when there is one. One goroutine appends.
type txnIndex struct {
	file  source
	list  atomic.Pointer[[]AbortedTxn] // nil: not read yet
	dirty atomic.Bool                  // not synced
}

func (x *txnIndex) init(files *Files, name string) {
	x.file.files, x.file.name = files, name
}

// reset makes list what the index holds, without touching the file.
func (x *txnIndex) reset(list []AbortedTxn) { x.list.Store(&list) }

// all returns the entries by last offset. They are shared: do not change them.
func (x *txnIndex) all() ([]AbortedTxn, error) {
	if list := x.list.Load(); list != nil {
		return *list, nil
	}
	b, err := vfs.ReadFile(x.file.files.fs, x.file.name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading transaction index: %w", err)
	}
	list, err := parseAborted(b)
	if err != nil {
		return nil, fmt.Errorf("reading transaction index %s: %w", x.file.name, err)
	}
	x.list.CompareAndSwap(nil, &list)
	return *x.list.Load(), nil
}

// prepare writes the entry behind the last one. It counts only once publish has
// been called; until then it is written over or cut.
func (x *txnIndex) prepare(txn AbortedTxn) error {
	list, err := x.all()
	if err != nil {
		return err
	}
	x.dirty.Store(true)
	return x.change(func(f vfs.File) error {
		_, err := f.WriteAt(txn.append(nil), int64(len(list)*abortedWidth))
		return err
	})
}

// publish makes the prepared entry count.
func (x *txnIndex) publish(txn AbortedTxn) {
	list := append(*x.list.Load(), txn) // readers hold shorter slices of the same array
	x.list.Store(&list)
}

// sync makes the entries durable if they are not.
func (x *txnIndex) sync() error {
	if !x.dirty.Swap(false) {
		return nil
	}
	n := len(*x.list.Load())
	err := x.change(func(f vfs.File) error {
		if err := f.Truncate(int64(n * abortedWidth)); err != nil {
			return err
		}
		return syncFile(f)
	})
	if err != nil {
		x.dirty.Store(true)
	}
	return err
}

func (x *txnIndex) change(do func(vfs.File) error) error {
	f, err := x.file.files.fs.OpenFile(x.file.name)
	if err != nil {
		return fmt.Errorf("opening transaction index: %w", err)
	}
	if err := errors.Join(do(f), f.Close()); err != nil {
		return fmt.Errorf("writing transaction index %s: %w", x.file.name, err)
	}
	return nil
}

func (t AbortedTxn) append(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, abortedVersion)
	b = be.AppendUint64(b, uint64(t.ProducerID))
	b = be.AppendUint64(b, uint64(t.FirstOffset))
	b = be.AppendUint64(b, uint64(t.LastOffset))
	return be.AppendUint64(b, uint64(t.LastStable))
}

// parseAborted reads the entries up to the first that cannot be one: entries
// ascend by last offset, and each begins below its marker. The error says what is
// wrong with that one; the entries before it are good.
func parseAborted(b []byte) ([]AbortedTxn, error) {
	be := binary.BigEndian
	list := make([]AbortedTxn, 0, len(b)/abortedWidth)
	last := int64(none)
	for ; len(b) >= abortedWidth; b = b[abortedWidth:] {
		t := AbortedTxn{int64(be.Uint64(b[2:])), int64(be.Uint64(b[10:])), int64(be.Uint64(b[18:])), int64(be.Uint64(b[26:]))}
		switch {
		case be.Uint16(b) != abortedVersion:
			return list, fmt.Errorf("entry %d has version %d", len(list), be.Uint16(b))
		case t.LastOffset <= last || t.FirstOffset < 0 || t.FirstOffset >= t.LastOffset:
			return list, fmt.Errorf("entry %d, offsets %d to %d, follows offset %d", len(list), t.FirstOffset, t.LastOffset, last)
		}
		list, last = append(list, t), t.LastOffset
	}
	if len(b) > 0 {
		return list, io.ErrUnexpectedEOF
	}
	return list, nil
}
