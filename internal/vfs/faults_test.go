package vfs_test

import (
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestFaultsWithoutRulesIsWhatItWraps(t *testing.T) {
	suite(t, func(t *testing.T) (vfs.FS, string) { return vfs.NewFaults(withDir(t, vfs.NewMemory())), "data" })
}

func TestRuleFailsTheNthMatchingCall(t *testing.T) {
	fs := vfs.NewFaults(vfs.NewMemory())
	fs.Fail(vfs.Rule{Op: vfs.OpWrite | vfs.OpSync, Name: "*.log", Skip: 1, Times: 2, Err: syscall.EIO})
	log, other := create(t, fs, "a.log", "first"), create(t, fs, "a.index", "index")
	expectErr(t, log.Sync(), syscall.EIO)
	must(t, other.Sync())
	_, err := log.WriteAt([]byte("second"), 0)
	expectErr(t, err, syscall.EIO)
	must(t, log.Sync())
	expect(t, read(t, fs, "a.log"), "first")
}

func TestRuleMayLeaveAShortWrite(t *testing.T) {
	fs := vfs.NewFaults(vfs.NewMemory())
	f := create(t, fs, "a", "")
	remove := fs.Fail(vfs.Rule{Op: vfs.OpWrite, Err: syscall.ENOSPC, Short: 3})
	n, err := f.WriteAt([]byte("012345"), 0)
	expectErr(t, err, syscall.ENOSPC)
	if n != 3 {
		t.Fatal(n)
	}
	expect(t, read(t, fs, "a"), "012")
	remove()
	write(t, f, "345", 3)
	expect(t, read(t, fs, "a"), "012345")
}

func TestEveryCallCanFail(t *testing.T) {
	fs := vfs.NewFaults(vfs.NewMemory())
	f := create(t, fs, "a", "x")
	fs.Fail(vfs.Rule{Op: ^vfs.Op(0), Err: syscall.EIO})
	calls := map[string]func() error{
		"create":   func() error { _, err := fs.Create("a"); return err },
		"open":     func() error { _, err := fs.Open("a"); return err },
		"openfile": func() error { _, err := fs.OpenFile("a"); return err },
		"list":     func() error { _, err := fs.List("."); return err },
		"stat":     func() error { _, err := fs.Stat("a"); return err },
		"lock":     func() error { _, err := fs.Lock("a"); return err },
		"read":     func() error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		"truncate": func() error { return f.Truncate(0) },
		"remove":   func() error { return fs.Remove("a") },
		"all":      func() error { return fs.RemoveAll("a") },
		"rename":   func() error { return fs.Rename("a", "b") },
		"mkdir":    func() error { return fs.MkdirAll("d") },
		"syncdir":  func() error { return fs.SyncDir(".") },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { expectErr(t, call(), syscall.EIO) })
	}
}

func TestHookSeesTheWorldBeforeEachMutation(t *testing.T) {
	memory := vfs.NewMemory()
	fs := vfs.NewFaults(memory)
	var seen []string
	var sizes []int64
	fs.BeforeMutation(func(n int, op vfs.Op, name string) {
		seen = append(seen, name)
		info, _ := memory.Stat("a")
		sizes = append(sizes, info.Size)
	})
	f := create(t, fs, "a", "12")
	write(t, f, "34", 2)
	must(t, f.Sync())
	must(t, fs.Rename("a", "b"))
	must(t, fs.SyncDir("."))
	if !slices.Equal(seen, []string{"a", "a", "a", "a", "a", "."}) || !slices.Equal(sizes, []int64{0, 0, 2, 4, 4, 0}) {
		t.Fatal(seen, sizes)
	}
	if fs.Mutations() != 6 {
		t.Fatal(fs.Mutations())
	}
}

func TestSpaceCanBeFaked(t *testing.T) {
	fs := vfs.NewFaults(vfs.NewMemory())
	fs.FakeSpace(&vfs.Space{Total: 10, Free: 1})
	if space := must1[vfs.Space](t)(fs.Space(".")); space.Free != 1 {
		t.Fatal(space)
	}
	fs.FakeSpace(nil)
	if space := must1[vfs.Space](t)(fs.Space(".")); space.Free == 1 {
		t.Fatal(space)
	}
}

func TestOSFileIsThereOnlyOnTheDisk(t *testing.T) {
	disk := create(t, vfs.Disk(), t.TempDir()+"/a", "x")
	if f, ok := vfs.OSFile(disk); !ok || f == nil {
		t.Fatal("no *os.File behind a file of the disk")
	}
	if _, ok := vfs.OSFile(create(t, vfs.NewMemory(), "a", "x")); ok {
		t.Fatal("an *os.File behind memory")
	}
}

func TestRuleMayLetCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewFaults(vfs.NewMemory())
		f := create(t, fs, "a", "before")
		waiting, failing := make(chan struct{}), make(chan struct{})
		fs.Fail(vfs.Rule{Op: vfs.OpWrite, Until: waiting})
		fs.Fail(vfs.Rule{Op: vfs.OpSync, Until: failing, Err: syscall.EIO})
		outcomes := make(chan error, 2)
		go func() { _, err := f.WriteAt([]byte("after!"), 0); outcomes <- err }()
		synctest.Wait()
		expect(t, read(t, fs, "a"), "before")
		close(waiting)
		must(t, <-outcomes)
		expect(t, read(t, fs, "a"), "after!")
		go func() { outcomes <- f.Sync() }()
		synctest.Wait()
		if len(outcomes) > 0 {
			t.Fatal("nobody has waited")
		}
		close(failing)
		expectErr(t, <-outcomes, syscall.EIO)
	})
}
