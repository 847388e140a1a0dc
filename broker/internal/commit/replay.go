package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/skeinstream/skein/internal/vfs"
)

// DamageError says that a frame which was durable cannot be read any more. It is never cut away.
type DamageError struct {
	File     string
	Position int64 // byte in the file
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("commit log %s is damaged at byte %d: %s; `skein log repair` tells what is lost and repairs it", e.File, e.Position, e.Reason)
}

// Read yields the frames of a log as Open does, and changes nothing.
func Read(fs vfs.FS, dir string, yield func(Frame) error) error {
	_, err := replayLog(fs, dir, yield)
	return err
}

// replayed is what the files of a log hold.
type replayed struct {
	used   []usedFile
	spares []walFile
	last   uint64 // number of the last frame that counts
	kept   uint64 // number of the first file with a frame that must stay
}

type usedFile struct {
	walFile
	end int64
}

func replayLog(fs vfs.FS, dir string, yield func(Frame) error) (*replayed, error) {
	names, err := listLog(fs, dir)
	if err != nil {
		return nil, err
	}
	r := &replayed{kept: math.MaxUint64}
	for _, name := range names {
		number, ok := parseFileName(name)
		if !ok {
			continue
		}
		if err := r.file(fs, filepath.Join(dir, name), number, yield); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// listLog is the names in the directory of a log, which need not be there.
func listLog(fs vfs.FS, dir string) ([]string, error) {
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing the commit log: %w", err)
	}
	return names, nil
}

// file replays one file, if it is in use.
func (r *replayed) file(fs vfs.FS, name string, number uint64, yield func(Frame) error) error {
	file, err := fs.Open(name)
	if err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	s := &scanner{name: name, file: file, size: size}
	header, used, err := s.header(number)
	if err != nil {
		return err
	}
	if !used {
		r.spares = append(r.spares, walFile{number, size})
		return nil
	}
	if err := r.follows(header, name); err != nil {
		return err
	}
	s.number, s.seed, s.last = number, header.seed(), r.last
	end, err := s.frames(func(f Frame) error {
		err := yield(f)
		if errors.Is(err, ErrKeep) {
			r.kept = min(r.kept, number)
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	r.last = s.last
	r.used = append(r.used, usedFile{walFile{number, size}, end})
	return nil
}

// follows checks that everything which was durable when the file was begun has been read. The oldest file of a log says
// where the log begins.
func (r *replayed) follows(h fileHeader, name string) error {
	if len(r.used) == 0 {
		r.last = h.durable
		return nil
	}
	if h.durable <= r.last {
		return nil
	}
	before := r.used[len(r.used)-1]
	return &DamageError{
		File:     filepath.Join(filepath.Dir(name), fileName(before.number)),
		Position: before.end,
		Reason: fmt.Sprintf("it ends with frame %d, but frames up to %d were durable when %s was begun",
			r.last, h.durable, filepath.Base(name)),
	}
}

// scanner reads one file.
type scanner struct {
	name   string
	file   vfs.File
	size   int64
	number uint64
	seed   uint32
	last   uint64 // number of the last frame that counts

	window []byte // a piece of the file
	start  int64  // where it begins
}

const windowSize = 256 * kib

// at returns n bytes of the file, or nothing if it ends before. They are valid until the next call.
func (s *scanner) at(pos int64, n int) ([]byte, error) {
	if pos+int64(n) > s.size {
		return nil, nil
	}
	if pos < s.start || pos+int64(n) > s.start+int64(len(s.window)) {
		want := int(min(int64(max(n, windowSize)), s.size-pos))
		s.window = slices.Grow(s.window[:0], want)[:want]
		s.start = pos
		if _, err := s.file.ReadAt(s.window, pos); err != nil && !errors.Is(err, io.EOF) {
			s.window = s.window[:0]
			return nil, fmt.Errorf("reading the commit log: %w", err)
		}
	}
	return s.window[pos-s.start:][:n], nil
}

// header reads the header of the file. A file that has never been used under its number is a spare.
func (s *scanner) header(number uint64) (h fileHeader, used bool, err error) {
	b, err := s.at(0, fileHeaderSize)
	if err != nil || b == nil {
		return h, false, err
	}
	h, version, ok := parseFileHeader(b)
	switch {
	case !ok && len(bytes.Trim(b, "\x00")) == 0:
		return h, false, nil
	case !ok:
		return h, false, &DamageError{File: s.name, Reason: "the header of the file does not match its checksum"}
	case h.number != number:
		return h, false, nil
	case version != walVersion:
		return h, false, fmt.Errorf("%s has version %d, and this program reads version %d", s.name, version, walVersion)
	}
	return h, true, nil
}

// frames yields all complete groups and returns where the last one ends.
func (s *scanner) frames(yield func(Frame) error) (int64, error) {
	pos := int64(fileHeaderSize)
	for {
		count, end, err := s.group(pos)
		if err != nil {
			return 0, err
		}
		if count == 0 {
			return pos, s.torn(pos)
		}
		for range count {
			h, payload, err := s.frame(pos)
			if err != nil {
				return 0, err
			}
			if err := yield(h.frame(payload)); err != nil {
				return 0, err
			}
			s.last = h.seq
			pos += frameSize(len(payload))
		}
		pos = end
	}
}

func (h *frameHeader) frame(payload []byte) Frame {
	return Frame{
		Kind: h.kind, Key: h.key, Base: h.base, Last: h.last, Position: h.position,
		Seq: h.seq, Index: int(h.index), Count: int(h.count), Bytes: payload,
	}
}

// frame reads one frame. Without a whole one at pos that is newer than the last, its count is 0.
func (s *scanner) frame(pos int64) (h frameHeader, payload []byte, err error) {
	b, err := s.at(pos, frameHeaderSize)
	if err != nil || b == nil {
		return frameHeader{}, nil, err
	}
	h, ok := parseFrameHeader(b, s.seed)
	if !ok || !s.isNew(h) {
		return frameHeader{}, nil, nil
	}
	payload, err = s.payload(pos, h)
	if err != nil || payload == nil {
		return frameHeader{}, nil, err
	}
	return h, payload, nil
}

// payload is the bytes of the frame at pos, not nil when they are whole. They are valid until the next call.
func (s *scanner) payload(pos int64, h frameHeader) ([]byte, error) {
	b, err := s.at(pos, int(frameSize(int(h.length))))
	if err != nil || b == nil {
		return nil, err
	}
	payload := b[frameHeaderSize:][:h.length]
	if crc32.Checksum(payload, castagnoli) != h.sum {
		return nil, nil
	}
	return payload, nil
}

// isNew says that the frame was written in this life of the file, and is not left of a round that failed before the last
// frame was written.
func (s *scanner) isNew(h frameHeader) bool {
	return h.seq > s.last && h.seq >= firstSeq(s.number) && h.seq < firstSeq(s.number+1)
}

// group checks that all frames of the group at pos are there, and returns how many and where they end.
func (s *scanner) group(pos int64) (count int, end int64, err error) {
	first, payload, err := s.frame(pos)
	if err != nil || first.count == 0 || first.index != 0 {
		return 0, 0, err
	}
	end = pos + frameSize(len(payload))
	for i := uint32(1); i < first.count; i++ {
		h, payload, err := s.frame(end)
		if err != nil || h.count != first.count || h.index != i || h.seq != first.seq+uint64(i) {
			return 0, 0, err
		}
		end += frameSize(len(payload))
	}
	return int(first.count), end, nil
}

// torn decides about what does not read as a frame. It is the torn tail of the last round unless a frame behind it says
// that more was durable than has been read.
func (s *scanner) torn(pos int64) error {
	newest, err := s.newest(pos)
	if err != nil || newest <= s.last {
		return err
	}
	return &DamageError{File: s.name, Position: pos, Reason: unread(s.last, newest)}
}

func unread(last, newest uint64) string {
	return fmt.Sprintf("no frame can be read after frame %d, but frames up to %d were durable", last, newest)
}

// newest is the newest frame that was durable, as the frames behind pos have it that stand there whole.
func (s *scanner) newest(pos int64) (durable uint64, err error) {
	for at := pos; ; {
		b, err := s.at(at, int(min(windowSize, max(0, s.size-at))))
		if err != nil || len(b) < frameHeaderSize {
			return durable, err
		}
		durable = max(durable, s.search(b))
		at += int64(len(b) - frameHeaderSize + 1)
	}
}

// search looks for headers of frames anywhere in b and returns the newest frame that they say was durable.
func (s *scanner) search(b []byte) (durable uint64) {
	var magic [4]byte
	binary.BigEndian.PutUint32(magic[:], frameMagic)
	for len(b) >= frameHeaderSize {
		i := bytes.Index(b, magic[:])
		if i < 0 {
			break
		}
		if h, ok := parseFrameHeader(b[i:], s.seed); ok && s.isNew(h) {
			durable = max(durable, h.durable)
		}
		b = b[i+1:]
	}
	return durable
}
