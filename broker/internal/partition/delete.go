package partition

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
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
		due := t.now() + topic.Settings().FileDeleteDelayMs
		for _, p := range topic.Partitions() {
			t.removeOne(p, due)
		}
		t.dead.add(topic.ID)
	}
	t.syncDir()
	t.saveAfterRemoval()
	t.poke()
}

// removeOne deletes a partition. First nobody may use it any more; then its directory gets out of the way of a new one of
// the name; then the log lets go of its files. What it would remove under the old name is not there any more.
func (t *Table) removeOne(p *Partition, due int64) {
	p.delete()
	t.cleaning.stop(p)
	if err := t.doomAt(p.dir, p.topic.ID, due); err != nil {
		t.opts.Logger.Warn("a deleted partition is removed at once", "partition", p.name(), "reason", err)
	}
	if p.log == nil {
		return
	}
	if err := p.log.Delete(); err != nil {
		t.opts.Logger.Error("a deleted partition cannot be removed", "partition", p.name(), "error", err)
	}
}

// saveAfterRemoval takes the deleted partitions out of the checkpoint files, which know names only: what they said must not
// be taken for a word on later partitions of the same names.
func (t *Table) saveAfterRemoval() {
	for _, save := range []func() error{t.saveRecoveryPoints, t.SaveStarts, t.saveCleaned} {
		if err := save(); err != nil {
			t.fail("taking deleted partitions out of the checkpoint files", err)
		}
	}
}

// delete makes every access from now on find the partition gone, and answers who waits. Its log stays readable to those
// who have a slice of it.
func (p *Partition) delete() {
	var done chain
	p.mu.Lock()
	woken := p.setState(deleted, nil)
	for _, c := range []chain{p.parked, p.repeats} {
		for a := c.first; a != nil; {
			next := a.next
			a.Result = failure(deleted.code())
			done.add(a)
			a = next
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
	path := filepath.Join(t.opts.Dir, doomedName(filepath.Base(dir), owner))
	if err := t.opts.FS.Rename(dir, path); err != nil {
		return fmt.Errorf("renaming a directory that is to be removed: %w", err)
	}
	t.doomed.add(doomedDir{path: path, owner: owner, due: due})
	return nil
}

// doomedName is the name under which a directory waits for its removal.
func doomedName(name string, owner catalog.ID) string {
	suffix := "." + hex.EncodeToString(owner[:]) + deleteSuffix
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
	if dot < 0 || err != nil || len(id) != len(owner) {
		return owner, dot >= 0
	}
	copy(owner[:], id)
	return owner, true
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

// takeGone takes out the topics of which nothing is left.
func (d *dead) takeGone(left func(catalog.ID) bool) (gone []catalog.ID) {
	d.mu.Lock()
	ids := d.ids
	d.ids = nil
	d.mu.Unlock()
	for _, id := range ids {
		if left(id) {
			d.add(id)
		} else {
			gone = append(gone, id)
		}
	}
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
	if err := t.opts.Forget(ctx, gone...); err != nil && ctx.Err() == nil {
		t.opts.Logger.Error("the catalog cannot forget deleted topics", "error", err)
	}
}

// sortOut goes through what is in the directory after a start: what waits for its removal, what a deleted topic has left,
// and what nobody knows, which is reported and left alone.
func (o *opener) sortOut(s *catalog.Snapshot) error {
	names, err := o.opts.FS.List(o.opts.Dir)
	if err != nil {
		return err
	}
	remains := leavings{ids: map[catalog.ID]bool{}, names: map[string]catalog.ID{}}
	for _, topic := range s.Deleted() {
		remains.add(topic)
		o.dead.add(topic.ID)
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

// leavings is what deleted topics may have left.
type leavings struct {
	ids   map[catalog.ID]bool
	names map[string]catalog.ID // of directories
}

func (l leavings) add(t *catalog.Topic) {
	l.ids[t.ID] = true
	for i := range t.Partitions {
		l.names[dirName(t.Name, i)] = t.ID
	}
}

func (o *opener) sortOutOne(name string, remains leavings) error {
	path := filepath.Join(o.opts.Dir, name)
	if info, err := o.opts.FS.Stat(path); err != nil || !info.Dir {
		return err
	}
	if owner, ok := parseDoomed(name); ok {
		o.doomed.add(doomedDir{path: path, owner: owner, due: o.now()})
		return nil
	}
	owner, _, err := readMetadata(o.opts.FS, path)
	if err != nil {
		return err
	}
	if owner == (catalog.ID{}) { // a crash came between its making and its deletion
		owner = remains.names[name]
	}
	if remains.ids[owner] {
		return o.doom(path, owner)
	}
	if partitionLike(name) {
		o.opts.Logger.Warn("a directory belongs to no topic and is left alone", "directory", path)
	}
	return nil
}

// partitionLike reports whether a directory's name could be a partition's.
func partitionLike(name string) bool {
	dash := strings.LastIndexByte(name, '-')
	return dash > 0 && dash < len(name)-1 && strings.Trim(name[dash+1:], "0123456789") == ""
}
