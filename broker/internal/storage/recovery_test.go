package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// written is a closed log of some segments, with transactions and epochs, and its
// batches.
func written(t testing.TB, cfg Config, segments int) (*vfs.Memory, oracle) {
	t.Helper()
	l, fs := fresh(t, cfg)
	var all oracle
	for w := newWorkload(5); l.Segments() < segments; {
		table, _ := all.producers()
		all = append(all, w.next(all.end(), table))
		write(t, l, all[len(all)-1])
	}
	must(t, l.Close())
	return fs, all
}

// segmentsOf is the names of the segment files.
func segmentsOf(t testing.TB, fs vfs.FS) (names []string) {
	t.Helper()
	all, err := fs.List(dir)
	must(t, err)
	for _, name := range all {
		if strings.HasSuffix(name, logSuffix) {
			names = append(names, dir+"/"+name)
		}
	}
	return names
}

// change changes the bytes of a file.
func change(t *testing.T, fs vfs.FS, name string, fn func([]byte) []byte) {
	t.Helper()
	b, err := vfs.ReadFile(fs, name)
	must(t, err)
	must(t, vfs.WriteFile(fs, name, fn(b)))
}

// flip inverts a bit of byte at, counted from the end when negative.
func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[(at+len(b))%len(b)] ^= 1
		return b
	}
}

func cutBy(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func add(tail []byte) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, tail...) }
}

func TestATornTailIsCut(t *testing.T) {
	other := batchAt(1000, 1)
	for name, tear := range map[string]func([]byte) []byte{
		"half a batch":        cutBy(30),
		"half a header":       add(other[:20]),
		"zeros":               add(make([]byte, 5000)),
		"a flipped bit":       flip(-1),
		"noise":               add(bytes.Repeat([]byte{0xa5, 2}, 100)),
		"a batch of the past": add(batchAt(0, 1)),
		"a batch with a gap":  add(other),
	} {
		t.Run(name, func(t *testing.T) {
			fs, all := written(t, small(), 3)
			files := segmentsOf(t, fs)
			change(t, fs, files[len(files)-1], tear)
			l, report := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: all[2].Header().BaseOffset})
			if report.Cut == 0 || report.CutReason == "" || report.CutFrom != l.EndOffset() {
				t.Fatalf("%+v", report)
			}
			all = all.upTo(l.EndOffset())
			all.check(t, l)
			write(t, l, batch(l, 1))
			reopen(t, l)
		})
	}
}

// After a hole anything may follow, valid batches too: nobody was told of them.
func TestWhatComesBehindAHoleIsCutToo(t *testing.T) {
	fs, all := written(t, small(), 5)
	files := segmentsOf(t, fs)
	change(t, fs, files[2], flip(100))
	durable := all[3].Header().BaseOffset
	l, report := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: durable})
	expect(t, "segments", len(segmentsOf(t, fs)), 3)
	all.upTo(l.EndOffset()).check(t, l)
	if report.CutBatches < 5 {
		t.Fatalf("%+v", report)
	}
}

func TestDamageBelowTheRecoveryPointIsNeverCut(t *testing.T) {
	cfg := small()
	cfg.IndexInterval = 1 << 20 // so that the scan begins with the segment
	for name, damage := range map[string]func([]byte) []byte{
		"a broken length": flip(8),
		"a broken magic":  flip(16),
		"a missing tail":  cutBy(40),
	} {
		t.Run(name, func(t *testing.T) {
			fs, all := written(t, cfg, 3)
			files := segmentsOf(t, fs)
			last := files[len(files)-1]
			change(t, fs, last, damage)
			before, err := vfs.ReadFile(fs, last)
			must(t, err)
			for _, clean := range []bool{true, false} {
				_, _, err = Open(context.Background(), NewFiles(fs, 4), dir, cfg, Recovery{DurableTo: all.end(), Clean: clean})
				var d *DamageError
				if !errors.As(err, &d) || d.File != last || d.Offset >= all.end() || d.Reason == "" {
					t.Fatalf("%v", err)
				}
			}
			after, err := vfs.ReadFile(fs, last)
			must(t, err)
			if !bytes.Equal(before, after) {
				t.Fatal("the segment was changed")
			}
		})
	}
}

func TestALogThatEndsTooEarlyIsDamaged(t *testing.T) {
	for name, rec := range map[string]Recovery{
		"by the owner's word":   {DurableTo: 50},
		"though closed cleanly": {DurableTo: 50, Clean: true},
	} {
		t.Run(name, func(t *testing.T) {
			fs, files := memory(t)
			l, _ := open(t, files, wide(), Recovery{})
			fill(t, l, 10, 3)
			must(t, l.Close())
			_, _, err := Open(context.Background(), NewFiles(fs, 4), dir, wide(), rec)
			var d *DamageError
			if !errors.As(err, &d) || d.Offset != 30 {
				t.Fatal(err)
			}
		})
	}
	fs, files := memory(t)
	_, _, err := Open(context.Background(), files, dir, wide(), Recovery{DurableTo: 5})
	var d *DamageError
	if !errors.As(err, &d) || d.Offset != 0 {
		t.Fatal(err, fs)
	}
}

func TestDamageThatWillBeWrittenAgainIsCut(t *testing.T) {
	cfg := wide()
	for _, c := range []struct {
		name     string
		resupply []Range
		cut      bool
	}{
		{"all of it", []Range{{12, 30}}, true},
		{"in pieces, out of order", []Range{{21, 30}, {3, 15}, {15, 21}}, true},
		{"more than it", []Range{{0, 50}}, true},
		{"not its beginning", []Range{{13, 30}}, false},
		{"not its middle", []Range{{12, 18}, {21, 30}}, false},
		{"not its end", []Range{{12, 29}}, false},
		{"nothing", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, fs := fresh(t, cfg)
			fill(t, l, 10, 3)
			all := oracle{}
			for b, err := range record.Batches(contents(t, l, 0, 1<<20)) {
				must(t, err)
				all = append(all, b)
			}
			must(t, l.Close())
			size := len(all.upTo(12).bytes())
			change(t, fs, segmentsOf(t, fs)[0], flip(size+16))
			l, report, err := Open(context.Background(), NewFiles(fs, 4), dir, cfg, Recovery{DurableTo: 30, Resupply: c.resupply})
			if !c.cut {
				var d *DamageError
				if !errors.As(err, &d) || d.Offset != 12 || d.Position != int64(size) {
					t.Fatal(err)
				}
				return
			}
			must(t, err)
			expect(t, "end", l.EndOffset(), 12)
			expect(t, "recovery point", l.RecoveryPoint(), 12)
			expect(t, "cut from", report.CutFrom, 12)
			must(t, l.Write(all.from(12).bytes(), 0))
			all.check(t, l)
		})
	}
}

func TestDerivedFilesAreMadeAnew(t *testing.T) {
	for _, suffix := range []string{indexSuffix, timeSuffix, snapshotSuffix, epochsName} {
		for name, spoil := range map[string]func(fs *vfs.Memory, file string){
			"missing": func(fs *vfs.Memory, file string) { must(t, fs.Remove(file)) },
			"cut":     func(fs *vfs.Memory, file string) { change(t, fs, file, func(b []byte) []byte { return b[:len(b)/2] }) },
			"zeros":   func(fs *vfs.Memory, file string) { change(t, fs, file, func(b []byte) []byte { clear(b); return b }) },
		} {
			t.Run(name+" "+suffix, func(t *testing.T) {
				fs, all := written(t, small(), 4)
				names, err := fs.List(dir)
				must(t, err)
				files := segmentsOf(t, fs)
				active := strings.TrimSuffix(files[len(files)-1], logSuffix)
				for _, n := range names {
					n = dir + "/" + n
					if strings.HasSuffix(n, suffix) && (name == "missing" || strings.HasPrefix(n, active) || suffix == snapshotSuffix || suffix == epochsName) {
						spoil(fs, n)
					}
				}
				for _, rec := range []Recovery{{DurableTo: all.end(), Clean: true}, {DurableTo: all.end()}, {}} {
					l, _ := open(t, NewFiles(fs.KillClone(), 4), small(), rec)
					all.check(t, l)
				}
			})
		}
	}
}

func TestACleanStartReadsLittle(t *testing.T) {
	cfg := wide()
	l, fs := fresh(t, cfg)
	fill(t, l, 3000, 10)
	must(t, l.Close())
	counting := vfs.NewFaults(fs)
	counting.Fail(vfs.Rule{Op: vfs.OpRead, Skip: 8, Err: errors.New("too many reads")})
	l, report := open(t, NewFiles(counting, 4), cfg, Recovery{DurableTo: l.RecoveryPoint(), Clean: true})
	expect(t, "end", l.EndOffset(), 30_000)
	expect(t, "changes of the disk", counting.Mutations(), 0)
	expect(t, "bytes read through", report.Scanned, 0)
	must(t, l.Close())
	expect(t, "changes of the disk by opening and closing", counting.Mutations(), 0)
}

func TestALogThatWasNeverWrittenLeavesNoFiles(t *testing.T) {
	l, fs := fresh(t, wide())
	must(t, l.Sync())
	must(t, l.Close())
	names, err := fs.List(dir)
	must(t, err)
	if len(names) > 0 {
		t.Fatal(names)
	}
	l, _ = open(t, l.files, wide(), Recovery{Clean: true, StartOffset: 0})
	expect(t, "end", l.EndOffset(), 0)
}

// The whole window of five survives a kill, so that no retry becomes a duplicate
// or a gap.
func TestARetryIsKnownAfterAKill(t *testing.T) {
	fs, all := written(t, small(), 5)
	table, _ := all.producers()
	for _, rec := range []Recovery{{DurableTo: all.end(), Clean: true}, {DurableTo: all.end()}, {DurableTo: all.end() / 2}} {
		l, _ := open(t, NewFiles(fs.KillClone(), 4), small(), rec)
		for _, e := range table.All() {
			got := l.Producer(e.ProducerID)
			if got != e {
				t.Fatalf("%+v became %+v", e, got)
			}
		}
	}
}

func TestAStartBeyondTheEndEmptiesTheLog(t *testing.T) {
	fs, all := written(t, small(), 3)
	start := all.end() + 7
	l, _ := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: 0, StartOffset: start})
	expect(t, "start", l.StartOffset(), start)
	expect(t, "end", l.EndOffset(), start)
	write(t, l, batch(l, 1))
	l = reopen(t, l)
	expect(t, "end", l.EndOffset(), start+1)
}

func TestAStartThatWillBeWrittenAgainWaits(t *testing.T) {
	l, fs := fresh(t, wide())
	fill(t, l, 3, 3)
	must(t, l.Close())
	l, _ = open(t, NewFiles(fs, 4), wide(), Recovery{DurableTo: 9, StartOffset: 11, Resupply: []Range{{9, 12}}})
	expect(t, "end", l.EndOffset(), 9)
	write(t, l, batch(l, 1, 1, 1))
	s, err := l.Read(11, 12, 1000, true)
	must(t, err)
	expect(t, "base", s.Base, 9)
	s.Release()
}

func TestLeftoversAreRemoved(t *testing.T) {
	fs, all := written(t, small(), 3)
	for _, name := range []string{
		"00000000000000000000.log.deleted", "00000000000000000005.index.cleaned", "00000000000000000005.log.cleaned",
		"leader-epoch-checkpoint.tmp", "00000000000000000001.index", "00000000000000000001.txnindex",
	} {
		must(t, vfs.WriteFile(fs, dir+"/"+name, []byte("rubbish")))
	}
	must(t, vfs.WriteFile(fs, dir+"/somebody else's file", nil))
	l, _ := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: all.end(), Clean: true})
	all.check(t, l)
	names, err := fs.List(dir)
	must(t, err)
	for _, name := range names {
		if strings.Contains(name, "0001.") || strings.HasSuffix(name, deletedSuffix) || strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, tmpSuffix) {
			t.Error(name)
		}
	}
	if !slices.Contains(names, "somebody else's file") {
		t.Error("a file of somebody else is gone")
	}
}

// Kafka's rules for a replacement that a crash interrupted.
func TestAnInterruptedReplacementIsFinishedOrTakenBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[int]string // index of the segment whose bytes it gets: state
		swapped int
	}{
		{"only cleaned files: taken back", map[int]string{0: cleanedSuffix}, 0},
		{"swap: finished", map[int]string{0: swapSuffix}, 1},
		{"two swaps: finished", map[int]string{0: swapSuffix, 1: swapSuffix}, 2},
		{"a swap behind a cleaned file: taken back", map[int]string{0: cleanedSuffix, 1: swapSuffix}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, all := written(t, small(), 4)
			files := segmentsOf(t, fs)
			for i, state := range c.files {
				for _, suffix := range segmentSuffixes {
					file := strings.TrimSuffix(files[i], logSuffix) + suffix
					b, err := vfs.ReadFile(fs, file)
					if isNotExist(err) {
						continue
					}
					must(t, err)
					must(t, vfs.WriteFile(fs, file+state, b))
					if c.swapped > 0 { // the old file may be gone, or not
						must(t, vfs.WriteFile(fs, file, []byte("old")))
					}
				}
			}
			l, report := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: all.end(), Clean: true})
			expect(t, "swapped", report.Swapped, c.swapped)
			all.check(t, l)
		})
	}
}
