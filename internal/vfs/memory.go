package vfs

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is a file system in memory that knows what a power cut would take from it. It may be used by any number of
// goroutines. Like package os it wants a directory to exist before a file in it is made.
type Memory struct {
	mu      sync.RWMutex // guards the whole tree, contents included, so that a clone is one instant of it
	root    *node
	pending []entryChange // changes of directories that no SyncDir has made durable, oldest first
	locks   map[*node]bool
}

// node is a file or a directory. Its name is in the directory that holds it.
type node struct {
	// A directory has both maps, a file neither.
	entries map[string]*node // as running programs see it
	durable map[string]*node // as it surely is after a power cut

	content // of a file
}

// entryChange is one creation, rename or removal. It happens in a crash image as a whole or not at all.
type entryChange struct {
	from, to place // to has no directory for a removal, from has none for a creation
	node     *node
}

type place struct {
	dir  *node
	name string
}

// NewMemory returns an empty file system with a root directory, which is both "/" and ".".
func NewMemory() *Memory {
	return &Memory{root: newDir(), locks: map[*node]bool{}}
}

func newDir() *node {
	return &node{entries: map[string]*node{}, durable: map[string]*node{}}
}

func (n *node) isDir() bool { return n.entries != nil }

func pathError(op, name string, err error) error {
	return &os.PathError{Op: op, Path: name, Err: err}
}

// split returns the elements of a name below the root.
func split(name string) []string {
	clean := path.Clean("/" + filepath.ToSlash(name))
	if clean == "/" {
		return nil
	}
	return strings.Split(clean[1:], "/")
}

// lookup finds a name. The caller holds m.mu.
func (m *Memory) lookup(op, name string) (*node, error) {
	n := m.root
	for _, element := range split(name) {
		if !n.isDir() {
			return nil, pathError(op, name, syscall.ENOTDIR)
		}
		if n = n.entries[element]; n == nil {
			return nil, pathError(op, name, os.ErrNotExist)
		}
	}
	return n, nil
}

// parent finds the directory that holds, or may come to hold, a name. The caller holds m.mu.
func (m *Memory) parent(op, name string) (place, error) {
	elements := split(name)
	if len(elements) == 0 {
		return place{}, pathError(op, name, syscall.EINVAL)
	}
	last := len(elements) - 1
	dir, err := m.lookup(op, strings.Join(elements[:last], "/"))
	if err != nil {
		return place{}, pathError(op, name, os.ErrNotExist)
	}
	if !dir.isDir() {
		return place{}, pathError(op, name, syscall.ENOTDIR)
	}
	return place{dir, elements[last]}, nil
}

// change applies a change of entries to the tree that programs see and remembers it as not yet durable.
func (m *Memory) change(c entryChange) {
	if c.from.dir != nil {
		delete(c.from.dir.entries, c.from.name)
	}
	if c.to.dir != nil {
		c.to.dir.entries[c.to.name] = c.node
	}
	m.pending = append(m.pending, c)
}

// open finds a file, and makes it when create says so and it is missing.
func (m *Memory) open(op, name string, create bool) (*node, error) {
	at, err := m.parent(op, name)
	if err != nil {
		return nil, err
	}
	n := at.dir.entries[at.name]
	if n == nil && create {
		n = &node{content: newContent(time.Now())}
		m.change(entryChange{to: at, node: n})
	}
	if n == nil {
		return nil, pathError(op, name, os.ErrNotExist)
	}
	if n.isDir() {
		return nil, pathError(op, name, syscall.EISDIR)
	}
	return n, nil
}

func (m *Memory) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.open("create", name, true)
	if err != nil {
		return nil, err
	}
	n.resize(0, time.Now())
	return &memoryFile{m: m, node: n, name: name, writable: true}, nil
}

func (m *Memory) Open(name string) (File, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.open("open", name, false)
	if err != nil {
		return nil, err
	}
	return &memoryFile{m: m, node: n, name: name}, nil
}

func (m *Memory) OpenFile(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.open("open", name, true)
	if err != nil {
		return nil, err
	}
	return &memoryFile{m: m, node: n, name: name, writable: true}, nil
}

func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.parent("remove", name)
	if err != nil {
		return err
	}
	n := at.dir.entries[at.name]
	if n == nil {
		return pathError("remove", name, os.ErrNotExist)
	}
	if len(n.entries) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.change(entryChange{from: at, node: n})
	return nil
}

func (m *Memory) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.parent("removeall", name)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if at.dir.entries[at.name] != nil {
		m.removeTree(at)
	}
	return nil
}

// removeTree removes bottom up, one change an entry, since a crash in the middle leaves any part of it.
func (m *Memory) removeTree(at place) {
	n := at.dir.entries[at.name]
	for _, name := range sortedKeys(n.entries) {
		m.removeTree(place{n, name})
	}
	m.change(entryChange{from: at, node: n})
}

func (m *Memory) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, err := m.parent("rename", oldName)
	if err != nil {
		return err
	}
	to, err := m.parent("rename", newName)
	if err != nil {
		return err
	}
	n := from.dir.entries[from.name]
	if n == nil {
		return pathError("rename", oldName, os.ErrNotExist)
	}
	if strings.HasPrefix(path.Join(split(newName)...), path.Join(split(oldName)...)+"/") {
		return pathError("rename", newName, syscall.EINVAL)
	}
	if err := mayReplace(n, to); err != nil {
		return pathError("rename", newName, err)
	}
	if from != to {
		m.change(entryChange{from: from, to: to, node: n})
	}
	return nil
}

func mayReplace(n *node, to place) error {
	there := to.dir.entries[to.name]
	switch {
	case there == nil || there == n:
		return nil
	case there.isDir() && !n.isDir():
		return syscall.EISDIR
	case !there.isDir() && n.isDir():
		return syscall.ENOTDIR
	case len(there.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return nil
}

func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, element := range split(dir) {
		if !n.isDir() {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		child := n.entries[element]
		if child == nil {
			child = newDir()
			m.change(entryChange{to: place{n, element}, node: child})
		}
		n = child
	}
	if !n.isDir() {
		return pathError("mkdir", dir, syscall.ENOTDIR)
	}
	return nil
}

func (m *Memory) directory(op, name string) (*node, error) {
	n, err := m.lookup(op, name)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, pathError(op, name, syscall.ENOTDIR)
	}
	return n, nil
}

func (m *Memory) List(dir string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.directory("list", dir)
	if err != nil {
		return nil, err
	}
	return sortedKeys(n.entries), nil
}

func (m *Memory) Stat(name string) (Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.lookup("stat", name)
	if err != nil {
		return Info{}, err
	}
	return Info{Size: n.size, Dir: n.isDir(), ModTime: n.modTime}, nil
}

func (m *Memory) Space(dir string) (Space, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, err := m.directory("space", dir); err != nil {
		return Space{}, err
	}
	const plenty = 1 << 40
	return Space{Total: plenty, Free: plenty}, nil
}

func sortedKeys(m map[string]*node) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
