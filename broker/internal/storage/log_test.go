package storage

import (
	"bytes"
	"testing"
)

func TestWriteReadRollAndReopen(t *testing.T) {
	l, _ := fresh(t, small())
	fill(t, l, 100, 3)
	expect(t, "end", l.EndOffset(), 300)
	if l.Segments() < 5 {
		t.Fatal(l.Segments())
	}
	all := contents(t, l, 0, 500)
	expect(t, "bytes", int64(len(all)), l.Size())
	l = reopen(t, l)
	expect(t, "end", l.EndOffset(), 300)
	if !bytes.Equal(contents(t, l, 0, 10_000), all) {
		t.Fatal("other bytes after reopening")
	}
	fill(t, l, 10, 3)
	l = reopen(t, reopen(t, l))
	expect(t, "end", l.EndOffset(), 330)
	contents(t, l, 0, 1)
}
