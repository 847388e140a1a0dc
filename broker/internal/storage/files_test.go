package storage

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// counted is a disk that knows how many files are open.
type counted struct {
	vfs.FS
	mu   sync.Mutex
	open int
}

type countedFile struct {
	vfs.File
	of *counted
}

func (c *counted) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	c.add(1)
	return &countedFile{f, c}, nil
}

func (c *counted) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
}

func (c *counted) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *counted) Create(name string) (vfs.File, error)   { return c.wrap(c.FS.Create(name)) }
func (c *counted) Open(name string) (vfs.File, error)     { return c.wrap(c.FS.Open(name)) }
func (c *counted) OpenFile(name string) (vfs.File, error) { return c.wrap(c.FS.OpenFile(name)) }
func (f *countedFile) Close() error                       { f.of.add(-1); return f.File.Close() }

func TestOnlySoManyFilesStayOpen(t *testing.T) {
	disk, _ := memory(t)
	fs := &counted{FS: disk}
	files := NewFiles(fs, 3)
	l, _ := open(t, files, small(), Recovery{})
	fill(t, l, 100, 3)
	if got := fs.now(); got != l.Segments() {
		t.Fatalf("%d files are open, %d segments are not durable", got, l.Segments())
	}
	must(t, l.Sync())
	for range 3 {
		contents(t, l, 0, 300)
		if got := fs.now(); got > 3+1 { // and the active segment
			t.Fatalf("%d files are open", got)
		}
	}
	s, err := l.Read(0, 300, 100, true)
	must(t, err)
	must(t, l.Close())
	must(t, files.Close())
	expect(t, "files that are open, held by a slice", fs.now(), 1)
	s.Release()
	expect(t, "files that are open", fs.now(), 0)
}

func TestNothingStaysOpenAfterAFailedOpen(t *testing.T) {
	disk, all := written(t, small(), 4)
	change(t, disk, segmentsOf(t, disk)[3], cutBy(20))
	fs := &counted{FS: disk}
	files := NewFiles(fs, 0)
	if _, _, err := Open(t.Context(), files, dir, small(), Recovery{DurableTo: all.end()}); err == nil {
		t.Fatal("opened")
	}
	must(t, files.Close())
	expect(t, "files that are open", fs.now(), 0)
}

func TestAcquireRacesWithEverything(t *testing.T) {
	disk, _ := memory(t)
	fs := &counted{FS: disk}
	files := NewFiles(fs, 2)
	sources := make([]source, 6)
	for i := range sources {
		sources[i].files, sources[i].name = files, fmt.Sprintf("data/%d", i)
		must(t, vfs.WriteFile(disk, sources[i].name, []byte{byte(i)}))
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range 500 {
				i := (n*7 + w) % len(sources)
				h, err := sources[i].acquire()
				if errors.Is(err, os.ErrNotExist) && i == 5 {
					continue
				}
				must(t, err)
				b := make([]byte, 1)
				if _, err := h.file.ReadAt(b, 0); err != nil || b[0] != byte(i) {
					t.Errorf("%d: %v %v", i, b, err)
				}
				h.release()
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			h, err := sources[4].pin()
			must(t, err)
			sources[4].unpin(h)
		}
		sources[5].drop()
	})
	wg.Wait()
	if _, err := sources[5].acquire(); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a file that is gone was opened:", err)
	}
	must(t, files.Close())
	expect(t, "files that are open", fs.now(), 0)
}
