package eossim

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// disk is what one broker writes to: memory that remembers what was not synced, whose write-ahead log takes time to sync. That
// time is what lets other requests come between the write of a record and its durability.
type disk struct {
	*vfs.Faults
	memory *vfs.Memory

	dice func(name string) *rand.Rand
	slow time.Duration // a sync takes up to this, now and then twenty times as long

	mu    sync.Mutex // guards files
	files map[string]*rand.Rand
}

func newDisk(memory *vfs.Memory, dice func(name string) *rand.Rand, slow time.Duration) *disk {
	d := &disk{memory: memory, dice: dice, slow: slow, files: map[string]*rand.Rand{}}
	d.Faults = vfs.NewFaults(slowFiles{memory, d})
	return d
}

// sync takes the time of a sync of a file. Nobody waits for a mutex while the log is synced, so that time can pass. Each file has
// its own dice, since files that are prepared are synced beside the one that is written.
func (d *disk) sync(name string) {
	d.mu.Lock()
	dice := d.files[name]
	if dice == nil {
		dice = d.dice(name)
		d.files[name] = dice
	}
	took := time.Duration(1 + dice.Int64N(int64(d.slow)))
	if dice.IntN(40) == 0 {
		took *= 20
	}
	d.mu.Unlock()
	time.Sleep(took)
}

// crash is what is left of the disk: what a new process finds, or what a power cut leaves.
func (d *disk) crash(power bool, seed uint64) *vfs.Memory {
	switch {
	case !power:
		return d.memory.KillClone()
	case seed%4 == 0:
		return d.memory.CrashCloneTorn(seed)
	default:
		return d.memory.CrashClone(seed)
	}
}

type slowFiles struct {
	vfs.FS
	disk *disk
}

func (s slowFiles) opened(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || filepath.Ext(name) != ".wal" {
		return f, err
	}
	return slowFile{f, name, s.disk}, nil
}

func (s slowFiles) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return s.opened(name, f, err)
}

func (s slowFiles) OpenFile(name string) (vfs.File, error) {
	f, err := s.FS.OpenFile(name)
	return s.opened(name, f, err)
}

type slowFile struct {
	vfs.File
	name string
	disk *disk
}

func (f slowFile) Sync() error {
	f.disk.sync(f.name)
	return f.File.Sync()
}
