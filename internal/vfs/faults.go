package vfs

import (
	"io"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// Op is a kind of call, or several joined with |.
type Op uint16

const (
	OpOpen     Op = 1 << iota // Open
	OpCreate                  // Create and OpenFile
	OpRead                    // File.ReadAt
	OpWrite                   // File.WriteAt
	OpTruncate                // File.Truncate
	OpSync                    // File.Sync
	OpRemove                  // Remove and RemoveAll
	OpRename                  // Rename; the name is the old one
	OpMkdir                   // MkdirAll
	OpSyncDir                 // SyncDir
	OpList                    // List and Stat
	OpLock                    // Lock
)

// OpMutate is every call after which a crash may find something else than before it.
const OpMutate = OpCreate | OpWrite | OpTruncate | OpSync | OpRemove | OpRename | OpMkdir | OpSyncDir

// Rule makes calls fail, or wait.
type Rule struct {
	Op    Op
	Name  string // pattern of path.Match for the base name or the whole path; empty: any
	Skip  int    // so many matching calls still succeed
	Times int    // so many then fail; 0: all
	Err   error  // what they return, such as syscall.ENOSPC
	// Until lets them wait before, until it is closed; without an Err they go on then as if there was no rule.
	Until <-chan struct{}
	// Short is how many bytes a failing write still writes, or -1 to write them all.
	Short int
}

// Faults wraps a file system and fails calls by rules. It also counts mutating calls and tells a hook before each, so
// that a test can stop the world at every one. Without rules it behaves as what it wraps.
type Faults struct {
	fs    FS
	hook  atomic.Pointer[func(n int, op Op, name string)]
	space atomic.Pointer[Space]
	count atomic.Int64

	mu    sync.Mutex // guards rules and their counters
	rules []*rule
}

type rule struct {
	Rule
	seen int
}

// NewFaults wraps fs.
func NewFaults(fs FS) *Faults { return &Faults{fs: fs} }

// Fail adds a rule and returns what takes it away again. Of several rules that match a call, the oldest decides.
func (f *Faults) Fail(r Rule) (remove func()) {
	added := &rule{Rule: r}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, added)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rules = slices.DeleteFunc(f.rules, func(r *rule) bool { return r == added })
	}
}

// BeforeMutation sets a hook that is called before each call of OpMutate with the number of that call, from 1. Calls that
// run at once call it at once. Calls on the file system that is wrapped are allowed in it.
func (f *Faults) BeforeMutation(hook func(n int, op Op, name string)) { f.hook.Store(&hook) }

// Mutations is how many mutating calls there have been.
func (f *Faults) Mutations() int { return int(f.count.Load()) }

// FakeSpace makes Space return s; nil ends that.
func (f *Faults) FakeSpace(s *Space) { f.space.Store(s) }

// before counts the call, waits if a rule says so, and returns the rule that makes it fail, if any.
func (f *Faults) before(op Op, name string) *Rule {
	if op&OpMutate != 0 {
		n := f.count.Add(1)
		if hook := f.hook.Load(); hook != nil {
			(*hook)(int(n), op, name)
		}
	}
	r := f.match(op, name)
	if r == nil || r.Until == nil {
		return r
	}
	<-r.Until
	if r.Err == nil {
		return nil
	}
	return r
}

func (f *Faults) match(op Op, name string) *Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.Op&op != 0 && matches(r.Name, name) && r.due() {
			failing := r.Rule
			return &failing
		}
	}
	return nil
}

func (r *rule) due() bool {
	r.seen++
	return r.seen > r.Skip && (r.Times == 0 || r.seen <= r.Skip+r.Times)
}

func matches(pattern, name string) bool {
	name = filepath.ToSlash(name)
	for _, candidate := range []string{path.Base(name), name} {
		if ok, _ := path.Match(pattern, candidate); ok {
			return true
		}
	}
	return pattern == ""
}

// try returns the error that a rule has for the call.
func (f *Faults) try(op Op, verb, name string) error {
	if r := f.before(op, name); r != nil {
		return pathError(verb, name, r.Err)
	}
	return nil
}

func (f *Faults) opened(op Op, verb, name string, open func(string) (File, error)) (File, error) {
	if err := f.try(op, verb, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, faults: f, name: name}, nil
}

func (f *Faults) Create(name string) (File, error) {
	return f.opened(OpCreate, "create", name, f.fs.Create)
}
func (f *Faults) Open(name string) (File, error) { return f.opened(OpOpen, "open", name, f.fs.Open) }
func (f *Faults) OpenFile(name string) (File, error) {
	return f.opened(OpCreate, "open", name, f.fs.OpenFile)
}

func (f *Faults) Remove(name string) error {
	if err := f.try(OpRemove, "remove", name); err != nil {
		return err
	}
	return f.fs.Remove(name)
}

func (f *Faults) RemoveAll(name string) error {
	if err := f.try(OpRemove, "removeall", name); err != nil {
		return err
	}
	return f.fs.RemoveAll(name)
}

func (f *Faults) Rename(oldName, newName string) error {
	if err := f.try(OpRename, "rename", oldName); err != nil {
		return err
	}
	return f.fs.Rename(oldName, newName)
}

func (f *Faults) MkdirAll(dir string) error {
	if err := f.try(OpMkdir, "mkdir", dir); err != nil {
		return err
	}
	return f.fs.MkdirAll(dir)
}

func (f *Faults) SyncDir(dir string) error {
	if err := f.try(OpSyncDir, "syncdir", dir); err != nil {
		return err
	}
	return f.fs.SyncDir(dir)
}

func (f *Faults) List(dir string) ([]string, error) {
	if err := f.try(OpList, "list", dir); err != nil {
		return nil, err
	}
	return f.fs.List(dir)
}

func (f *Faults) Stat(name string) (Info, error) {
	if err := f.try(OpList, "stat", name); err != nil {
		return Info{}, err
	}
	return f.fs.Stat(name)
}

func (f *Faults) Lock(name string) (io.Closer, error) {
	if err := f.try(OpLock, "lock", name); err != nil {
		return nil, err
	}
	return f.fs.Lock(name)
}

func (f *Faults) Space(dir string) (Space, error) {
	if s := f.space.Load(); s != nil {
		return *s, nil
	}
	return f.fs.Space(dir)
}

type faultyFile struct {
	File
	faults *Faults
	name   string
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.faults.try(OpRead, "read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	r := f.faults.before(OpWrite, f.name)
	if r == nil {
		return f.File.WriteAt(b, off)
	}
	n := len(b)
	if r.Short >= 0 {
		n = min(n, r.Short)
	}
	if n, err := f.File.WriteAt(b[:n], off); err != nil {
		return n, err
	}
	return n, pathError("write", f.name, r.Err)
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.faults.try(OpTruncate, "truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.faults.try(OpSync, "sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}
