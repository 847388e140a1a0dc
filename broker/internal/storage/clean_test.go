package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

func (c *compacted) context() context.Context {
	if t, ok := c.t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

// history writes a mix of everything: two quick codecs, tombstones, producers,
// transactions, committed, aborted and, at the end, open.
func (c *compacted) history(batches int, seed uint64) {
	c.t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range batches {
		c.now += 5
		producer := int64(random.IntN(4)) - 1
		_, open := c.open[producer]
		if open && random.IntN(3) == 0 {
			c.end(producer, random.IntN(2) == 0)
			continue
		}
		var pairs []string
		for range 1 + random.IntN(4) {
			value := fmt.Sprint("value ", i, strings.Repeat("x", random.IntN(20)))
			if random.IntN(5) == 0 {
				value = "null"
			}
			pairs = append(pairs, fmt.Sprint("k", random.IntN(12)), value)
		}
		c.produce(record.Codec(2*random.IntN(2)), producer, producer != none && (open || i < batches/2 && random.IntN(2) == 0), pairs...)
	}
}

func TestCleaningLeavesOneRecordAKeyInFewSegments(t *testing.T) {
	c := newCompacted(t, vfs.NewMemory(), compactConfig(), CleanerConfig{})
	for i := range 300 {
		c.produce(record.None, none, false, fmt.Sprint("k", i%10), fmt.Sprint("value ", i))
	}
	before := c.log.Segments()
	r := c.clean()
	c.verify(c.log)
	active := c.log.active().base
	if r.From != 0 || r.To != active || r.Segments != before-1 || r.Kept != 10 || r.Records != active || r.MapFull {
		t.Errorf("report %+v, active segment at %d", r, active)
	}
	if n := c.log.Segments(); before < 20 || n != before {
		t.Errorf("%d segments became %d", before, n)
	}
	for range 20 { // now that the segments are small, they come together
		c.now++
		c.produce(record.None, none, false, "k1", "again")
		c.clean()
	}
	c.verify(c.log)
	if n := c.log.Segments(); n > 4 {
		t.Errorf("%d segments in the end", n)
	}
	b, err := c.log.Backlog(c.point, c.log.EndOffset(), c.now)
	if err != nil || b.Bytes != 0 || b.Due(0) {
		t.Errorf("backlog %+v, %v", b, err)
	}
}

func TestAFullMapCleansInRounds(t *testing.T) {
	c := newCompacted(t, vfs.NewMemory(), compactConfig(), CleanerConfig{MapBytes: 5 * slotBytes, MapFill: 0.8})
	for i := range 200 {
		c.produce(record.None, none, false, fmt.Sprint("k", i%20), fmt.Sprint("value ", i))
	}
	rounds := 0
	for limit := c.log.active().base; c.point < limit; rounds++ {
		if r := c.clean(); r.To-r.From < 4 && r.To < limit || r.MapFull != (r.To < limit) {
			t.Fatalf("round %d: %+v", rounds, r)
		}
		c.verify(c.log)
	}
	if rounds < 10 {
		t.Errorf("%d rounds", rounds)
	}
}

func TestNothingIsCleanedThatMayNotBe(t *testing.T) {
	cfg := compactConfig()
	cfg.MinCompactionLagMs = 1000
	c := newCompacted(t, vfs.NewMemory(), cfg, CleanerConfig{})
	c.now = 10_000
	for range 30 {
		c.produce(record.None, none, false, "k", "value")
	}
	if r := c.clean(); r.To != 0 || r.Segments != 0 {
		t.Errorf("too young: %+v", r)
	}
	c.now += 1000
	c.produce(record.None, 1, true, "k", "value")
	c.produce(record.None, none, false, "k", "value")
	open := c.log.active().base
	for c.log.active().base < 100 {
		c.produce(record.None, none, false, "k", "value")
	}
	c.now += 1000
	if r := c.clean(); r.To != open {
		t.Errorf("cleaned up to %d, the transaction's segment begins at %d", r.To, open)
	}
	c.verify(c.log)
	c.end(1, false)
	if r := c.clean(); r.To != c.log.active().base {
		t.Errorf("cleaned up to %d, the active segment begins at %d", r.To, c.log.active().base)
	}
	c.verify(c.log)
}

func TestCompactAndDeleteTogether(t *testing.T) {
	cfg := compactConfig()
	cfg.Delete, cfg.RetentionMs = true, 1000
	c := newCompacted(t, vfs.NewMemory(), cfg, CleanerConfig{})
	c.now = 100_000
	for i := range 100 {
		c.produce(record.None, none, false, fmt.Sprint("k", i), "value")
	}
	c.clean()
	c.now += 5000
	c.produce(record.None, none, false, "last", "value")
	if n, err := c.log.DeleteOldSegments(c.now, c.log.EndOffset()); err != nil || n == 0 {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if start := c.log.StartOffset(); start < 90 {
		t.Errorf("the log starts at %d", start)
	}
	r := c.clean()
	if r.From < c.log.StartOffset() {
		t.Errorf("cleaned from %d, the log starts at %d", r.From, c.log.StartOffset())
	}
}

// crashes runs a cleaning and calls what for the file system as it would be found
// after a crash before every change that the cleaning makes, and after the last.
func (c *compacted) crashes(fs *vfs.Memory, faults *vfs.Faults, what func(name string, fs vfs.FS)) {
	c.t.Helper()
	crash := func(n int, op vfs.Op, name string) {
		if n%stride != 0 {
			return
		}
		at := fmt.Sprintf("before change %d, %v %s", n, op, name)
		what(at+", killed", fs.KillClone())
		what(at+", power lost", fs.CrashClone(uint64(n)))
	}
	faults.BeforeMutation(crash)
	c.clean()
	faults.BeforeMutation(nil)
	crash(0, 0, "the end")
}

// after is the model with the log as it is found on fs.
func (c *compacted) after(name string, fs vfs.FS, durable int64) *compacted {
	again := *c
	again.t = named{c.t, name}
	again.cleaner, again.point = NewCleaner(CleanerConfig{}), 0
	again.inflate = new(record.Decompressors)
	again.log = again.openOn(fs, compactConfig(), Recovery{DurableTo: durable})
	return &again
}

func TestACleaningSurvivesACrashAtEveryChange(t *testing.T) {
	for seed := range uint64(3) {
		fs := vfs.NewMemory()
		faults := vfs.NewFaults(fs)
		c := newCompacted(t, faults, compactConfig(), CleanerConfig{BufferBytes: 500})
		c.history(50, seed)
		if err := c.log.Sync(); err != nil {
			t.Fatal(err)
		}
		for id := range c.open {
			c.end(id, seed == 1)
		}
		durable := c.log.RecoveryPoint()
		c.history(15, seed+10) // not durable, some of it sealed
		n := 0
		c.crashes(fs, faults, func(name string, fs vfs.FS) {
			n++
			again := c.after(name, fs, durable)
			if again.log.EndOffset() < durable {
				t.Fatalf("%s: the log ends at %d, durable was %d", name, again.log.EndOffset(), durable)
			}
			again.verify(again.log)
			again.clean()
			again.verify(again.log)
		})
		if n < 100/stride {
			t.Errorf("%d moments", n)
		}
	}
}

// named puts the moment of a crash before what fails.
type named struct {
	fataler
	moment string
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.fataler.Fatalf(n.moment+": "+format, args...)
}

func TestACleaningThatFailsAnywhereLeavesAGoodLog(t *testing.T) {
	count := func() int {
		faults := vfs.NewFaults(vfs.NewMemory())
		c := newCompacted(t, faults, compactConfig(), CleanerConfig{})
		c.history(30, 5)
		before := faults.Mutations()
		c.clean()
		return faults.Mutations() - before
	}()
	for n := 1; n <= count; n += stride {
		fs := vfs.NewMemory()
		faults := vfs.NewFaults(fs)
		c := newCompacted(t, faults, compactConfig(), CleanerConfig{})
		c.history(30, 5)
		remove := faults.Fail(vfs.Rule{Op: vfs.OpMutate, Skip: n - 1, Times: 1, Err: syscall.ENOSPC})
		_, err := c.cleaner.Clean(t.Context(), c.log, 0, c.stable(c.log), c.now)
		remove()
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("change %d failed as %v", n, err)
		}
		c.verify(c.log)
		again := c.after(fmt.Sprintf("after change %d failed", n), fs.KillClone(), c.log.RecoveryPoint())
		again.verify(again.log)
		again.clean()
		again.verify(again.log)
	}
}

func TestDamageStopsACleaning(t *testing.T) {
	fs := vfs.NewMemory()
	c := newCompacted(t, fs, compactConfig(), CleanerConfig{})
	c.history(60, 7)
	damaged := (*c.log.segments.Load())[2]
	f, err := fs.OpenFile(damaged.log.name)
	must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, 100)
	must(t, err)
	_, err = f.WriteAt([]byte{b[0] ^ 1}, 100)
	must(t, err)
	_, err = c.cleaner.Clean(t.Context(), c.log, 0, c.stable(c.log), c.now)
	var damage *DamageError
	if !errors.As(err, &damage) || damage.File != damaged.log.name || damage.Offset < damaged.base || damage.Position > 100 {
		t.Errorf("cleaning ends with %v", err)
	}
}

func TestACleaningEndsWithItsContextAndWithTheLog(t *testing.T) {
	c := newCompacted(t, vfs.NewMemory(), compactConfig(), CleanerConfig{})
	c.history(60, 9)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	pace := func(context.Context, int) error {
		if calls++; calls == 30 {
			cancel()
		}
		return nil
	}
	_, err := NewCleaner(CleanerConfig{Pace: pace, BufferBytes: 100}).Clean(ctx, c.log, 0, c.stable(c.log), c.now)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	c.verify(c.log)
	names, err := c.log.fs.List(dir)
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, cleanedSuffix) {
			t.Errorf("%s is left", name)
		}
	}
	must(t, c.log.Close())
	if _, err := c.cleaner.Clean(t.Context(), c.log, 0, 1<<40, c.now); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestRetentionDuringACleaningInterruptsIt(t *testing.T) {
	cfg := compactConfig()
	cfg.Delete = true
	c := newCompacted(t, vfs.NewMemory(), cfg, CleanerConfig{})
	c.history(60, 11)
	calls := 0
	pace := func(context.Context, int) error {
		if calls++; calls == 25 {
			must(t, c.log.SetStartOffset(c.log.active().base))
			if n, err := c.log.DeleteOldSegments(c.now, c.log.EndOffset()); n == 0 || err != nil {
				t.Fatalf("deleted %d, %v", n, err)
			}
		}
		return nil
	}
	_, err := NewCleaner(CleanerConfig{Pace: pace, BufferBytes: 100}).Clean(t.Context(), c.log, 0, c.stable(c.log), c.now)
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ends with %v", err)
	}
}

func TestReadersAndWritersGoOnDuringCleanings(t *testing.T) {
	c := newCompacted(t, vfs.NewMemory(), compactConfig(), CleanerConfig{BufferBytes: 300})
	c.history(60, 13)
	for id := range c.open {
		c.end(id, false)
	}
	l, want, stop := c.log, c.want(c.log.EndOffset()), make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				last := int64(0)
				for b, err := range record.Batches(contents(t, l, 0, 700)) {
					if err != nil || b.Verify() != nil || b.Header().BaseOffset < last {
						t.Errorf("batch behind %d: %v", last, err)
						return
					}
					last = b.Header().LastOffset() + 1
				}
			}
		})
	}
	for i := range 40 {
		b := record.NewBuilder(l.EndOffset()).Append(c.now, fmt.Append(nil, "new", i%3), []byte("value"), record.RecordHeader{Key: "h"}).Bytes()
		c.written[l.EndOffset()] = wrote{fmt.Sprint("new", i%3), "value", none}
		must(t, l.Write(b, c.now))
		c.now += 60
		c.clean()
	}
	close(stop)
	readers.Wait()
	got := c.read(l, l.EndOffset())
	for key, w := range want {
		if g := got[key]; g != w && w.value != "null" {
			t.Errorf("%s is %v, want %v", key, g, w)
		}
	}
}

func TestMaxCompactionLagRollsAndIsDue(t *testing.T) {
	cfg := compactConfig()
	cfg.MaxCompactionLagMs = 1000
	c := newCompacted(t, vfs.NewMemory(), cfg, CleanerConfig{})
	c.now = 10_000
	c.produce(record.None, none, false, "a", "1")
	c.produce(record.None, none, false, "a", "2")
	c.now += 1001
	c.produce(record.None, none, false, "b", "1")
	if n := c.log.Segments(); n != 2 {
		t.Fatalf("%d segments", n)
	}
	b, err := c.log.Backlog(0, c.log.EndOffset(), c.now)
	if err != nil || !b.Overdue || !b.Due(1) {
		t.Errorf("backlog %+v, %v", b, err)
	}
	if r := c.clean(); r.Kept != 1 {
		t.Errorf("cleaned %+v", r)
	}
	c.verify(c.log)
}
