package partition

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// A deleted partition goes in two steps. At once its directory is renamed to <name>-<partition>.<topic id>-delete, so that
// a topic of the same name can be made again, and nobody finds the partition any more. The files follow after
// file.delete.delay.ms, for readers that are still at work on them. When nothing is left of a topic the catalog forgets it.

const (
	deleteSuffix = "-delete"
	nameMax      = 255 // of a file, on the file systems there are
)

// doomed is the directories that are to be removed.
type doomed struct {
	mu   sync.Mutex
	dirs []doomedDir
}

type doomedDir struct {
	path  string
	owner catalog.ID
	due   int64 // ms
}

func (d *doomed) add(dir doomedDir) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirs = append(d.dirs, dir)
}

// takeDue takes out the directories that are due.
func (d *doomed) takeDue(now int64) (due []doomedDir) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.dirs[:0]
	for _, dir := range d.dirs {
		if dir.due <= now {
			due = append(due, dir)
		} else {
			rest = append(rest, dir)
		}
	}
	d.dirs = rest
	return due
}

// has reports whether anything is left of a topic.
func (d *doomed) has(owner catalog.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range d.dirs {
		if dir.owner == owner {
			return true
		}
	}
	return false
}

// remove deletes the partitions of topics that nobody can find any more.
func (t *Table) remove(topics []*Topic) {
	for _, topic := range topics {
		due := later(t.now(), topic.Settings().FileDeleteDelayMs)
		gone := true
		for _, p := range topic.Partitions() {
			gone = t.removeOne(p, due) && gone
		}
		if gone { // else the next start finds what is left
			t.dead.add(topic.ID)
		}
	}
	t.syncDir()
	t.stale.Store(true)
	if err := t.dropStale(); err != nil { // makeAgain and the next new partition try again
		t.opts.Logger.Warn("deleted partitions cannot be taken out of the checkpoint files", "error", err)
	}
	t.poke()
}

// removeOne deletes a partition, and reports whether its directory is out of the way. First nobody may use it any more;
// then its directory gets out of the way of a new one of the name; then the log lets go of its files. What it would remove
// under the old name is not there any more.
func (t *Table) removeOne(p *Partition, due int64) bool {
	p.delete()
	t.cleaning.stop(p)
	err := t.doomAt(p.dir, p.topic.ID, due)
	renamed := err == nil || errors.Is(err, os.ErrNotExist)
	if !renamed {
		t.opts.Logger.Warn("a deleted partition is removed at once", "partition", p.name(), "reason", err)
	}
	if p.log == nil {
		return renamed
	}
	if err := p.log.Delete(); err != nil {
		t.opts.Logger.Error("a deleted partition cannot be removed", "partition", p.name(), "error", err)
		return renamed
	}
	return true
}

// dropStale takes deleted partitions out of the checkpoint files, which know names only: what they said must not be taken
// for a word on later partitions of the same names. So none is made before it has succeeded.
func (t *Table) dropStale() error {
	if !t.stale.Load() {
		return nil
	}
	for _, save := range []func() error{t.saveRecoveryPoints, t.SaveStarts, t.saveCleaned} {
		if err := save(); err != nil {
			return err
		}
	}
	t.stale.Store(false)
	return nil
}

// delete makes every access from now on find the partition gone, and answers who waits. Its log stays readable to those
// who have a slice of it.
func (p *Partition) delete() {
	var done chain
	p.mu.Lock()
	woken := p.setState(deleted, nil)
	for _, c := range []chain{p.parked, p.repeats} {
		for a := range c.each {
			a.Result = failure(deleted.code())
			done.add(a)
		}
	}
	p.parked, p.repeats, p.changing = chain{}, chain{}, false
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// doom renames a directory that is nobody's any more, to be removed soon.
func (t *Table) doom(dir string, owner catalog.ID) error { return t.doomAt(dir, owner, t.now()) }

func (t *Table) doomAt(dir string, owner catalog.ID, due int64) error {
	path := filepath.Join(t.opts.Dir, ownedName(filepath.Base(dir), owner, deleteSuffix))
	if err := t.opts.FS.Rename(dir, path); err != nil {
		return fmt.Errorf("renaming a directory that is to be removed: %w", err)
	}
	t.doomed.add(doomedDir{path: path, owner: owner, due: due})
	return nil
}

// ownedName is the name under which a directory waits for its removal, or for somebody who knows what it is.
func ownedName(name string, owner catalog.ID, suffix string) string {
	suffix = "." + hex.EncodeToString(owner[:]) + suffix
	return name[:min(len(name), nameMax-len(suffix))] + suffix
}

// parseDoomed reads the owner out of such a name, zero when it was written by somebody else.
func parseDoomed(name string) (owner catalog.ID, ok bool) {
	rest, ok := strings.CutSuffix(name, deleteSuffix)
	if !ok {
		return owner, false
	}
	dot := strings.LastIndexByte(rest, '.')
	id, err := hex.DecodeString(rest[dot+1:])
	if dot >= 0 && err == nil && len(id) == len(owner) {
		copy(owner[:], id)
	}
	return owner, dot >= 0
}

// dead is deleted topics that the catalog has not forgotten yet.
type dead struct {
	mu  sync.Mutex
	ids []catalog.ID
}

func (d *dead) add(id catalog.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = append(d.ids, id)
}

func (d *dead) has(id catalog.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.ids, id)
}

// takeGone takes out the topics of which nothing is left.
func (d *dead) takeGone(left func(catalog.ID) bool) (gone []catalog.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = slices.DeleteFunc(d.ids, func(id catalog.ID) bool {
		if left(id) {
			return false
		}
		gone = append(gone, id)
		return true
	})
	return gone
}

// bury removes the directories that are due and has the catalog forget topics of which nothing is left.
func (t *Table) bury(ctx context.Context) {
	for _, dir := range t.doomed.takeDue(t.now()) {
		if err := t.opts.FS.RemoveAll(dir.path); err != nil {
			t.opts.Logger.Error("a deleted directory cannot be removed", "directory", dir.path, "error", err)
			dir.due = t.now() + buryAgain.Milliseconds()
			t.doomed.add(dir)
		}
	}
	gone := t.dead.takeGone(t.doomed.has)
	if len(gone) == 0 {
		return
	}
	t.syncDir() // or a power cut could bring back directories that nobody knows any more
	err := t.opts.Forget(ctx, gone...)
	if err == nil {
		return
	}
	for _, id := range gone {
		t.dead.add(id)
	}
	if ctx.Err() == nil {
		t.opts.Logger.Warn("the catalog cannot forget deleted topics", "error", err)
	}
}

// sortOut goes through what is in the directory after a start: what waits for its removal, what a deleted topic has left,
// and what nobody knows, which is reported and left alone.
func (o *opener) sortOut(s *catalog.Snapshot) error {
	names, err := o.opts.FS.List(o.opts.Dir)
	if err != nil {
		return err
	}
	remains := leavings{}
	for _, topic := range s.Deleted() {
		remains.add(topic)
	}
	known := map[string]bool{}
	for p := range o.each {
		known[p.name()] = true
	}
	for _, name := range names {
		if !known[name] {
			if err := o.sortOutOne(name, remains); err != nil {
				return err
			}
		}
	}
	return nil
}

// leavings is the directories that deleted topics may have left.
type leavings map[string]catalog.ID

func (l leavings) add(t *catalog.Topic) {
	for i := range t.Partitions {
		l[dirName(t.Name, i)] = t.ID
	}
}

func (o *opener) sortOutOne(name string, remains leavings) error {
	path := filepath.Join(o.opts.Dir, name)
	if info, err := o.opts.FS.Stat(path); err != nil || !info.Dir {
		return nil // nobody needs it
	}
	owner, doomed := parseDoomed(name)
	if doomed && o.dead.has(owner) {
		o.doomed.add(doomedDir{path: path, owner: owner, due: o.now()})
		return nil
	}
	if !doomed {
		var err error
		if owner, err = readMetadata(o.opts.FS, path); err != nil {
			o.opts.Logger.Warn("a directory cannot be read and is left alone", "directory", path, "error", err)
			return nil
		}
		if owner == (catalog.ID{}) { // a crash came between its making and its deletion
			owner = remains[name]
		}
		if o.dead.has(owner) {
			return o.doom(path, owner)
		}
	}
	if doomed || strings.HasSuffix(name, straySuffix) || partitionLike(name) {
		o.opts.Logger.Warn("a directory belongs to no topic and is left alone", "directory", path)
	}
	return nil
}

// partitionLike reports whether a directory's name could be a partition's.
func partitionLike(name string) bool {
	dash := strings.LastIndexByte(name, '-')
	return dash > 0 && dash < len(name)-1 && strings.Trim(name[dash+1:], "0123456789") == ""
}
