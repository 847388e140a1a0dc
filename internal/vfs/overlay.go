package vfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Overlay is a file system over another one that it never changes: what is written stays in memory, page by page, and goes
// with the Overlay. With it one can see what a program would do to a disk, and what it would find, without doing it.
func Overlay(base FS) FS {
	return &overlay{base: base, names: map[string]*overlaid{}, locks: map[string]bool{}}
}

type overlay struct {
	base FS

	mu    sync.Mutex           // guards all below it, contents included
	names map[string]*overlaid // what differs from base; nil: removed
	locks map[string]bool
}

// overlaid is a file or directory that base has not, or not like that.
type overlaid struct {
	dir     bool
	origin  string // file of base that it began as; empty: none
	reach   int64  // so much of origin still shows
	size    int64
	pages   map[int64][]byte // what was written, over origin; each has pageSize bytes
	modTime int64
}

// find returns what differs at a name; same is true when nothing does. Below a directory that differs base counts no more.
func (o *overlay) find(name string) (n *overlaid, same bool) {
	name = filepath.Clean(name)
	if n, differs := o.names[name]; differs {
		return n, false
	}
	for dir := filepath.Dir(name); dir != name; name, dir = dir, filepath.Dir(dir) {
		if _, differs := o.names[dir]; differs {
			return nil, false
		}
	}
	return nil, true
}

// file returns the file of that name as one that may be changed. The caller holds mu.
func (o *overlay) file(op, name string, create bool) (*overlaid, error) {
	n, same := o.find(name)
	if same {
		info, err := o.base.Stat(name)
		if err == nil {
			n = &overlaid{dir: info.Dir, origin: name, reach: info.Size, size: info.Size, modTime: info.ModTime}
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	switch {
	case n == nil && !create:
		return nil, pathError(op, name, os.ErrNotExist)
	case n == nil:
		if err := o.holds(op, name); err != nil {
			return nil, err
		}
		n = &overlaid{modTime: time.Now().UnixMilli()}
	case n.dir:
		return nil, pathError(op, name, syscall.EISDIR)
	}
	if n.pages == nil {
		n.pages = map[int64][]byte{}
	}
	o.names[filepath.Clean(name)] = n
	return n, nil
}

// holds checks that there is a directory for a name.
func (o *overlay) holds(op, name string) error {
	info, err := o.stat(filepath.Dir(name))
	if err == nil && !info.Dir {
		err = pathError(op, name, syscall.ENOTDIR)
	}
	return err
}

func (o *overlay) open(op, name string, create, writable bool) (*overlayFile, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.file(op, name, create)
	if err != nil {
		return nil, err
	}
	f := &overlayFile{overlay: o, node: n, name: name, writable: writable}
	if n.origin != "" {
		if f.base, err = o.base.Open(n.origin); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (o *overlay) Create(name string) (File, error) {
	f, err := o.open("create", name, true, true)
	if err != nil {
		return nil, err
	}
	return f, f.Truncate(0)
}

func (o *overlay) Open(name string) (File, error) {
	f, err := o.open("open", name, false, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (o *overlay) OpenFile(name string) (File, error) {
	f, err := o.open("open", name, true, true)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (o *overlay) Remove(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if info, err := o.stat(name); err != nil {
		return err
	} else if info.Dir {
		if children, err := o.list(name); err != nil || len(children) > 0 {
			return errors.Join(err, pathError("remove", name, syscall.ENOTEMPTY))
		}
	}
	o.names[filepath.Clean(name)] = nil
	return nil
}

func (o *overlay) RemoveAll(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.holds("removeall", name); errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return o.removeAll(name)
}

func (o *overlay) removeAll(name string) error {
	info, err := o.stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Dir {
		children, err := o.list(name)
		for _, child := range children {
			err = errors.Join(err, o.removeAll(filepath.Join(name, child)))
		}
		if err != nil {
			return err
		}
	}
	o.names[filepath.Clean(name)] = nil
	return nil
}

func (o *overlay) Rename(oldName, newName string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.holds("rename", newName); err != nil {
		return err
	}
	from, err := o.stat(oldName)
	if err != nil {
		return err
	}
	if strings.HasPrefix(filepath.Clean(newName), filepath.Clean(oldName)+string(filepath.Separator)) {
		return pathError("rename", newName, syscall.EINVAL)
	}
	switch to, err := o.stat(newName); {
	case errors.Is(err, os.ErrNotExist) || filepath.Clean(oldName) == filepath.Clean(newName):
	case err != nil:
		return err
	case to.Dir && !from.Dir:
		return pathError("rename", newName, syscall.EISDIR)
	case !to.Dir && from.Dir:
		return pathError("rename", newName, syscall.ENOTDIR)
	case to.Dir:
		if children, err := o.list(newName); err != nil || len(children) > 0 {
			return errors.Join(err, pathError("rename", newName, syscall.ENOTEMPTY))
		}
	}
	return o.rename(oldName, newName, from.Dir)
}

func (o *overlay) rename(oldName, newName string, dir bool) error {
	n := &overlaid{dir: true, modTime: time.Now().UnixMilli()}
	if dir {
		children, err := o.list(oldName)
		if err != nil {
			return err
		}
		for _, child := range children {
			name := filepath.Join(oldName, child)
			info, err := o.stat(name)
			if err != nil {
				return err
			}
			if err := o.rename(name, filepath.Join(newName, child), info.Dir); err != nil {
				return err
			}
		}
	} else {
		var err error
		if n, err = o.file("rename", oldName, false); err != nil {
			return err
		}
	}
	o.names[filepath.Clean(oldName)] = nil
	o.names[filepath.Clean(newName)] = n
	return nil
}

func (o *overlay) MkdirAll(dir string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var missing []string
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		info, err := o.stat(dir)
		if err == nil && !info.Dir {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		missing = append(missing, dir)
	}
	for _, dir := range missing {
		o.names[dir] = &overlaid{dir: true, modTime: time.Now().UnixMilli()}
	}
	return nil
}

func (o *overlay) List(dir string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list(dir)
}

// list is List for who holds mu.
func (o *overlay) list(dir string) ([]string, error) {
	if info, err := o.stat(dir); err != nil {
		return nil, err
	} else if !info.Dir {
		return nil, pathError("list", dir, syscall.ENOTDIR)
	}
	var names []string
	if _, same := o.find(dir); same {
		var err error
		if names, err = o.base.List(dir); err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, differs := o.names[filepath.Join(dir, name)]
		return differs
	})
	for name, n := range o.names {
		if n != nil && filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (o *overlay) Stat(name string) (Info, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stat(name)
}

// stat is Stat for who holds mu.
func (o *overlay) stat(name string) (Info, error) {
	n, same := o.find(name)
	switch {
	case same:
		return o.base.Stat(name)
	case n == nil:
		return Info{}, pathError("stat", name, os.ErrNotExist)
	}
	return Info{Size: n.size, Dir: n.dir, ModTime: n.modTime}, nil
}

func (o *overlay) SyncDir(dir string) error {
	_, err := o.Stat(dir)
	return err
}

func (o *overlay) Lock(name string) (io.Closer, error) {
	f, err := o.OpenFile(name)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.locks[filepath.Clean(name)] {
		return nil, errors.Join(pathError("lock", name, ErrLocked), f.Close())
	}
	o.locks[filepath.Clean(name)] = true
	return &overlayLock{File: f, overlay: o, name: filepath.Clean(name)}, nil
}

type overlayLock struct {
	File
	overlay *overlay
	name    string
}

func (l *overlayLock) Close() error {
	err := l.File.Close()
	if err == nil {
		l.overlay.mu.Lock()
		defer l.overlay.mu.Unlock()
		delete(l.overlay.locks, l.name)
	}
	return err
}

func (o *overlay) Space(dir string) (Space, error) { return o.base.Space(dir) }
