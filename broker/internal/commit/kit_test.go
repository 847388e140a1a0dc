package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is a partition that stores into one file: records of {base, last, length, checksum, bytes}.
type part struct {
	t    testing.TB
	key  Key
	name string
	fs   vfs.FS
	c    *Committer
	told chan struct{} // nil, or gets a token whenever writes are answered

	// Used by the committer only.
	file    vfs.File
	at      int64 // end of the segment in bytes
	segment int64 // and in offsets

	mu        sync.Mutex // guards what follows
	next      int64
	committed int64 // high watermark
	contents  map[int64]string
	open      int // writes without an answer
	failures  []error
}

const partHeader = 24

func newPart(t testing.TB, fs vfs.FS, index int32) *part {
	p := &part{
		t: t, fs: fs, key: Key{Topic: [16]byte{'t'}, Partition: index}, name: fmt.Sprintf("seg-%d", index), contents: map[int64]string{},
	}
	file, err := fs.OpenFile(p.name)
	check(t, err)
	p.file = file
	check(t, fs.SyncDir("."))
	p.recover()
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recover reads the segment up to its torn tail and cuts that.
func (p *part) recover() {
	content, err := vfs.ReadFile(p.fs, p.name)
	check(p.t, err)
	for len(content)-int(p.at) >= partHeader {
		b := content[p.at:]
		base, last, length := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:])), int(binary.BigEndian.Uint32(b[16:]))
		if len(b)-partHeader < length || base != p.segment || partSum(last, b[partHeader:][:length]) != binary.BigEndian.Uint32(b[20:]) {
			break
		}
		p.contents[base] = string(b[partHeader:][:length])
		p.at += int64(partHeader + length)
		p.segment = last + 1
	}
	check(p.t, p.file.Truncate(p.at))
	check(p.t, p.file.Sync()) // what readers see from now on must not go away
	p.next, p.committed = p.segment, p.segment
}

func (p *part) replay(f Frame) error {
	if f.Kind == Note || f.Base < p.segment {
		return nil
	}
	if f.Base > p.segment {
		return fmt.Errorf("%s ends at %d, and the log goes on at %d", p.name, p.segment, f.Base)
	}
	w := &Write{Base: f.Base, Last: f.Last, Bytes: bytes.Clone(f.Bytes)}
	if err := p.WriteSegment(w); err != nil {
		return err
	}
	p.contents[f.Base] = string(f.Bytes)
	p.next, p.committed = p.segment, p.segment
	return nil
}

// write assigns offsets for a batch of n records. The caller holds p.mu.
func (p *part) write(content string, n int64) *Write {
	w := &Write{Target: p, Base: p.next, Last: p.next + n - 1, Bytes: []byte(content), Position: -1, Tag: content}
	p.next += n
	p.open++
	return w
}

// append enqueues one batch and returns it, or nil when the committer is closed.
func (p *part) append(content string, n int64) *Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.write(content, n)
	if err := p.c.Enqueue(w); err != nil {
		p.takeBack(w, err)
		return nil
	}
	return w
}

func (p *part) takeBack(w *Write, err error) {
	p.next, p.open = w.Base, p.open-1
	p.failures = append(p.failures, err)
}

// appendGroup enqueues one batch of one record to each.
func appendGroup(c *Committer, content string, parts ...*part) {
	var ws []*Write
	for _, p := range parts {
		p.mu.Lock()
		defer p.mu.Unlock()
		ws = append(ws, p.write(content, 1))
	}
	if err := c.EnqueueGroup(ws); err != nil {
		for i, p := range parts {
			p.takeBack(ws[i], err)
		}
	}
}

func (p *part) Key() Key { return p.key }

func (p *part) WriteSegment(w *Write) error {
	if w.Base != p.segment {
		return fmt.Errorf("%w: %s: a write at offset %d, the segment ends at %d", errBroken, p.name, w.Base, p.segment)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(w.Base))
	b = binary.BigEndian.AppendUint64(b, uint64(w.Last))
	b = binary.BigEndian.AppendUint32(b, uint32(len(w.Bytes)))
	b = binary.BigEndian.AppendUint32(b, partSum(w.Last, w.Bytes))
	b = append(b, w.Bytes...)
	if _, err := p.file.WriteAt(b, p.at); err != nil {
		if cut := errors.Join(p.file.Truncate(p.at), p.file.Sync()); cut != nil {
			return fmt.Errorf("%w: %w", ErrFatal, cut)
		}
		return err
	}
	p.at += int64(len(b))
	p.segment = w.Last + 1
	return nil
}

// partSum is not 0 for a record of zeros.
func partSum(last int64, content []byte) uint32 { return ^crc32.ChecksumIEEE(content) ^ uint32(last) }

var errBroken = errors.New("broken promise")

func (p *part) SyncSegment() error { return p.file.Sync() }

func (p *part) Committed(ws []*Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ws {
		if w.Base != p.committed || w.Last >= p.segment {
			p.t.Errorf("%s: offsets %d to %d committed, the high watermark was %d", p.name, w.Base, w.Last, p.committed)
		}
		p.committed = w.Last + 1
		p.contents[w.Base] = w.Tag.(string)
	}
	p.answered(len(ws))
}

func (p *part) answered(n int) {
	p.open -= n
	if p.told != nil {
		for range n {
			p.told <- struct{}{}
		}
	}
}

func (p *part) Failed(ws []*Write, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next <= ws[0].Base {
		p.t.Errorf("%s: offset %d failed, the next was %d", p.name, ws[0].Base, p.next)
	}
	p.next = ws[0].Base
	p.fail(ws, err)
}

func (p *part) Dropped(ws []*Write, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail(ws, err)
}

func (p *part) fail(ws []*Write, err error) {
	for i, w := range ws {
		if i > 0 && w.Base != ws[i-1].Last+1 {
			p.t.Errorf("%s: writes that are not consecutive failed together", p.name)
		}
		p.failures = append(p.failures, err)
	}
	p.answered(len(ws))
}

// acked returns what a client may count on.
func (p *part) acked() map[int64]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	acked := map[int64]string{}
	for base, content := range p.contents {
		if base < p.committed {
			acked[base] = content
		}
	}
	return acked
}

func (p *part) takeFailures() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	failures := p.failures
	p.failures = nil
	return failures
}

// cluster is some partitions on one committer.
type cluster struct {
	t     testing.TB
	fs    vfs.FS
	c     *Committer
	parts []*part
	notes map[Key]int64
}

func openCluster(t testing.TB, fs vfs.FS, parts int, cfg Config) *cluster {
	t.Helper()
	cl := &cluster{t: t, fs: fs, notes: map[Key]int64{}}
	for i := range parts {
		cl.parts = append(cl.parts, newPart(t, fs, int32(i)))
	}
	if cfg.Salt == nil {
		cfg.Salt = func() uint64 { return 7 } // nothing may hang on luck
	}
	c, err := Open(fs, "wal", cfg, func(f Frame) error {
		if f.Kind == Note {
			cl.note(f)
		}
		return cl.parts[f.Key.Partition].replay(f)
	})
	check(t, err)
	cl.c = c
	for _, p := range cl.parts {
		p.c = c
	}
	return cl
}

// drain runs rounds on the test's own goroutine until nothing is queued.
func (cl *cluster) drain() error {
	for {
		worked, err := cl.c.step()
		if err != nil {
			cl.c.die(err)
			return err
		}
		if !worked {
			return nil
		}
	}
}

// note checks that what a note calls durable is there.
func (cl *cluster) note(f Frame) {
	cl.notes[f.Key] = f.Base
	if p := cl.parts[f.Key.Partition]; f.Base > p.segment {
		cl.t.Errorf("%s ends at %d, and a note says that it was durable up to %d", p.name, p.segment, f.Base)
	}
}

func (cl *cluster) syncSegments() error {
	for _, p := range cl.parts {
		if err := p.file.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint is what Checkpoint does, on the test's own goroutine.
func (cl *cluster) checkpoint() error {
	if err := cl.c.wal.ensureSpare(); err != nil {
		return err
	}
	upTo, err := cl.c.roll()
	if err != nil {
		return err
	}
	return cl.c.checkpointUpTo(upTo, cl.syncSegments)
}

func (cl *cluster) acked() []map[int64]string {
	var all []map[int64]string
	for _, p := range cl.parts {
		all = append(all, p.acked())
	}
	return all
}

// expectAcked fails when something that was acknowledged is missing or different.
func (cl *cluster) expectAcked(acked []map[int64]string, when string) {
	cl.t.Helper()
	for i, p := range cl.parts {
		for _, base := range slices.Sorted(maps.Keys(acked[i])) {
			if got, want := p.contents[base], acked[i][base]; got != want {
				cl.t.Fatalf("%s: %s offset %d: acknowledged %.20q, recovered %.20q", when, p.name, base, want, got)
			}
		}
	}
}
