package storage

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// Whatever stands in the derived files of a log that was not closed, the log says
// what its batches say.
func FuzzDerivedFiles(f *testing.F) {
	fs, all := written(f, small(), 3)
	seed := func(suffix string) []byte {
		files := segmentsOf(f, fs)
		b, err := vfs.ReadFile(fs, strings.TrimSuffix(files[len(files)-1], logSuffix)+suffix)
		if err != nil && !isNotExist(err) {
			f.Fatal(err)
		}
		return b
	}
	f.Add(seed(indexSuffix), seed(timeSuffix), seed(abortedSuffix), []byte("0\n0\n"), []byte{0, 1})
	f.Add(make([]byte, 64), make([]byte, 60), make([]byte, 68), []byte("0\n1\n1 5\n"), []byte{})
	f.Fuzz(func(t *testing.T, offsets, times, aborted, epochs, snapshot []byte) {
		disk := fs.KillClone()
		files := segmentsOf(t, disk)
		active := strings.TrimSuffix(files[len(files)-1], logSuffix)
		for suffix, content := range map[string][]byte{indexSuffix: offsets, timeSuffix: times, abortedSuffix: aborted, snapshotSuffix: snapshot} {
			must(t, vfs.WriteFile(disk, active+suffix, content))
		}
		if _, err := parseEpochs(epochs); err != nil { // else it would be believed
			must(t, vfs.WriteFile(disk, dir+"/"+epochsName, epochs))
		}
		l, _ := open(t, NewFiles(disk, 4), small(), Recovery{})
		all.check(t, l)
	})
}

// Whatever bytes a segment has, Open takes the valid batches before the first bad
// byte, and the log works.
func FuzzSegment(f *testing.F) {
	good := append(append(batchAt(0, 1, 2), batchAt(2, 3)...), batchAt(3, 4, 5)...)
	f.Add([]byte(good), int64(0))
	f.Add([]byte(good[:100]), int64(2))
	f.Add(bytes.Repeat([]byte{2}, 300), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, durable int64) {
		disk, files := memory(t)
		must(t, disk.MkdirAll(dir))
		must(t, vfs.WriteFile(disk, fileName(dir, 0, logSuffix), b))
		l, _, err := Open(context.Background(), files, dir, small(), Recovery{DurableTo: durable})
		var damage *DamageError
		if errors.As(err, &damage) && durable > 0 {
			_, err := Repair(context.Background(), disk, dir, 0, Spare{})
			must(t, err)
			return
		}
		must(t, err)
		end := int64(0)
		for batch, err := range record.Batches(b) {
			if err != nil {
				break
			}
			h := batch.Header()
			if durable <= 0 && (batch.Verify() != nil || h.BaseOffset != end || h.LastOffsetDelta < 0 || h.LastOffset() > 1<<31-1) {
				break
			}
			end = h.LastOffset() + 1
		}
		if durable <= 0 {
			expect(t, "end", l.EndOffset(), end)
		}
		must(t, l.Write(batchAt(l.EndOffset(), 1), 0))
		must(t, l.Close())
	})
}

func FuzzEpochs(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n5 17\n"))
	f.Add([]byte("0\n0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseEpochs(b)
		if err != nil {
			return
		}
		again, err := parseEpochs(formatEpochs(list))
		must(t, err)
		if len(again) != len(list) {
			t.Fatalf("%v became %v", list, again)
		}
	})
}

func FuzzAborted(f *testing.F) {
	f.Add(AbortedTxn{1, 2, 3, 4}.append(AbortedTxn{1, 0, 1, 2}.append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseAborted(b)
		var again []byte
		for _, txn := range list {
			again = txn.append(again)
		}
		if !bytes.HasPrefix(b, again) || err == nil && len(again) != len(b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
