package commit

import (
	"fmt"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

// wal writes the log. Its methods belong to the goroutine of Run, except those of the file set.
type wal struct {
	fs  vfs.FS
	dir string
	cfg Config

	file   vfs.File // the current one
	header fileHeader
	seed   uint32
	end    int64 // where the next round begins; 0: the file is unused
	size   int64 // what the file holds without growing
	buf    []byte
	at     int64 // where buf goes

	seq     uint64 // last one given out
	begun   uint64 // last one before the round
	written uint64 // last one in a finished round; those of failed rounds never count
	durable uint64 // last one that is synced
	torn    bool   // bytes of a failed round may be behind end

	// turn is held by whoever changes the set of files: names are given and taken, and directories synced, one at a time.
	turn   chan struct{}
	used   []walFile // full ones, oldest first
	spares []walFile // lowest number first
	next   uint64    // number of the next spare

	ready     atomic.Int32 // number of spares
	usedBytes int64        // found at Open
	kept      uint64       // the first file with a frame that must stay
}

// walFile is a file of the log that is full or spare. Only the current one is open.
type walFile struct {
	number uint64
	size   int64
}

const (
	bufferFlush = 512 * kib // frames are gathered up to this and then written
	bufferKeep  = 2 * mib   // a buffer that one round made larger is let go
)

func fatalError(act string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrFatal, act, err)
}

// use makes f the file that the next round opens.
func (w *wal) use(f walFile, file vfs.File) {
	w.file, w.end, w.size = file, 0, f.size
	w.seq = firstSeq(f.number)
	w.header = fileHeader{number: f.number, durable: w.durable, salt: w.cfg.Salt()}
	w.seed = w.header.seed()
}

// begin starts a round. Nothing of it counts before finish.
func (w *wal) begin() error {
	if err := w.erase(); err != nil {
		return err
	}
	w.buf, w.at, w.begun = w.buf[:0], w.end, w.seq
	if w.end == 0 {
		w.buf = w.header.append(w.buf)
	}
	return nil
}

// add gives the frame its number and appends it to the round.
func (w *wal) add(h frameHeader, payload []byte) error {
	w.seq++
	h.seq, h.durable = w.seq, w.durable
	w.buf = appendFrame(w.buf, h, payload, w.seed)
	if len(w.buf) < bufferFlush {
		return nil
	}
	return w.flush()
}

func (w *wal) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if _, err := w.file.WriteAt(w.buf, w.at); err != nil {
		return fmt.Errorf("writing to the log: %w", err)
	}
	w.at += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// finish writes the rest of the round and returns how many bytes it took.
func (w *wal) finish() (int64, error) {
	if err := w.flush(); err != nil {
		return 0, err
	}
	if cap(w.buf) > bufferKeep {
		w.buf = nil
	}
	n := w.at - w.end
	w.end, w.size = w.at, max(w.size, w.at)
	if w.seq > w.begun {
		w.written = w.seq
	}
	return n, nil
}

// abandon forgets a round that could not be written. Its numbers are not given out again, so that whatever is left of it
// behind the next round is recognized as old.
func (w *wal) abandon() error {
	w.torn = true
	return w.erase()
}

// erase overwrites the first header of an abandoned round, durably, so that no replay finds it: its writers have been told
// that it failed, and others will take its offsets. No round starts before that is done.
func (w *wal) erase() error {
	if !w.torn {
		return nil
	}
	var zeros [max(fileHeaderSize, frameHeaderSize)]byte
	if _, err := w.file.WriteAt(zeros[:], w.end); err != nil {
		return fmt.Errorf("erasing a failed round from the log: %w", err)
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.torn = false
	return nil
}

// unsynced says that finished rounds wait for a sync.
func (w *wal) unsynced() bool { return w.written > w.durable }

func (w *wal) sync() error {
	if err := w.file.Sync(); err != nil {
		return fatalError("syncing the log", err)
	}
	w.durable = w.written
	return nil
}

// fits says whether a round of n bytes can go into the current file without making it grow.
func (w *wal) fits(n int64) bool { return w.end+n <= w.size }

// roll closes the current file, unless it is unused, and goes on in a spare, if there is one.
func (w *wal) roll() error {
	if w.end == 0 {
		return nil
	}
	if err := w.erase(); err != nil {
		return err
	}
	if w.unsynced() { // a file that is not the last one has no torn tail
		if err := w.sync(); err != nil {
			return err
		}
	}
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if len(w.spares) == 0 {
		return nil
	}
	next := w.spares[0]
	file, err := w.fs.OpenFile(w.path(next.number))
	if err != nil {
		return fmt.Errorf("opening the next file of the log: %w", err)
	}
	_ = w.file.Close() // everything in it is synced
	w.used = append(w.used, walFile{number: w.header.number, size: w.size})
	w.use(w.takeSpare(), file)
	return nil
}
