package storage

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// Findings is what an examination of a log that nobody has open found.
type Findings struct {
	Segments   int
	Bytes      int64
	Batches    int64
	Start, End int64 // offsets: of the first segment, behind the last valid batch
	// Damage is the runs of bytes that are no valid batches, in order.
	Damage []Damage
	// Derived are the indexes and snapshots that do not fit the batches or are
	// missing. Opening the log makes them anew once they are removed.
	Derived []string

	gaps []Damage // offsets that no batch has, as compaction leaves them; without bytes
}

// Damage is bytes of a segment that are no valid batches.
type Damage struct {
	File     string
	Position int64 // in File, of the first
	Bytes    int64
	// Offsets that are lost. To is From in the worst case of a torn tail: nobody
	// knows how many there were.
	From, To int64
	// Tail: nothing valid comes behind it in the log. It may be no more than what a
	// crash leaves of writes that nobody was told of; opening the log cuts those.
	Tail   bool
	Reason string
}

// Verify reads a whole log and compares everything with everything: checksums,
// order of offsets, indexes, snapshots. It changes nothing. Nobody may have the
// log open meanwhile. The error is of reading, not of what was read.
func Verify(ctx context.Context, fs vfs.FS, dir string) (Findings, error) {
	found, err := list(fs, dir)
	if err != nil {
		return Findings{}, fmt.Errorf("verifying log %s: %w", dir, err)
	}
	v := &verifier{fs: fs, dir: dir, files: NewFiles(fs, 1), listing: found}
	if err := v.run(ctx); err != nil {
		return v.findings, fmt.Errorf("verifying log %s: %w", dir, err)
	}
	return v.findings, nil
}

// magicAt is where a batch has its version.
const magicAt = 16

type verifier struct {
	fs       vfs.FS
	dir      string
	files    *Files
	listing  listing
	findings Findings
	next     int64  // offset that follows what is valid so far
	base     int64  // of the segment
	damaged  bool   // the last bytes were damage
	last     Damage // where the segment before ends
	buf      []byte
}

func (v *verifier) run(ctx context.Context) error {
	defer v.files.Close()
	bases := v.listing.segments
	for i, base := range bases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i == 0 {
			v.next, v.findings.Start = base, base
		}
		bound := int64(1<<63 - 1)
		if i+1 < len(bases) {
			bound = bases[i+1]
		}
		if err := v.segment(base, bound); err != nil {
			return err
		}
	}
	v.findings.Segments, v.findings.End = len(bases), v.next
	v.markTail()
	return v.snapshots()
}

// markTail marks the damage that ends the log.
func (v *verifier) markTail() {
	n := len(v.findings.Damage)
	if n == 0 {
		return
	}
	last := &v.findings.Damage[n-1]
	last.Tail = last.To == last.From && last.From == v.next
}

// segment reads the segment at base, whose offsets are below bound.
func (v *verifier) segment(base, bound int64) error {
	s := newSegment(v.files, v.dir, base, "")
	defer s.close()
	v.base = base
	info, err := v.fs.Stat(s.log.name)
	if err != nil {
		return err
	}
	s.size.Store(info.Size)
	v.findings.Bytes += info.Size
	if v.last.File != "" { // what is missing belongs to the end of the segment before
		v.gap(v.last, base)
	}
	v.next, v.damaged = max(v.next, base), false
	v.last = Damage{File: s.log.name, Position: info.Size}
	if info.Size == 0 {
		return nil
	}
	x, err := v.indexes(s)
	if err != nil {
		return err
	}
	err = s.scan(func(scan *scanner) error {
		for pos := int64(0); pos < scan.size; {
			h, reason, err := v.batch(scan, pos, bound)
			if err != nil {
				return err
			}
			if reason == "" {
				x.note(s, h, pos)
				v.gap(Damage{File: s.log.name, Position: pos}, h.BaseOffset)
				pos, v.next = pos+int64(h.Size()), h.LastOffset()+1
				v.findings.Batches++
				continue
			}
			if pos, err = v.damage(s, scan, pos, bound, reason); err != nil {
				return err
			}
		}
		return nil
	})
	v.findings.Derived = append(v.findings.Derived, x.wrong(s)...)
	return err
}

// gap notes offsets that are missing from v.next up to to, unless damage has just
// been noted in their place.
func (v *verifier) gap(at Damage, to int64) {
	damaged := v.damaged
	if v.damaged = false; damaged || to <= v.next {
		return
	}
	at.From, at.To = v.next, to
	v.findings.gaps = append(v.findings.gaps, at)
}

// batch reads the batch at pos; reason says why there is none.
func (v *verifier) batch(scan *scanner, pos, bound int64) (h record.Header, reason string, err error) {
	h, err = scan.header(pos)
	if isDamage(err) {
		return h, err.Error(), nil
	}
	if err != nil {
		return h, "", err
	}
	if h.BaseOffset < v.next || h.LastOffsetDelta < 0 || h.LastOffset() >= bound || h.LastOffset()-v.base > math.MaxInt32 {
		return h, fmt.Sprintf("offsets %d to %d where %d is next", h.BaseOffset, h.LastOffset(), v.next), nil
	}
	if h.BaseOffset > v.next && v.overlaps(scan, h, pos) {
		return h, fmt.Sprintf("offsets %d to %d, and the batch behind it begins before", h.BaseOffset, h.LastOffset()), nil
	}
	b, err := scan.batch(h, pos, &v.buf)
	if err != nil {
		return h, "", err
	}
	if err := b.Verify(); err != nil {
		return h, err.Error(), nil
	}
	return h, "", nil
}

// overlaps reports whether the batch behind h begins before h ends, though behind
// what came before h: then the offset of h is wrong, which no checksum covers.
func (v *verifier) overlaps(scan *scanner, h record.Header, pos int64) bool {
	behind, err := scan.header(pos + int64(h.Size()))
	return err == nil && behind.BaseOffset >= v.next && behind.BaseOffset <= h.LastOffset()
}

// damage notes bad bytes from pos on and returns where the next valid batch is.
func (v *verifier) damage(s *segment, scan *scanner, pos, bound int64, reason string) (int64, error) {
	at, base, err := v.resume(scan, pos, bound)
	if err != nil {
		return 0, err
	}
	d := Damage{File: s.log.name, Position: pos, Bytes: at - pos, From: v.next, To: base, Reason: reason}
	if at == scan.size {
		if d.To = bound; bound == 1<<63-1 {
			d.To = v.next
		}
	}
	v.findings.Damage = append(v.findings.Damage, d)
	v.damaged = true
	return at, nil
}

// resume finds the first byte behind pos where a valid batch begins. Where only
// the records are bad, it is where the header says; else every byte is tried.
func (v *verifier) resume(scan *scanner, pos, bound int64) (at, base int64, err error) {
	if h, err := scan.header(pos); err == nil {
		at := pos + int64(h.Size())
		if at == scan.size {
			return at, v.next, nil
		}
		if h, reason, err := v.batch(scan, at, bound); err != nil || reason == "" {
			return at, h.BaseOffset, err
		}
	}
	for at := pos + 1; at < scan.size; at++ {
		b, err := scan.bytes(at, record.HeaderSize)
		if err != nil {
			return 0, 0, err
		}
		if len(b) < record.HeaderSize || b[magicAt] != record.Magic {
			continue
		}
		if h, reason, err := v.batch(scan, at, bound); err != nil || reason == "" {
			return at, h.BaseOffset, err
		}
	}
	return scan.size, v.next, nil
}

func (v *verifier) snapshots() error {
	for _, offset := range v.listing.snapshots {
		name := fileName(v.dir, offset, snapshotSuffix)
		b, err := vfs.ReadFile(v.fs, name)
		if err != nil {
			return err
		}
		if _, err := producers.Restore(b); err != nil || offset > v.next {
			v.findings.Derived = append(v.findings.Derived, name)
		}
	}
	if !v.listing.epochs {
		return nil
	}
	name := filepath.Join(v.dir, epochsName)
	b, err := vfs.ReadFile(v.fs, name)
	if err == nil && parseFails(b) {
		v.findings.Derived = append(v.findings.Derived, name)
	}
	return err
}

func parseFails(epochs []byte) bool {
	_, err := parseEpochs(epochs)
	return err != nil
}
