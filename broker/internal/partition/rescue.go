package partition

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// rescuedFile is where the batches go that the write-ahead log has of a partition that is offline. They are acknowledged
// records, and the log must not wait for them: it would grow until somebody has repaired the partition. The file is made
// as a whole at the start that finds the partition offline, and the first start that finds it online again writes the
// batches to the segments. docs/format/data-directory.md has the bytes.
const rescuedFile = "skein-rescued"

// readRescued yields the batches in the file of a directory, if there is one. They are valid during the call only.
func readRescued(fs vfs.FS, dir string, yield func(record.Batch) error) error {
	f, err := fs.Open(filepath.Join(dir, rescuedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if err := readBatches(io.NewSectionReader(f, 0, size), yield); err != nil {
		return fmt.Errorf("reading what was rescued to %s: %w", filepath.Join(dir, rescuedFile), err)
	}
	return nil
}

// readBatches yields the batches that follow each other in r.
func readBatches(r *io.SectionReader, yield func(record.Batch) error) error {
	in := bufio.NewReader(r)
	var buf []byte
	for left := r.Size(); left > 0; {
		head, err := in.Peek(int(min(left, record.HeaderSize)))
		if err != nil {
			return err
		}
		h, err := record.ParseHeader(head)
		if err != nil {
			return err
		}
		if int64(h.Size()) > left {
			return record.ErrTruncated
		}
		if cap(buf) < h.Size() {
			buf = make([]byte, h.Size())
		}
		b := record.Batch(buf[:h.Size()])
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		if err := b.Verify(); err != nil {
			return err
		}
		if err := yield(b); err != nil {
			return err
		}
		left -= int64(len(b))
	}
	return nil
}

// rescue is the file of one offline partition in the making.
type rescue struct {
	fs   vfs.FS
	dir  string
	next int64    // offsets below it are in the file
	file vfs.File // nil: there is nothing new yet
	at   int64
	err  error // of the first thing that has failed
}

// rescueOffline saves what the write-ahead log has of partitions that are offline. Frames that cannot be saved stay in the
// log.
func (o *opener) rescueOffline() error {
	all := map[commit.Key]*rescue{}
	for p := range o.each {
		if p.log == nil && len(o.supply[p.Key()].ranges) > 0 {
			all[p.Key()] = o.newRescue(p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	err := commit.Read(o.opts.FS, filepath.Join(o.opts.Dir, walDir), func(f commit.Frame) error {
		if r := all[f.Key]; r != nil && f.Kind == commit.Data {
			r.add(f.Bytes)
		}
		return nil
	})
	for key, r := range all {
		r.finish()
		if r.err != nil {
			o.opts.Logger.Error("records of an offline partition cannot be saved and stay in the write-ahead log", "directory", r.dir, "error", r.err)
		} else {
			o.rescued[key] = true
		}
	}
	return err
}

// newRescue looks what is in the file already: an earlier start may have come as far as this one.
func (o *opener) newRescue(p *Partition) *rescue {
	r := &rescue{fs: o.opts.FS, dir: p.dir}
	owner, err := readMetadata(r.fs, p.dir)
	if err == nil && owner != p.topic.ID {
		err = fmt.Errorf("%s is not the directory of topic %s", p.dir, p.topic.ID)
	}
	if err == nil {
		err = readRescued(r.fs, p.dir, func(b record.Batch) error {
			r.next = b.Header().LastOffset() + 1
			return nil
		})
	}
	r.err = err
	return r
}

// add appends the batches that are not in the file yet.
func (r *rescue) add(frame []byte) {
	b, err := behind(frame, r.next)
	if r.err == nil && err == nil && len(b) > 0 {
		err = r.write(b)
	}
	r.err = errors.Join(r.err, err)
	for batch, err := range record.Batches(b) {
		if err == nil {
			r.next = batch.Header().LastOffset() + 1
		}
	}
}

func (r *rescue) write(b []byte) error {
	if r.file == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	_, err := r.file.WriteAt(b, r.at)
	r.at += int64(len(b))
	return err
}

// begin makes a new file with what is in the old one.
func (r *rescue) begin() error {
	file, err := r.fs.Create(r.temporary())
	if err != nil {
		return err
	}
	r.file = file
	return readRescued(r.fs, r.dir, func(b record.Batch) error {
		_, err := file.WriteAt(b, r.at)
		r.at += int64(len(b))
		return err
	})
}

func (r *rescue) temporary() string { return filepath.Join(r.dir, rescuedFile+".tmp") }

// finish puts the new file in place of the old one, durably.
func (r *rescue) finish() {
	if r.file == nil {
		return
	}
	if r.err == nil {
		r.err = vfs.Settle(r.fs, r.file, r.temporary(), filepath.Join(r.dir, rescuedFile))
	} else {
		_ = r.file.Close()
	}
	if r.err != nil {
		_ = r.fs.Remove(r.temporary())
	}
}
