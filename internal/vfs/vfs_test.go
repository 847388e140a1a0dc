package vfs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// TestFileSystems is the one suite that every implementation passes.
func TestFileSystems(t *testing.T) {
	t.Run("disk", func(t *testing.T) { suite(t, func(t *testing.T) (vfs.FS, string) { return vfs.Disk(), t.TempDir() }) })
	t.Run("memory", func(t *testing.T) {
		suite(t, func(t *testing.T) (vfs.FS, string) { return withDir(t, vfs.NewMemory()), "data" })
	})
	t.Run("overlay", func(t *testing.T) {
		suite(t, func(t *testing.T) (vfs.FS, string) { return vfs.Overlay(withDir(t, vfs.NewMemory())), "data" })
	})
}

func withDir(t *testing.T, fs vfs.FS) vfs.FS {
	must(t, fs.MkdirAll("data"))
	return fs
}

func suite(t *testing.T, open func(t *testing.T) (vfs.FS, string)) {
	for name, test := range map[string]func(*testing.T, vfs.FS, string){
		"a written file reads back":           testWriteRead,
		"reads end with EOF":                  testEOF,
		"gaps read as zero":                   testGaps,
		"truncation forgets what was beyond":  testTruncate,
		"open modes":                          testOpenModes,
		"missing names are ErrNotExist":       testMissing,
		"rename replaces and moves":           testRename,
		"directories nest, list and go":       testDirectories,
		"handles outlive removal":             testRemovedHandle,
		"locks exclude":                       testLock,
		"stat and space":                      testStat,
		"a closed file refuses everything":    testClosed,
		"whole files":                         testWholeFiles,
		"a full directory cannot be replaced": testReplaceDirectory,
	} {
		t.Run(name, func(t *testing.T) {
			fs, dir := open(t)
			test(t, fs, dir)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func create(t *testing.T, fs vfs.FS, name, content string) vfs.File {
	t.Helper()
	f, err := fs.Create(name)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	write(t, f, content, 0)
	return f
}

func write(t *testing.T, f vfs.File, content string, off int64) {
	t.Helper()
	if n, err := f.WriteAt([]byte(content), off); n != len(content) || err != nil {
		t.Fatalf("writing %d bytes: %d, %v", len(content), n, err)
	}
}

func read(t *testing.T, fs vfs.FS, name string) string {
	t.Helper()
	return string(must1[[]byte](t)(vfs.ReadFile(fs, name)))
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func expectErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func testWriteRead(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	f := create(t, fs, name, "hello world")
	write(t, f, "W", 6)
	must(t, f.Sync())
	expect(t, read(t, fs, name), "hello World")
	b := make([]byte, 3)
	if n, err := f.ReadAt(b, 1); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	expect(t, string(b), "ell")
}

func testEOF(t *testing.T, fs vfs.FS, dir string) {
	f := create(t, fs, filepath.Join(dir, "a"), "12345")
	b := make([]byte, 4)
	n, err := f.ReadAt(b, 3)
	expectErr(t, err, io.EOF)
	expect(t, string(b[:n]), "45")
	n, err = f.ReadAt(b, 100)
	expectErr(t, err, io.EOF)
	expect(t, string(b[:n]), "")
	if n, err = f.ReadAt(nil, 100); n != 0 || err != nil {
		t.Fatal("an empty read", n, err)
	}
	if _, err = f.ReadAt(b, -1); err == nil {
		t.Fatal("a negative position was taken")
	}
}

func testGaps(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	f := create(t, fs, name, "x")
	write(t, f, "y", 9000)
	content := read(t, fs, name)
	if len(content) != 9001 || content[0] != 'x' || content[9000] != 'y' {
		t.Fatalf("%d bytes", len(content))
	}
	for i := 1; i < 9000; i++ {
		if content[i] != 0 {
			t.Fatalf("byte %d is %x", i, content[i])
		}
	}
}

func testTruncate(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	f := create(t, fs, name, "0123456789")
	must(t, f.Truncate(4))
	expect(t, read(t, fs, name), "0123")
	must(t, f.Truncate(6))
	expect(t, read(t, fs, name), "0123\x00\x00")
	if size := must1[int64](t)(f.Size()); size != 6 {
		t.Fatal(size)
	}
}

func testOpenModes(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	f, err := fs.OpenFile(name)
	must(t, err)
	write(t, f, "kept", 0)
	must(t, f.Close())
	f, err = fs.OpenFile(name)
	must(t, err)
	must(t, f.Close())
	expect(t, read(t, fs, name), "kept")

	f, err = fs.Open(name)
	must(t, err)
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a file opened for reading was written")
	}
	if err := f.Truncate(0); err == nil {
		t.Fatal("a file opened for reading was truncated")
	}
	must(t, f.Close())
	f, err = fs.Create(name)
	must(t, err)
	must(t, f.Close())
	expect(t, read(t, fs, name), "")
}

func testMissing(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "none")
	_, err := fs.Open(name)
	expectErr(t, err, os.ErrNotExist)
	_, err = fs.Create(filepath.Join(name, "a"))
	expectErr(t, err, os.ErrNotExist)
	_, err = fs.OpenFile(filepath.Join(name, "a"))
	expectErr(t, err, os.ErrNotExist)
	_, err = fs.Stat(name)
	expectErr(t, err, os.ErrNotExist)
	_, err = fs.List(name)
	expectErr(t, err, os.ErrNotExist)
	expectErr(t, fs.Remove(name), os.ErrNotExist)
	expectErr(t, fs.Rename(name, name+"2"), os.ErrNotExist)
	expectErr(t, fs.SyncDir(name), os.ErrNotExist)
	must(t, fs.RemoveAll(name))
	must(t, fs.RemoveAll(filepath.Join(name, "deeper")))
}

func testRename(t *testing.T, fs vfs.FS, dir string) {
	a, b, sub := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "sub")
	must(t, create(t, fs, a, "A").Close())
	must(t, create(t, fs, b, "B").Close())
	must(t, fs.Rename(a, b))
	must(t, fs.SyncDir(dir))
	expect(t, read(t, fs, b), "A")
	_, err := fs.Stat(a)
	expectErr(t, err, os.ErrNotExist)
	must(t, fs.MkdirAll(sub))
	must(t, fs.Rename(b, filepath.Join(sub, "c")))
	must(t, fs.Rename(sub, filepath.Join(dir, "moved")))
	expect(t, read(t, fs, filepath.Join(dir, "moved", "c")), "A")
	if err := fs.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "moved", "in")); err == nil {
		t.Fatal("a directory was moved into itself")
	}
}

func testDirectories(t *testing.T, fs vfs.FS, dir string) {
	deep := filepath.Join(dir, "x", "y", "z")
	must(t, fs.MkdirAll(deep))
	must(t, fs.MkdirAll(deep))
	must(t, create(t, fs, filepath.Join(deep, "2"), "").Close())
	must(t, create(t, fs, filepath.Join(deep, "1"), "").Close())
	if names := must1[[]string](t)(fs.List(deep)); !slices.Equal(names, []string{"1", "2"}) {
		t.Fatal(names)
	}
	if err := fs.Remove(deep); err == nil {
		t.Fatal("a directory with files was removed")
	}
	must(t, fs.Remove(filepath.Join(deep, "1")))
	must(t, fs.RemoveAll(filepath.Join(dir, "x")))
	if names := must1[[]string](t)(fs.List(dir)); len(names) != 0 {
		t.Fatal(names)
	}
	name := filepath.Join(dir, "file")
	must(t, create(t, fs, name, "").Close())
	if err := fs.MkdirAll(filepath.Join(name, "below")); err == nil {
		t.Fatal("a directory was made below a file")
	}
	if _, err := fs.Create(dir); err == nil {
		t.Fatal("a directory was opened as a file")
	}
}

func testRemovedHandle(t *testing.T, fs vfs.FS, dir string) {
	if isWindows {
		t.Skip("an open file cannot be removed on Windows")
	}
	name := filepath.Join(dir, "a")
	f := create(t, fs, name, "still here")
	must(t, fs.Remove(name))
	b := make([]byte, 5)
	must1[int](t)(f.ReadAt(b, 0))
	expect(t, string(b), "still")
}

func testLock(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "lock")
	l, err := fs.Lock(name)
	must(t, err)
	_, err = fs.Lock(name)
	expectErr(t, err, vfs.ErrLocked)
	must(t, l.Close())
	l, err = fs.Lock(name)
	must(t, err)
	must(t, l.Close())
}

func testStat(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	create(t, fs, name, "12345")
	info := must1[vfs.Info](t)(fs.Stat(name))
	if info.Size != 5 || info.Dir || info.ModTime <= 0 {
		t.Fatalf("%+v", info)
	}
	if info = must1[vfs.Info](t)(fs.Stat(dir)); !info.Dir || info.Size != 0 {
		t.Fatalf("%+v", info)
	}
	space := must1[vfs.Space](t)(fs.Space(dir))
	if space.Free <= 0 || space.Total < space.Free {
		t.Fatalf("%+v", space)
	}
}

func testClosed(t *testing.T, fs vfs.FS, dir string) {
	f := create(t, fs, filepath.Join(dir, "a"), "x")
	must(t, f.Close())
	_, err := f.ReadAt(make([]byte, 1), 0)
	expectErr(t, err, os.ErrClosed)
	_, err = f.WriteAt([]byte("x"), 0)
	expectErr(t, err, os.ErrClosed)
	if _, err = f.Size(); err == nil {
		t.Fatal("a closed file told its size")
	}
	if f.Sync() == nil {
		t.Fatal("a closed file was synced")
	}
	expectErr(t, f.Truncate(0), os.ErrClosed)
	expectErr(t, f.Close(), os.ErrClosed)
}

func testWholeFiles(t *testing.T, fs vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	must(t, vfs.WriteFile(fs, name, []byte("first and long")))
	must(t, vfs.WriteFile(fs, name, []byte("second")))
	expect(t, read(t, fs, name), "second")
}

func testReplaceDirectory(t *testing.T, fs vfs.FS, dir string) {
	full, other, file := filepath.Join(dir, "full"), filepath.Join(dir, "other"), filepath.Join(dir, "file")
	must(t, fs.MkdirAll(filepath.Join(full, "x")))
	must(t, fs.MkdirAll(other))
	must(t, create(t, fs, file, "").Close())
	if fs.Rename(other, full) == nil || fs.Rename(file, full) == nil {
		t.Fatal("a full directory was replaced")
	}
}
