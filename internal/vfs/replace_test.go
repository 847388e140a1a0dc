package vfs

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
)

// After a crash at any moment a file that is replaced has the old content or the new, and a copy that was made of it before is
// whole.
func TestReplaceFileIsOldOrNew(t *testing.T) {
	disk := NewMemory()
	old, young := bytes.Repeat([]byte("old"), 5000), bytes.Repeat([]byte("new"), 4000)
	if err := errors.Join(disk.MkdirAll("d"), disk.SyncDir("."), ReplaceFile(disk, "d/f", "d/f.new", old)); err != nil {
		t.Fatal(err)
	}
	faults := NewFaults(disk)
	var crashes []*Memory
	faults.BeforeMutation(func(n int, _ Op, _ string) { crashes = append(crashes, disk.CrashCloneTorn(uint64(n))) })
	aside, err := SaveAside(faults, "d/f")
	if err != nil || aside != "d/f.damaged" {
		t.Fatal(aside, err)
	}
	saved := len(crashes)
	if err := ReplaceFile(faults, "d/f", "d/f.new", young); err != nil {
		t.Fatal(err)
	}
	for i, crashed := range append(crashes, disk.CrashClone(1)) {
		got, err := ReadFile(crashed, "d/f")
		last := i == len(crashes)
		if err != nil || !bytes.Equal(got, young) && (last || !bytes.Equal(got, old)) {
			t.Errorf("crash %d of %d: %d bytes, %v", i, len(crashes), len(got), err)
		}
		if got, err := ReadFile(crashed, aside); i >= saved && (err != nil || !bytes.Equal(got, old)) {
			t.Errorf("crash %d of %d: the copy has %d bytes, %v", i, len(crashes), len(got), err)
		}
	}
	if aside, err := SaveAside(disk, "d/f"); err != nil || aside != "d/f.damaged.2" {
		t.Errorf("a second copy is %s, %v", aside, err)
	}
}

func TestAFailedSyncOfAReplacementIsToldApart(t *testing.T) {
	for _, op := range []Op{OpSync, OpSyncDir, OpWrite, OpRename} {
		faults := NewFaults(NewMemory())
		faults.Fail(Rule{Op: op, Err: syscall.EIO})
		err := ReplaceFile(faults, "f", "f.new", []byte("x"))
		if want := op == OpSync || op == OpSyncDir; !errors.Is(err, syscall.EIO) || errors.Is(err, ErrSync) != want {
			t.Errorf("op %b: %v", op, err)
		}
	}
}
