package storage

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
)

// The tests of the sieve are scripts: a log of batches, one a line, and what a
// cleaning at a time leaves of it.
//
//	data 0 k=v a=1 b=        records at offsets 0, 1, 2; b is a tombstone, "-=v" has no key
//	data 5 p7/0 seq=3 k=v    by producer 7, epoch 0
//	txn 5 p7/0 seq=3 k=v     in a transaction
//	commit 6 p7/0, abort 6 p7/0
//
// What is left reads the same, with offsets that are gone left out, (empty) for an
// empty batch and horizon=h where a delete horizon is set.

type script struct {
	t       *testing.T
	batches []record.Batch
	aborted []AbortedTxn
	opened  map[int64]int64
	last    map[int64]lastOfProducer
}

func newScript(t *testing.T, lines string) *script {
	t.Helper()
	s := &script{t: t, opened: map[int64]int64{}, last: map[int64]lastOfProducer{}}
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) > 0 {
			s.line(words)
		}
	}
	return s
}

func (s *script) line(words []string) {
	s.t.Helper()
	var offset, producer int64
	var epoch int16
	mustScan(s.t, words[1], "%d", &offset)
	b := record.NewBuilder(offset)
	for _, word := range words[2:] {
		switch {
		case strings.HasPrefix(word, "p"):
			mustScan(s.t, word, "p%d/%d", &producer, &epoch)
			b.ProducerID, b.ProducerEpoch = producer, epoch
		case strings.HasPrefix(word, "seq="):
			mustScan(s.t, word, "seq=%d", &b.BaseSequence)
		case strings.HasPrefix(word, "codec="):
			b.Codec, _ = record.ParseCodec(strings.TrimPrefix(word, "codec="))
		default:
			key, value, _ := strings.Cut(word, "=")
			b.Append(1000+offset, field(key, "-"), field(value, ""))
		}
	}
	var batch record.Batch
	switch words[0] {
	case "commit":
		batch = record.ControlMarker(record.Commit, producer, epoch, 1, 1000)
		delete(s.opened, producer)
	case "abort":
		batch = record.ControlMarker(record.Abort, producer, epoch, 1, 1000)
		s.aborted = append(s.aborted, AbortedTxn{producer, s.opened[producer], offset, offset + 1})
		delete(s.opened, producer)
	case "txn":
		b.Transactional = true
		if _, open := s.opened[producer]; !open {
			s.opened[producer] = offset
		}
		fallthrough
	default:
		batch = b.Bytes()
	}
	record.PatchOffset(batch, offset, 4)
	s.batches = append(s.batches, batch)
	s.producer(batch.Header())
}

// producer notes what the producers table would know.
func (s *script) producer(h record.Header) {
	if !h.HasProducer() {
		return
	}
	last, known := s.last[h.ProducerID]
	if !known || last.epoch != h.ProducerEpoch {
		last = lastOfProducer{none, h.ProducerEpoch}
	}
	if !h.Control() {
		last.offset = h.LastOffset()
	}
	s.last[h.ProducerID] = last
}

func field(word, null string) []byte {
	if word == null {
		return nil
	}
	return []byte(word)
}

func mustScan(t *testing.T, word, format string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(word, format, into...); err != nil {
		t.Fatalf("%q is not %q: %v", word, format, err)
	}
}

// txns is what the log would tell a cleaning of its aborted transactions.
func (s *script) txns() *cleanTxns {
	return newCleanTxns(slices.SortedFunc(slices.Values(s.aborted), func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) }))
}

// clean runs both passes over the offsets from point on, with delete.retention.ms
// 100, and returns what is left. The script goes on with that.
func (s *script) clean(now, point int64) string {
	s.t.Helper()
	r := &cleaning{Cleaner: NewCleaner(CleanerConfig{})}
	m := newOffsetMap(1<<20, 0.9, 1000)
	txns := s.txns()
	for _, b := range s.batches {
		if h := b.Header(); h.LastOffset() >= point {
			if err := r.mapBatch(m, txns, b, h, point); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	v := &sieve{
		latest: m, txns: s.txns(), last: s.last, end: m.latest + 1, now: now, retain: 100,
		inflate: &r.inflate, build: &r.build,
	}
	var left []record.Batch
	var aborted []AbortedTxn
	for _, b := range s.batches {
		kept, err := v.sift(b, b.Header())
		if err != nil {
			s.t.Fatal(err)
		}
		if kept.batch != nil {
			left = append(left, kept.batch)
			s.check(b, kept)
		}
		if kept.aborted != nil {
			aborted = append(aborted, *kept.aborted)
		}
	}
	s.batches, s.aborted = left, aborted
	return s.String()
}

// check compares a batch with what it was.
func (s *script) check(old record.Batch, kept sifted) {
	s.t.Helper()
	was, is := old.Header(), kept.batch.Header()
	if is.BaseOffset != was.BaseOffset || is.LastOffset() != was.LastOffset() || is.LeaderEpoch != was.LeaderEpoch ||
		is.ProducerID != was.ProducerID || is.ProducerEpoch != was.ProducerEpoch || is.BaseSequence != was.BaseSequence ||
		is.Transactional() != was.Transactional() || is.Control() != was.Control() || is.Count > was.Count {
		s.t.Errorf("batch became %+v, was %+v", is, was)
	}
	if is.Count > 0 && is.Codec() != was.Codec() {
		s.t.Errorf("codec became %v, was %v", is.Codec(), was.Codec())
	}
	if err := kept.batch.Verify(); err != nil {
		s.t.Error(err)
	}
	if kept.records != int(is.Count) {
		s.t.Errorf("counts %d records, the batch has %d", kept.records, is.Count)
	}
}

func (s *script) String() string {
	var text strings.Builder
	for _, b := range s.batches {
		h := b.Header()
		kind, _, ok := record.ParseMarker(b)
		switch {
		case ok && kind == record.Commit:
			fmt.Fprintf(&text, "commit %d", h.BaseOffset)
		case ok:
			fmt.Fprintf(&text, "abort %d", h.BaseOffset)
		case h.Count == 0:
			fmt.Fprintf(&text, "%d (empty)", h.BaseOffset)
		default:
			fmt.Fprintf(&text, "%d", h.BaseOffset)
		}
		if !h.Control() {
			describeRecords(&text, b)
		}
		if h.HasDeleteHorizon() {
			fmt.Fprintf(&text, " horizon=%d", h.BaseTimestamp)
		}
		text.WriteString("; ")
	}
	return strings.TrimSuffix(text.String(), "; ")
}

func describeRecords(text *strings.Builder, b record.Batch) {
	h := b.Header()
	err := record.Walk(b, nil, func(r record.Record) bool {
		key := "-"
		if r.Key != nil {
			key = string(r.Key)
		}
		fmt.Fprintf(text, " %s=%s", key, r.Value)
		if r.OffsetDelta > 0 {
			fmt.Fprintf(text, "@%d", h.BaseOffset+int64(r.OffsetDelta))
		}
		if r.Timestamp != 1000+h.BaseOffset {
			fmt.Fprintf(text, "!timestamp %d!", r.Timestamp)
		}
		return true
	})
	if err != nil {
		fmt.Fprintf(text, "!%v!", err)
	}
}

func (s *script) expect(now, point int64, want string) {
	s.t.Helper()
	if got := s.clean(now, point); got != want {
		s.t.Errorf("cleaned at %d from %d\n got %s\nwant %s", now, point, got, want)
	}
}

func TestTheLastRecordOfEachKeyStays(t *testing.T) {
	newScript(t, `
		data 0 a=1 b=1 c=1
		data 3 a=2
		data 4 -=x
		data 5 b=2 d=1
	`).expect(0, 0, "0 c=1@2; 3 a=2; 5 b=2 d=1@6")
}

func TestCompressedBatchesKeepTheirCodec(t *testing.T) {
	for _, codec := range []string{"gzip", "snappy", "lz4", "zstd"} {
		newScript(t, `
			data 0 codec=`+codec+` a=1 b=1 c=1
			data 3 codec=`+codec+` a=2 c=2
		`).expect(0, 0, "0 b=1@1; 3 a=2 c=2@4")
	}
}

func TestRecordsBehindTheMapStay(t *testing.T) {
	s := newScript(t, "data 0 a=1 b=1\n data 2 a=2 -=x")
	r := &cleaning{Cleaner: NewCleaner(CleanerConfig{})}
	m := newOffsetMap(0, 1, 0) // one key
	err := r.mapBatch(m, newCleanTxns(nil), s.batches[0], s.batches[0].Header(), 0)
	if err != errFull || m.latest != 0 {
		t.Fatalf("mapped up to %d, %v", m.latest, err)
	}
	v := &sieve{latest: m, txns: newCleanTxns(nil), end: 1, inflate: &r.inflate, build: &r.build}
	for _, b := range s.batches {
		if kept, err := v.sift(b, b.Header()); err != nil || !bytes.Equal(kept.batch, b) {
			t.Errorf("%d: %v, %v", b.Header().BaseOffset, kept, err)
		}
	}
}

func TestOnlyWhatIsDirtyIsMapped(t *testing.T) {
	// b was cleaned before: a key that is not met again stays as it is.
	newScript(t, "data 0 a=1 b=1\n data 2 a=2").expect(0, 2, "0 b=1@1; 2 a=2")
}

func TestTombstonesStayUntilTheirDeleteHorizon(t *testing.T) {
	s := newScript(t, "data 0 a=1 b=1\n data 2 a= c=1\n data 4 d=1")
	s.expect(5000, 0, "0 b=1@1; 2 a= c=1@3 horizon=5100; 4 d=1")
	s.expect(5050, 0, "0 b=1@1; 2 a= c=1@3 horizon=5100; 4 d=1")
	s.expect(5100, 0, "0 b=1@1; 2 c=1@3 horizon=5100; 4 d=1")
}

func TestTheLastBatchOfAProducerStaysEmpty(t *testing.T) {
	s := newScript(t, `
		data 0 p7/0 seq=0 a=1
		data 1 p7/0 seq=1 a=2 b=1
		data 3 p8/0 seq=0 a=3
		data 4 a=4 b=2
	`)
	s.expect(0, 0, "1 (empty); 3 (empty); 4 a=4 b=2@5")
	s.expect(0, 0, "1 (empty); 3 (empty); 4 a=4 b=2@5")
	if h := s.batches[0].Header(); h.LastSequence() != 2 || h.LastOffset() != 2 {
		t.Errorf("last sequence %d at offset %d", h.LastSequence(), h.LastOffset())
	}
	s.last[7] = lastOfProducer{10, 0} // it has written again
	delete(s.last, 8)                 // it has expired
	s.expect(0, 0, "4 a=4 b=2@5")
}

func TestTheLastBatchOfACleaningStays(t *testing.T) {
	newScript(t, "data 0 a=1\n data 1 -=x").expect(0, 0, "0 a=1; 1 (empty)")
}

func TestAbortedRecordsGoAndTheirMarkerFollows(t *testing.T) {
	s := newScript(t, `
		data 0 a=1
		txn 1 p7/0 seq=0 a=2 b=1
		txn 3 p7/0 seq=2 c=1
		abort 4 p7/0
		data 5 d=1
	`)
	// The producer's last batch stays empty, so its marker does.
	s.expect(5000, 0, "0 a=1; 3 (empty); abort 4; 5 d=1")
	if len(s.aborted) != 1 {
		t.Errorf("the index has %v", s.aborted)
	}
	s.last[7] = lastOfProducer{10, 0}
	s.expect(6000, 5, "0 a=1; abort 4; 5 d=1")
	// No batch is left: readers need not be told, and the horizon runs.
	s.expect(7000, 5, "0 a=1; abort 4 horizon=7100; 5 d=1")
	if len(s.aborted) != 0 {
		t.Errorf("the index has %v", s.aborted)
	}
	s.expect(7099, 5, "0 a=1; abort 4 horizon=7100; 5 d=1")
	s.expect(7100, 5, "0 a=1; 5 d=1")
}

func TestCommittedRecordsCountAndTheirMarkerFollowsThem(t *testing.T) {
	s := newScript(t, `
		data 0 a=1
		txn 1 p7/0 seq=0 a=2 b=1
		commit 3 p7/0
		data 4 a=3
	`)
	s.expect(5000, 0, "1 b=1@2; commit 3; 4 a=3")
	s.last[7] = lastOfProducer{10, 0}
	s.batches = append(s.batches, newScript(t, "data 5 b=2").batches...)
	s.expect(6000, 4, "commit 3; 4 a=3; 5 b=2")
	s.expect(7000, 4, "commit 3 horizon=7100; 4 a=3; 5 b=2")
	s.expect(8000, 4, "4 a=3; 5 b=2")
}

func TestTheMarkerOfAnEmptyTransactionGoesInTime(t *testing.T) {
	s := newScript(t, "commit 0 p7/0\n abort 1 p8/0\n data 2 a=1")
	s.aborted = nil // an abort that ended nothing has no entry
	s.last = nil
	s.expect(100, 0, "commit 0 horizon=200; abort 1 horizon=200; 2 a=1")
	s.expect(200, 0, "2 a=1")
}

func TestTheMarkerThatHoldsAProducersEpochStaysEmpty(t *testing.T) {
	s := newScript(t, "txn 0 p7/0 seq=0 a=1\n abort 1 p7/1\n data 2 a=2")
	s.aborted[0].FirstOffset = 0
	s.expect(100, 0, "abort 1; 2 a=2")
	s.expect(200, 0, "abort 1 horizon=300; 2 a=2")
	s.expect(300, 0, "1 (empty); 2 a=2")
	if h := s.batches[0].Header(); h.ProducerEpoch != 1 || !h.Control() {
		t.Errorf("left is %+v", h)
	}
}

func TestTransactionsOfSeveralProducersAreKeptApart(t *testing.T) {
	newScript(t, `
		txn 0 p7/0 seq=0 a=7
		txn 1 p8/0 seq=0 a=8
		data 2 p9/0 seq=0 b=9
		abort 3 p8/0
		txn 4 p8/0 seq=1 c=8
		commit 5 p7/0
		commit 6 p8/0
		data 7 x=1
	`).expect(0, 0, "0 a=7; 2 b=9; abort 3; 4 c=8; commit 5; commit 6; 7 x=1")
}

func TestLogAppendTimeSurvivesACleaning(t *testing.T) {
	b := record.NewBuilder(0)
	b.LogAppendTime = 9000
	batch := b.Append(5, []byte("a"), []byte("1")).Append(6, []byte("b"), nil).Bytes()
	s := &script{t: t, batches: []record.Batch{batch, record.NewBuilder(2).Append(7, []byte("a"), []byte("2")).Bytes()}}
	s.clean(20_000, 0)
	h := s.batches[0].Header()
	if !h.LogAppendTime() || h.MaxTimestamp != 9000 || h.Count != 1 || !h.HasDeleteHorizon() || h.BaseTimestamp != 20_100 {
		t.Fatalf("header %+v", h)
	}
	_ = record.Walk(s.batches[0], nil, func(r record.Record) bool {
		if r.Timestamp != 9000 || string(r.Key) != "b" {
			t.Errorf("record %q at %d", r.Key, r.Timestamp)
		}
		return true
	})
}

// delete.retention.ms may be as long as can be: tombstones then stay for ever.
func TestTombstonesThatStayForEver(t *testing.T) {
	if got := later(1000, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("horizon %d", got)
	}
	if got := later(1000, 7); got != 1007 {
		t.Errorf("horizon %d", got)
	}
}
