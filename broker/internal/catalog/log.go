package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/skeinstream/skein/internal/vfs"
)

const (
	logName     = "catalog.log"
	snapName    = "catalog.snapshot"
	newFileTail = ".new"
)

// DamageError says that a file of the catalog holds something that no crash leaves behind. Nothing was changed.
type DamageError struct {
	File   string
	Offset int64 // where in the file
	Reason string
	later  bool // a later version of the program wrote it
}

func (e *DamageError) Error() string {
	help := "restore it from a copy, or see what `skein log repair` can read of it"
	if e.later {
		help = "use the version that wrote it"
	}
	return fmt.Sprintf("%s is damaged at byte %d: %s; %s", e.File, e.Offset, e.Reason, help)
}

// logFile is the open log. One goroutine at a time uses it.
type logFile struct {
	fs     vfs.FS
	dir    string
	file   vfs.File
	size   int64
	broken error // why it can be written no more
	long   bool  // it stays long until the next start, because the snapshot file could not be written
}

// openLog reads snapshot and log in dir, or makes an empty log, and returns what they say.
func openLog(fsys vfs.FS, dir string) (*logFile, *Snapshot, error) {
	if err := prepare(fsys, dir); err != nil {
		return nil, nil, err
	}
	s, err := readSnapshot(fsys, path.Join(dir, snapName))
	if err != nil {
		return nil, nil, err
	}
	l := &logFile{fs: fsys, dir: dir}
	s, err = l.replay(s)
	if err != nil {
		return nil, nil, err
	}
	return l, s, l.open()
}

// Missing reports whether the catalog in dir says nothing at all, as before the first change has been made in it.
func Missing(fsys vfs.FS, dir string) (bool, error) {
	if _, err := fsys.Stat(path.Join(dir, snapName)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	content, err := vfs.ReadFile(fsys, path.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	rest, err := checkHeader(content, logKind)
	if err != nil { // that is damage
		return false, nil
	}
	_, _, whole := cutFrame(rest)
	return len(rest) == 0 || !whole && torn(rest), nil
}

// prepare makes the directory with an empty log in it when there is neither log nor snapshot.
func prepare(fsys vfs.FS, dir string) error {
	if err := makeDir(fsys, dir); err != nil {
		return err
	}
	for _, name := range []string{logName, snapName} {
		if _, err := fsys.Stat(path.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return writeWhole(fsys, dir, logName, appendHeader(nil, logKind))
}

// makeDir makes the directory. What is there, and what was there before, is durable by name afterwards: who made it may have
// been killed before that.
func makeDir(fsys vfs.FS, dir string) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	for _, sync := range []string{path.Dir(dir), dir} {
		if err := fsys.SyncDir(sync); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole puts content into a file in one step: after a crash there is the old file or the new one.
func writeWhole(fsys vfs.FS, dir, name string, content []byte) error {
	name = path.Join(dir, name)
	return vfs.ReplaceFile(fsys, name, name+newFileTail, content)
}

// replay applies the frames of the log to s and cuts a torn one off.
func (l *logFile) replay(s *Snapshot) (*Snapshot, error) {
	name := path.Join(l.dir, logName)
	content, err := vfs.ReadFile(l.fs, name)
	if err != nil {
		return nil, err
	}
	rest, err := checkHeader(content, logKind)
	if err != nil {
		return nil, &DamageError{File: name, Reason: err.Error(), later: errors.Is(err, errVersion)}
	}
	at := func() int64 { return int64(len(content) - len(rest)) }
	d := draft{Snapshot: *s}
	for len(rest) > 0 {
		body, behind, whole := cutFrame(rest)
		if !whole && !torn(rest) {
			return nil, &DamageError{File: name, Offset: at(), Reason: "a frame is not whole, and more follows it"}
		}
		if !whole {
			break
		}
		if err := d.replayFrame(body); err != nil {
			return nil, &DamageError{File: name, Offset: at(), Reason: err.Error()}
		}
		rest = behind
	}
	l.size = at()
	return &d.Snapshot, nil
}

// replayFrame applies one frame. What the snapshot has already is passed over: a crash between writing the snapshot and
// emptying the log leaves it in both.
func (s *draft) replayFrame(body []byte) error {
	var c change
	if err := json.Unmarshal(body, &c); err != nil {
		return fmt.Errorf("a whole frame cannot be read: %w", err)
	}
	if c.Sequence <= s.sequence {
		return nil
	}
	if c.Sequence != s.sequence+1 {
		return fmt.Errorf("change %d follows change %d", c.Sequence, s.sequence)
	}
	for _, r := range c.Records {
		if err := s.apply(r); err != nil {
			return fmt.Errorf("change %d: %w", c.Sequence, err)
		}
	}
	s.sequence = c.Sequence
	return nil
}

// open opens the log for appending and cuts it to the size that replay found whole.
func (l *logFile) open() error {
	file, err := l.fs.OpenFile(path.Join(l.dir, logName))
	if err != nil {
		return err
	}
	l.file = file
	size, err := file.Size()
	if err == nil && size > l.size {
		err = l.cut(l.size)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

// cut makes the log end at size, durably, so that nothing of what was behind can come back under what is written next.
func (l *logFile) cut(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	l.size = size
	return l.file.Sync()
}

// append writes one change and syncs it. When the write fails, a full disk for instance, the log is put back as it was
// and can be written again; when that or the sync fails, l.broken is set.
func (l *logFile) append(c change) error {
	frame, err := appendFrame(nil, c)
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(frame, l.size); err != nil {
		l.broken = l.cut(l.size)
		return errors.Join(err, l.broken)
	}
	if err := l.file.Sync(); err != nil {
		l.broken = err
		return err
	}
	l.size += int64(len(frame))
	return nil
}

// compact writes s to the snapshot file and empties the log. When the first step fails, the log just stays long; the
// error returned is one after which the log cannot be written.
func (l *logFile) compact(s *Snapshot) error {
	if l.long {
		return nil
	}
	if err := writeSnapshot(l.fs, l.dir, s); err != nil {
		l.long = true
		return nil
	}
	l.broken = l.cut(headerSize)
	return l.broken
}

func (l *logFile) close() error { return l.file.Close() }
