package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/skeinstream/skein/internal/vfs"
)

// What can still be read of a damaged log. The reader of replay.go ends at the first thing that it cannot read, and
// decides whether that is the torn end of the last round or damage. Behind damage frames can be found again, since each
// proves itself: its header by a checksum that has the file's salt in it, its bytes by another. What may not be replayed
// is frames that nobody was promised, behind others that are torn: the segments would get a hole. So reading goes on at the
// first whole group before which nothing is missing but frames that are known to have been durable.
//
// One thing cannot be told apart. A round that failed on a full disk is written over by the next; if damage takes all of
// what was written over it, and something of the failed round stands behind, that comes back. Its writers were told that it
// failed, as they might be after a timeout.

// Damage is bytes of a log that cannot be read, where frames were that had been durable.
type Damage struct {
	File     string
	Position int64
	Bytes    int64  // -1: up to where the log ended, which nobody knows
	Frames   uint64 // so many are lost at most
	Unknown  bool   // nobody knows how many, or whether there were any
	Lost     []Lost // of these the headers can be read
	Reason   string
}

// Lost is a frame of which no more than the header can be read, or that belongs to a group with one that is lost.
type Lost struct {
	Key        Key
	Base, Last int64
}

// Salvage yields the frames of a log that can be read and replayed, damage or not, and returns the damage. In the place
// of a frame in Damage.Lost comes a note: what it held was durable, so a segment that lacks it has a hole. Nothing is
// changed. Without damage it is Read.
func Salvage(fs vfs.FS, dir string, yield func(Frame) error) ([]Damage, error) {
	v := &salvage{fs: fs, dir: dir, sink: func(h frameHeader, payload []byte) error {
		if yield == nil {
			return nil
		}
		return yield(h.frame(payload))
	}}
	err := v.run()
	return v.damage, err
}

// salvage is one reading of a log that may be damaged.
type salvage struct {
	fs  vfs.FS
	dir string
	// sink gets what is found, in order.
	sink func(frameHeader, []byte) error
	// around is called, if set, for each file in use with the last frame before it; read gives its frames to sink.
	around func(f relic, last uint64, read func() error) error

	last   uint64 // number of the last frame, as who comes later reckons
	damage []Damage
}

// relic is a file that is in use, or has been.
type relic struct {
	walFile
	name     string
	header   fileHeader
	seed     uint32
	headless bool   // header and seed are what the frames say
	missing  bool   // there is no such file any more
	claim    uint64 // the newest frame of the file that was durable, as later files have it; 0: they do not say
}

func (v *salvage) run() error {
	files, err := v.survey()
	if err != nil {
		return err
	}
	for i, f := range files {
		if v.last = max(v.last, f.header.durable); i == 0 {
			v.last = f.header.durable // where the log begins
		}
		read := func() error { return v.file(f) }
		if v.around != nil {
			err = v.around(f, v.last, read)
		} else {
			err = read()
		}
		if err != nil {
			return err
		}
		v.last = max(v.last, f.claim)
	}
	return nil
}

// file reads one file.
func (v *salvage) file(f relic) error {
	if f.headless || f.missing {
		v.damage = append(v.damage, f.beheaded())
	}
	if f.missing {
		return nil
	}
	file, err := v.fs.Open(f.name)
	if err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	defer file.Close()
	s := &scanner{name: f.name, file: file, size: f.size, number: f.number, seed: f.seed, last: max(v.last, firstSeq(f.number))}
	err = v.frames(s, f.claim)
	if s.last > firstSeq(f.number) { // it has any
		v.last = s.last
	}
	return err
}

// beheaded is the damage of a file whose header is not there.
func (f *relic) beheaded() Damage {
	d := Damage{File: f.name, Bytes: fileHeaderSize, Reason: "the header of the file cannot be read; its frames tell what it was"}
	switch {
	case f.missing:
		d.Reason = fmt.Sprintf("the file is missing, and frames up to %d were durable", f.claim)
	case f.header.number == 0:
		d.Reason, d.Unknown = "the header of the file cannot be read, and no two whole frames tell what it was", true
	}
	return d
}

// frames reads the frames of a file, of which claim is said to have been durable.
func (v *salvage) frames(s *scanner, claim uint64) error {
	for pos, more := int64(fileHeaderSize), true; more; {
		end, err := v.groups(s, pos)
		if err != nil {
			return err
		}
		newest, err := s.newest(end)
		if err != nil {
			return err
		}
		newest = max(newest, claim)
		if newest <= s.last {
			return nil
		}
		if pos, more, err = v.pass(s, end, newest); err != nil {
			return err
		}
	}
	return nil
}

// groups takes whole groups from pos on, and returns where they end.
func (v *salvage) groups(s *scanner, pos int64) (int64, error) {
	for {
		count, _, err := s.group(pos)
		if err != nil || count == 0 {
			return pos, err
		}
		for range count {
			h, payload, err := s.frame(pos)
			if err == nil {
				err = v.sink(h, payload)
			}
			if err != nil {
				return pos, err
			}
			s.last = h.seq
			pos += frameSize(len(payload))
		}
	}
}

// pass notes the damage at pos, and returns where to go on behind it. Frames up to newest were durable.
func (v *salvage) pass(s *scanner, pos int64, newest uint64) (next int64, more bool, err error) {
	d := Damage{File: s.name, Position: pos, Bytes: -1, Frames: newest - s.last}
	d.Reason = unread(s.last, newest)
	defer func() { v.damage = append(v.damage, d) }()
	before := s.last
	for at := pos; ; {
		h, found, err := s.find(&at)
		if err != nil || !found {
			return 0, false, err
		}
		count, _, err := s.group(at)
		switch {
		case err != nil:
			return 0, false, err
		case count > 0 && h.seq <= newest+1:
			d.Bytes, d.Frames = at-pos, h.seq-before-1
			return at, true, nil
		case h.seq > newest:
			return 0, false, nil
		}
		d.Lost = append(d.Lost, Lost{h.key, h.base, h.last})
		if err := v.sink(h.lost(), nil); err != nil {
			return 0, false, err
		}
		s.last = h.seq
		at += frameSize(int(h.length))
	}
}

// lost is a note in the place of a frame that is lost.
func (h frameHeader) lost() frameHeader {
	return frameHeader{kind: Note, seq: h.seq, durable: h.durable, count: 1, key: h.key, base: h.last + 1, last: h.last + 1, position: -1}
}

// find moves at on to the next header of a frame.
func (s *scanner) find(at *int64) (h frameHeader, found bool, err error) {
	for ; ; *at += frameAlign {
		b, err := s.at(*at, frameHeaderSize)
		if err != nil || b == nil {
			return h, false, err
		}
		if h, ok := parseFrameHeader(b, s.seed); ok && s.isNew(h) {
			return h, true, nil
		}
	}
}

// survey finds the files in use, oldest first, those that are missing too.
func (v *salvage) survey() ([]relic, error) {
	all, err := v.list()
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(all) { // later ones know of earlier ones
		f := &all[i]
		if f.header.number == 0 && !f.headless && claims(all, f.number) > 0 { // it was in use
			if err := v.behead(f); err != nil {
				return nil, err
			}
		}
	}
	used := all[:0:0]
	for _, f := range all {
		f.claim = claims(all, f.number)
		if f.headless || f.header.number > 0 {
			used = append(used, f)
		}
	}
	return v.withMissing(used), nil
}

// claims is the newest frame of a file that others say was durable.
func claims(all []relic, number uint64) (newest uint64) {
	for _, f := range all {
		if d := f.header.durable; d>>32 == number {
			newest = max(newest, d)
		}
	}
	return newest
}

// withMissing adds the files of which only others know. The oldest says where the log begins, so what it knows has been
// freed.
func (v *salvage) withMissing(used []relic) (all []relic) {
	for i, f := range used {
		number := f.header.durable >> 32
		if i > 0 && number > used[i-1].number && number < f.number {
			all = append(all, relic{
				walFile: walFile{number: number}, name: filepath.Join(v.dir, fileName(number)), missing: true,
				header: fileHeader{number: number}, claim: f.header.durable,
			})
		}
		all = append(all, f)
	}
	return all
}

// list looks at the header of every file.
func (v *salvage) list() (all []relic, err error) {
	names, err := listLog(v.fs, v.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		number, ok := parseFileName(name)
		if !ok {
			continue
		}
		f := relic{name: filepath.Join(v.dir, name), walFile: walFile{number: number}}
		err := f.look(v.fs, func(s *scanner) error {
			header, used, err := s.header(number)
			if used {
				f.header, f.seed = header, header.seed()
			}
			return err
		})
		if _, damaged := errors.AsType[*DamageError](err); damaged {
			f.headless, err = true, v.behead(&f)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// look lends fn a scanner of the file.
func (f *relic) look(fs vfs.FS, fn func(*scanner) error) error {
	file, err := fs.Open(f.name)
	if err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	defer file.Close()
	if f.size, err = file.Size(); err != nil {
		return fmt.Errorf("opening the commit log: %w", err)
	}
	return fn(&scanner{name: f.name, file: file, size: f.size, number: f.number})
}
