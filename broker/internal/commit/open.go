package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/internal/vfs"
)

// openWAL replays a log and makes it ready for the next round, which goes into a file that has not been used: what a crash
// has left behind the last frame of an old one is never written over, so that every replay finds the same end.
func openWAL(fs vfs.FS, dir string, cfg Config, replay func(Frame) error) (*wal, error) {
	if replay == nil {
		replay = func(Frame) error { return nil }
	}
	if err := makeDir(fs, dir); err != nil {
		return nil, err
	}
	r, err := replayLog(fs, dir, replay)
	if err != nil {
		return nil, err
	}
	w := &wal{fs: fs, dir: dir, cfg: cfg, turn: make(chan struct{}, 1)}
	w.written, w.durable, w.kept = r.last, r.last, r.kept
	if err := w.takeUsed(r.used); err != nil {
		return nil, err
	}
	if err := w.takeSpares(r.spares); err != nil {
		return nil, err
	}
	if err := w.ensureSpare(); err != nil {
		return nil, err
	}
	first := w.takeSpare()
	file, err := fs.OpenFile(w.path(first.number))
	if err != nil {
		return nil, fmt.Errorf("opening the commit log: %w", err)
	}
	w.use(first, file)
	return w, nil
}

// makeDir makes the directory and everything in it durable: the process before this one may have been killed between a
// change and its sync.
func makeDir(fs vfs.FS, dir string) error {
	err := fs.MkdirAll(dir)
	if err == nil {
		err = fs.SyncDir(filepath.Dir(dir))
	}
	if err == nil {
		err = fs.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("creating the commit log: %w", err)
	}
	return nil
}

// takeUsed keeps the files that were replayed until a checkpoint. The last round of a process that was killed may be in
// the page cache only; readers are going to see it, so it must not be lost later.
func (w *wal) takeUsed(used []usedFile) error {
	for _, f := range used {
		w.used = append(w.used, f.walFile)
		w.usedBytes += f.end
		w.next = f.number + 1
	}
	if len(used) == 0 {
		w.next = 1
		return nil
	}
	file, err := w.fs.OpenFile(w.path(w.next - 1))
	if err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("syncing the commit log: %w", err)
	}
	return nil
}

// takeSpares keeps the files that come after the used ones and removes what else an interrupted change has left.
func (w *wal) takeSpares(spares []walFile) error {
	for _, f := range spares {
		if f.number >= w.next {
			w.spares = append(w.spares, f)
			w.next = f.number + 1
			continue
		}
		if err := w.fs.Remove(w.path(f.number)); err != nil {
			return fmt.Errorf("removing an unused file of the commit log: %w", err)
		}
	}
	w.ready.Store(int32(len(w.spares)))
	err := w.fs.Remove(filepath.Join(w.dir, temporary))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing an unfinished file of the commit log: %w", err)
	}
	return nil
}
