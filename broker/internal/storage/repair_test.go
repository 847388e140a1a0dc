package storage

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

func verify(t *testing.T, fs vfs.FS) Findings {
	t.Helper()
	found, err := Verify(context.Background(), fs, dir)
	must(t, err)
	return found
}

func TestVerifyFindsNothingInAGoodLog(t *testing.T) {
	fs, all := written(t, small(), 6)
	found := verify(t, fs)
	if len(found.Damage)+len(found.Derived) > 0 || found.Segments != 6 || found.Batches != int64(len(all)) || found.End != all.end() {
		t.Fatalf("%+v", found)
	}
}

func TestVerifyNamesTheDerivedFilesThatDoNotFit(t *testing.T) {
	for _, suffix := range []string{indexSuffix, timeSuffix, abortedSuffix, snapshotSuffix} {
		fs, _ := written(t, small(), 6)
		names, err := fs.List(dir)
		must(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, suffix) {
				change(t, fs, dir+"/"+name, flip(0))
				found := verify(t, fs)
				if len(found.Damage) > 0 || len(found.Derived) != 1 || found.Derived[0] != dir+"/"+name {
					t.Fatalf("%s: %+v", name, found)
				}
				break
			}
		}
	}
}

// damages are changes to the second segment of a log; lost is how many of its
// batches they take.
var damages = map[string]struct {
	do   func([]byte, []int) []byte // of the bytes, where batches begin
	lost int
}{
	"a record":          {func(b []byte, at []int) []byte { b[at[2]+70] ^= 1; return b }, 1},
	"a length":          {func(b []byte, at []int) []byte { b[at[2]+9] ^= 0x40; return b }, 1},
	"a magic":           {func(b []byte, at []int) []byte { b[at[2]+16] = 9; return b }, 1},
	"an offset":         {func(b []byte, at []int) []byte { b[at[2]] ^= 0x40; return b }, 1},
	"the first":         {func(b []byte, _ []int) []byte { b[61] ^= 1; return b }, 1},
	"the last":          {func(b []byte, _ []int) []byte { b[len(b)-1] ^= 1; return b }, 1},
	"two at two places": {func(b []byte, at []int) []byte { b[at[1]+70] ^= 1; b[at[3]+16] = 0; return b }, 2},
	"two neighbours":    {func(b []byte, at []int) []byte { clear(b[at[1]:at[3]]); return b }, 2},
	"a page in between": {func(b []byte, at []int) []byte { clear(b[at[1]+30 : at[2]+30]); return b }, 2},
	"bytes that slipped in": {func(b []byte, at []int) []byte {
		return append(append(bytes.Clone(b[:at[2]]), "slipped in"...), b[at[2]:]...)
	}, 0},
	"a batch twice": {func(b []byte, at []int) []byte {
		return append(append(bytes.Clone(b[:at[2]]), b[at[1]:at[2]]...), b[at[2]:]...)
	}, 0},
}

func TestRepairKeepsWhateverCanBeRead(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			fs, all := written(t, small(), 4)
			file := segmentsOf(t, fs)[1]
			var at []int
			change(t, fs, file, func(b []byte) []byte {
				pos := 0
				for batch, err := range record.Batches(b) {
					must(t, err)
					at = append(at, pos)
					pos += len(batch)
				}
				return damage.do(b, at)
			})
			original, err := vfs.ReadFile(fs, file)
			must(t, err)
			found := verify(t, fs)
			if len(found.Damage) == 0 || found.Batches != int64(len(all)-damage.lost) {
				t.Fatalf("%+v, of %d batches", found, len(all))
			}
			_, err = Repair(context.Background(), fs, dir, all.end(), Spare{})
			must(t, err)
			if again := verify(t, fs); len(again.Damage) > 0 || again.Batches != found.Batches {
				t.Fatalf("after the repair %+v", again)
			}
			kept, err := vfs.ReadFile(fs, file+damagedSuffix)
			must(t, err)
			if !bytes.Equal(kept, original) {
				t.Fatal("the original was not kept")
			}
			for _, rec := range []Recovery{{DurableTo: all.end()}, {DurableTo: all.end(), Clean: true}, {}} {
				l, _ := open(t, NewFiles(fs.KillClone(), 4), small(), rec)
				expect(t, "end", l.EndOffset(), all.end())
				got := bases(t, contents(t, l, 0, 300))
				expect(t, "batches", len(got), len(all)-damage.lost)
				write(t, l, batch(l, 1))
				reopen(t, l)
			}
		})
	}
}

// No checksum covers the base offset. One so large that the last offset overflows is damage, not the end of all offsets.
func TestABaseOffsetAtTheEndOfAllIsDamage(t *testing.T) {
	fs, all := written(t, small(), 4)
	pos, lost := 0, false
	change(t, fs, segmentsOf(t, fs)[0], func(b []byte) []byte {
		for batch, err := range record.Batches(b) {
			must(t, err)
			if h := batch.Header(); h.LastOffsetDelta > 0 {
				record.PatchOffset(b[pos:], math.MaxInt64, h.LeaderEpoch)
				lost = true
				break
			}
			pos += len(batch)
		}
		return b
	})
	found := verify(t, fs)
	if !lost || len(found.Damage) != 1 || found.Damage[0].Position != int64(pos) || found.Batches != int64(len(all)-1) || found.End != all.end() {
		t.Fatalf("%+v, of %d batches", found, len(all))
	}
	_, err := Repair(context.Background(), fs, dir, all.end(), Spare{})
	must(t, err)
	if again := verify(t, fs); len(again.Damage) > 0 || again.Batches != found.Batches {
		t.Fatalf("after the repair %+v", again)
	}
}

func TestRepairGoesOnWhereTheLogWasDurable(t *testing.T) {
	fs, all := written(t, small(), 3)
	files := segmentsOf(t, fs)
	change(t, fs, files[2], cutBy(10))
	found, err := Repair(context.Background(), fs, dir, all.end(), Spare{})
	must(t, err)
	if len(found.Damage) != 1 || !found.Damage[0].Tail {
		t.Fatalf("%+v", found)
	}
	l, _ := open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: all.end()})
	expect(t, "end", l.EndOffset(), all.end())
	expect(t, "bytes that can be read", len(contents(t, l, 0, 300)), len(all[:len(all)-1].bytes()))
	write(t, l, batch(l, 1))
	expect(t, "end", reopen(t, l).EndOffset(), all.end()+1)
}

func TestRepairRemakesATransactionIndex(t *testing.T) {
	fs, all := written(t, small(), 6)
	names, err := fs.List(dir)
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, abortedSuffix) {
			change(t, fs, dir+"/"+name, flip(10))
		}
	}
	l, _ := open(t, NewFiles(fs.KillClone(), 4), small(), Recovery{DurableTo: all.end(), Clean: true})
	if _, err := l.AbortedTransactions(0, all.end()); err == nil {
		t.Fatal("a damaged transaction index was believed")
	}
	_, err = Repair(context.Background(), fs, dir, all.end(), Spare{})
	must(t, err)
	l, _ = open(t, NewFiles(fs, 4), small(), Recovery{DurableTo: all.end(), Clean: true})
	all.check(t, l)
}

func TestRepairSurvivesACrashAtEveryChange(t *testing.T) {
	memory, all := written(t, small(), 4)
	must(t, memory.SyncDir("data"))
	must(t, memory.SyncDir(dir))
	for _, i := range []int{1, 2} {
		change(t, memory, segmentsOf(t, memory)[i], flip(100))
	}
	want := verify(t, memory).Batches
	faults := vfs.NewFaults(memory)
	faults.BeforeMutation(func(n int, op vfs.Op, name string) {
		for seed := range uint64(4) {
			fs := memory.CrashClone(seed + uint64(n)*8)
			if _, err := Repair(context.Background(), fs, dir, all.end(), Spare{}); err != nil {
				t.Fatalf("crash before change %d, %v of %s: %v", n, op, name, err)
			}
			if found := verify(t, fs); found.Batches != want || len(found.Damage) > 0 {
				t.Fatalf("crash before change %d, %v of %s: %+v", n, op, name, found)
			}
		}
	})
	_, err := Repair(context.Background(), faults, dir, all.end(), Spare{})
	must(t, err)
}

func TestVerifyCanBeCancelled(t *testing.T) {
	fs, _ := written(t, small(), 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, fs, dir); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// A log goes on where nothing is missing any more; what is spare before the last hole is written by the repair.
func TestWhereARepairedLogGoesOn(t *testing.T) {
	for _, c := range []struct {
		end, promised int64
		spare, want   []Range
		at            int64
	}{
		{5, 5, nil, nil, 5},
		{5, 9, nil, nil, 9},
		{5, 9, []Range{{3, 9}}, nil, 5},
		{5, 9, []Range{{3, 7}, {7, 12}}, nil, 5},
		{5, 9, []Range{{9, 12}}, nil, 9},
		{5, 9, []Range{{5, 7}, {9, 12}}, []Range{{5, 7}}, 9},
		{5, 9, []Range{{9, 12}, {2, 7}}, []Range{{5, 7}}, 9},
		{5, 14, []Range{{5, 7}, {9, 12}}, []Range{{5, 7}, {9, 12}}, 14},
		{5, 9, []Range{{1, 3}, {6, 7}, {8, 9}}, []Range{{6, 7}}, 8},
	} {
		got, at := goOn(c.end, c.promised, c.spare)
		if !slices.Equal(got, c.want) || at != c.at {
			t.Errorf("end %d, promised %d, spare %v: %v and %d, want %v and %d", c.end, c.promised, c.spare, got, at, c.want, c.at)
		}
	}
}
