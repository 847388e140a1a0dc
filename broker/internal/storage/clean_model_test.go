package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// compacted is a log under test and a model of what was ever written to it.
type compacted struct {
	t       fataler
	log     *Log
	cleaner *Cleaner
	now     int64
	point   int64 // the cleaner's
	written map[int64]wrote
	ends    []ending        // of transactions, by offset
	next    map[int64]int32 // sequences, by producer
	open    map[int64]int64 // first offsets of transactions, by producer
	table   producers.Table
	inflate *record.Decompressors
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
	Fatal(...any)
}

// wrote is one record that was written.
type wrote struct {
	key, value string // "null" is null
	producer   int64  // none without a transaction
}

// ending is the end of a transaction.
type ending struct {
	offset, producer, first int64
	abort                   bool
}

func compactConfig() Config {
	cfg := small()
	cfg.SegmentBytes, cfg.Delete, cfg.Compact, cfg.DeleteRetentionMs = 600, false, true, 50
	return cfg
}

func newCompacted(t fataler, fs vfs.FS, cfg Config, cleaner CleanerConfig) *compacted {
	t.Helper()
	if err := errors.Join(fs.MkdirAll("data"), fs.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	c := &compacted{t: t, cleaner: NewCleaner(cleaner), written: map[int64]wrote{}, next: map[int64]int32{}, open: map[int64]int64{}, inflate: new(record.Decompressors)}
	c.log = c.openOn(fs, cfg, Recovery{})
	return c
}

func (c *compacted) openOn(fs vfs.FS, cfg Config, rec Recovery) *Log {
	c.t.Helper()
	l, _, err := Open(c.context(), NewFiles(fs, 8), dir, cfg, rec)
	if err != nil {
		c.t.Fatalf("opening: %v", err)
	}
	return l
}

// produce writes one batch of pairs key, value. producer is none for a plain one;
// in a transaction or not.
func (c *compacted) produce(codec record.Codec, producer int64, transactional bool, pairs ...string) {
	c.t.Helper()
	base := c.log.EndOffset()
	b := record.NewBuilder(base)
	b.Codec, b.LeaderEpoch = codec, 1
	if producer != none {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = producer, 0, c.next[producer], transactional
		c.next[producer] += int32(len(pairs) / 2)
	}
	if transactional {
		if _, is := c.open[producer]; !is {
			c.open[producer] = base
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		b.Append(c.now, nullable(pairs[i]), nullable(pairs[i+1]), record.RecordHeader{Key: "h", Value: []byte(pairs[i])})
		w := wrote{pairs[i], pairs[i+1], none}
		if transactional {
			w.producer = producer
		}
		c.written[base+int64(i/2)] = w
	}
	c.write(b.Bytes())
}

func nullable(s string) []byte {
	if s == "null" {
		return nil
	}
	return []byte(s)
}

// end ends a producer's transaction.
func (c *compacted) end(producer int64, abort bool) {
	c.t.Helper()
	kind := record.Commit
	if abort {
		kind = record.Abort
	}
	b := record.ControlMarker(kind, producer, 0, 1, c.now)
	record.PatchOffset(b, c.log.EndOffset(), 1)
	c.ends = append(c.ends, ending{c.log.EndOffset(), producer, c.open[producer], abort})
	delete(c.open, producer)
	c.write(b)
}

func (c *compacted) write(b record.Batch) {
	c.t.Helper()
	if err := c.log.Write(b, c.now); err != nil {
		c.t.Fatalf("writing: %v", err)
	}
	if h := b.Header(); !h.Control() {
		c.table.Apply(h)
	} else if m, ok := parseMarked(b, h); ok {
		c.table.ApplyMarker(h.ProducerID, m.marker)
	}
}

func (c *compacted) stable(l *Log) int64 {
	if offset, open := l.FirstUnstable(); open {
		return offset
	}
	return l.EndOffset()
}

func (c *compacted) clean() CleanReport {
	c.t.Helper()
	r, err := c.cleaner.Clean(c.context(), c.log, c.point, c.stable(c.log), c.now)
	if err != nil {
		c.t.Fatalf("cleaning: %v", err)
	}
	if r.To < c.point {
		c.t.Fatalf("cleaned from %d to %d", c.point, r.To)
	}
	c.point = r.To
	return r
}

// state is what a reader of committed records takes for the value of each key,
// with its offset.
type state map[string]valueAt

type valueAt struct {
	offset int64
	value  string
}

// want is the state of a log that ends at end, stable below stable.
func (c *compacted) want(stable int64) state {
	s := state{}
	offsets := make([]int64, 0, len(c.written))
	for offset := range c.written {
		offsets = append(offsets, offset)
	}
	slices.Sort(offsets)
	for _, offset := range offsets {
		w := c.written[offset]
		if offset < stable && w.key != "null" && !c.aborted(offset, w.producer) {
			s[w.key] = valueAt{offset, w.value}
		}
	}
	return s
}

func (c *compacted) aborted(offset, producer int64) bool {
	for _, e := range c.ends {
		if e.producer == producer && e.abort && e.first <= offset && offset < e.offset {
			return true
		}
	}
	return false
}

// verify reads a log as consumers do. Every record must be one that was written
// there, and every key must have its latest value; a deleted one may be absent.
func (c *compacted) verify(l *Log) {
	c.t.Helper()
	stable := c.stable(l)
	got, want := c.read(l, stable), c.want(stable)
	for key, w := range want {
		g, there := got[key]
		if w.value == "null" && !there || there && g == w {
			continue
		}
		c.t.Fatalf("key %s is %+v (there %v), want %+v; clean up to %d, end %d, stable %d", key, g, there, w, c.point, l.EndOffset(), stable)
	}
	for key, g := range got {
		if _, there := want[key]; !there {
			c.t.Fatalf("key %s is %+v, want nothing", key, g)
		}
	}
}

func (c *compacted) read(l *Log, stable int64) state {
	c.t.Helper()
	aborted, err := l.AbortedTransactions(l.StartOffset(), stable)
	if err != nil {
		c.t.Fatal(err)
	}
	s, ongoing, last := state{}, map[int64]bool{}, l.StartOffset()
	for from := l.StartOffset(); from < stable; {
		slice, err := l.Read(from, stable, 1000, true)
		if err != nil {
			c.t.Fatalf("reading at %d: %v", from, err)
		}
		if slice.End <= from {
			c.t.Fatalf("reading at %d of %d brings nothing", from, stable)
		}
		b := make([]byte, slice.Len)
		if n, err := slice.ReadAt(b, 0); n < len(b) {
			c.t.Fatal(err)
		}
		slice.Release()
		for batch, err := range record.Batches(b) {
			if err != nil || batch.Verify() != nil || batch.Header().BaseOffset < last {
				c.t.Fatalf("batch behind offset %d: %v, %v", last, err, batch.Verify())
			}
			last = batch.Header().LastOffset() + 1
			for len(aborted) > 0 && aborted[0].FirstOffset < last {
				ongoing[aborted[0].ProducerID] = true
				aborted = aborted[1:]
			}
			c.take(s, batch, ongoing)
		}
		from = slice.End
	}
	return s
}

func (c *compacted) take(s state, b record.Batch, ongoing map[int64]bool) {
	c.t.Helper()
	h := b.Header()
	if h.Control() {
		delete(ongoing, h.ProducerID)
		return
	}
	err := record.Walk(b, c.inflate, func(r record.Record) bool {
		offset := h.BaseOffset + int64(r.OffsetDelta)
		w, g := c.written[offset], wrote{key: text(r.Key), value: text(r.Value), producer: none}
		if h.Transactional() {
			g.producer = h.ProducerID
		}
		if w != g || r.HeaderCount != 1 {
			c.t.Fatalf("offset %d holds %+v, written was %+v", offset, g, w)
		}
		if g.key != "null" && !(h.Transactional() && ongoing[h.ProducerID]) {
			s[g.key] = valueAt{offset, g.value}
		}
		return true
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}

// verifyProducers compares what a log knows of producers with the model, which
// has seen every batch.
func (c *compacted) verifyProducers(l *Log) {
	c.t.Helper()
	all := l.Producers()
	if len(all) != c.table.Len() {
		c.t.Fatalf("%d producers, want %d", len(all), c.table.Len())
	}
	for _, e := range all {
		want := c.table.Lookup(e.ProducerID)
		gotBatch, _ := e.Last()
		wantBatch, _ := want.Last()
		if e.LastSequence() != want.LastSequence() || e.Epoch != want.Epoch || gotBatch.LastOffset != wantBatch.LastOffset || e.TxnFirstOffset != want.TxnFirstOffset {
			c.t.Fatalf("producer is %+v, want %+v", e, want)
		}
	}
}

// reopenBare closes the log and opens it without producer snapshots and indexes:
// all of that must be found in what cleaning has left of the batches.
func (c *compacted) reopenBare() {
	c.t.Helper()
	fs, cfg, point, start := c.log.fs, c.log.Config(), c.log.RecoveryPoint(), c.log.StartOffset()
	if err := c.log.Close(); err != nil {
		c.t.Fatalf("closing: %v", err)
	}
	names, err := fs.List(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		if p, ok := parseName(name); ok && p.kind != logSuffix && p.kind != abortedSuffix {
			if err := fs.Remove(dir + "/" + name); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	c.log = c.openOn(fs, cfg, Recovery{DurableTo: point, StartOffset: start})
}

func TestACleanedLogKeepsEveryLatestValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cleaner := CleanerConfig{
			BufferBytes: rapid.SampledFrom([]int{1, 100, 1000, 100_000}).Draw(t, "buffer"),
			MapBytes:    rapid.SampledFrom([]int64{1, 10 * slotBytes, 1 << 20}).Draw(t, "map"),
		}
		c := newCompacted(t, vfs.NewMemory(), compactConfig(), cleaner)
		t.Repeat(map[string]func(*rapid.T){
			"produce": func(t *rapid.T) { c.someBatch(t) },
			"end": func(t *rapid.T) {
				if len(c.open) > 0 {
					c.end(someOpen(t, c.open), rapid.Bool().Draw(t, "abort"))
				}
			},
			"wait":   func(t *rapid.T) { c.now += rapid.Int64Range(1, 60).Draw(t, "ms") },
			"clean":  func(t *rapid.T) { c.clean(); c.verify(c.log) },
			"reopen": func(t *rapid.T) { c.reopenBare(); c.verifyProducers(c.log) },
			"":       func(t *rapid.T) { c.t = t },
		})
		for range 3 {
			c.now += 100
			c.clean()
			c.verify(c.log)
		}
		c.reopenBare()
		c.verify(c.log)
		c.verifyProducers(c.log)
	})
}

func someOpen(t *rapid.T, open map[int64]int64) int64 {
	var ids []int64
	for id := range open {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare[int64])
	return rapid.SampledFrom(ids).Draw(t, "producer")
}

// someBatch writes a few batches of a few keys.
func (c *compacted) someBatch(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "batches") {
		producer := rapid.SampledFrom([]int64{none, 1, 2, 3}).Draw(t, "producer")
		_, open := c.open[producer]
		transactional := producer != none && (open || rapid.Bool().Draw(t, "transactional"))
		var pairs []string
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			key := fmt.Sprint("k", rapid.IntRange(0, 12).Draw(t, "key"))
			if rapid.IntRange(0, 20).Draw(t, "keyless") == 0 {
				key = "null"
			}
			value := fmt.Sprint("value ", rapid.IntRange(0, 1000).Draw(t, "value"))
			if rapid.IntRange(0, 4).Draw(t, "tombstone") == 0 {
				value = "null"
			}
			pairs = append(pairs, key, value)
		}
		c.produce(record.Codec(rapid.IntRange(0, 4).Draw(t, "codec")), producer, transactional, pairs...)
	}
}
