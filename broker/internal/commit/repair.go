package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/internal/vfs"
)

// Repair makes a log with damage one that Open reads, with what Salvage yields of it, and returns the damage. Files are
// replaced one by one, each after a copy of it was saved beside it, as .damaged; the others stay as they are. The notes in
// the place of lost frames are true only if all segments are durable: see to that before. It may be repeated after a crash
// or an error, and does nothing where there is no damage. Nobody may have the log open.
func Repair(fs vfs.FS, dir string) ([]Damage, error) {
	damage, err := Salvage(fs, dir, nil)
	if err != nil || len(damage) == 0 {
		return damage, err
	}
	r := &repair{fs: fs, dir: dir, salt: Config{}.withDefaults().Salt, damaged: map[string]bool{}}
	for _, d := range damage {
		r.damaged[d.File] = true
	}
	v := &salvage{fs: fs, dir: dir, sink: r.add, around: r.around}
	if err := v.run(); err != nil {
		return damage, fmt.Errorf("repairing the commit log: %w", errors.Join(err, r.abandon()))
	}
	return damage, nil
}

// repair writes the damaged files anew, as it is told of what is in them.
type repair struct {
	fs      vfs.FS
	dir     string
	salt    func() uint64
	damaged map[string]bool // by name

	file vfs.File // in the making; nil while a file passes that is not damaged
	seed uint32
	last uint64
	at   int64
	buf  []byte
}

func (r *repair) temporary() string { return filepath.Join(r.dir, temporary) }

// around writes a damaged file anew while its frames are read.
func (r *repair) around(f relic, last uint64, read func() error) error {
	if !r.damaged[f.name] {
		return read()
	}
	if err := r.begin(f, last); err != nil {
		return err
	}
	if err := read(); err != nil {
		return err
	}
	return r.end(f)
}

// begin makes a new file, with the header that the old one has lost.
func (r *repair) begin(f relic, last uint64) error {
	file, err := r.fs.Create(r.temporary())
	if err != nil {
		return err
	}
	header := fileHeader{number: f.number, durable: last, salt: r.salt()}
	r.file, r.seed, r.last, r.at, r.buf = file, header.seed(), last, 0, header.append(nil)
	return nil
}

func (r *repair) add(h frameHeader, payload []byte) error {
	if r.file == nil {
		return nil
	}
	r.buf, r.last = appendFrame(r.buf, h, payload, r.seed), h.seq
	if len(r.buf) < bufferFlush {
		return nil
	}
	return r.flush()
}

func (r *repair) flush() error {
	_, err := r.file.WriteAt(r.buf, r.at)
	r.at += int64(len(r.buf))
	r.buf = r.buf[:0]
	return err
}

// end puts the new file in place of the old one. Other files know that the old one had frames up to f.claim: where those
// are lost, a note about nobody has the number of the last, or the log would seem to end too early.
func (r *repair) end(f relic) error {
	if f.claim > r.last {
		if err := r.add(frameHeader{kind: Note, seq: f.claim, durable: f.claim, count: 1, position: -1}, nil); err != nil {
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if _, err := vfs.SaveAside(r.fs, f.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file := r.file
	r.file = nil
	if r.at > fileHeaderSize {
		return vfs.Settle(r.fs, file, r.temporary(), f.name)
	}
	// Nothing is in it, and nobody misses anything.
	return errors.Join(file.Close(), r.fs.Remove(r.temporary()), r.fs.Remove(f.name), r.fs.SyncDir(r.dir))
}

// abandon lets go of a file that was being made.
func (r *repair) abandon() error {
	if r.file == nil {
		return nil
	}
	return errors.Join(r.file.Close(), r.fs.Remove(r.temporary()))
}
