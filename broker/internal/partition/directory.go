package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// claim makes the directory of a partition the topic's own. cleared says that a deleted topic's stood in its place, so that
// what the checkpoint files say under the name is not about this one. Only what deleted topics have left is ever removed;
// any other directory is put aside.
func (t *Table) claim(dir string, id catalog.ID) (cleared bool, err error) {
	owner, err := readMetadata(t.opts.FS, dir)
	if err != nil || owner == id {
		return false, err
	}
	switch {
	case owner == catalog.ID{}:
	case t.dead.has(owner):
		cleared, err = true, t.doom(dir, owner)
	case garbled(owner, id):
		t.opts.Logger.Warn("the topic id in a directory is damaged, and was written again", "directory", dir, "found", owner, "topic", id)
	default:
		err = t.putAside(dir, owner)
	}
	if err != nil {
		return false, err
	}
	if err := t.opts.FS.MkdirAll(dir); err != nil {
		return false, err
	}
	return cleared, writeMetadata(t.opts.FS, dir, id)
}

// garbled reports whether a topic id that was read is another one with damage: ids are random, so that no two of them have
// half of their bytes in common.
func garbled(read, id catalog.ID) bool {
	differ := 0
	for i := range id {
		if read[i] != id[i] {
			differ++
		}
	}
	return differ > 0 && differ <= garbledMax
}

const garbledMax = len(catalog.ID{}) / 2

// straySuffix marks directories that stood where a partition's belongs, and are nobody's that the catalog knows.
const straySuffix = "-stray"

// putAside renames a directory that belongs to a topic unknown to the catalog. People decide what becomes of it.
func (t *Table) putAside(dir string, owner catalog.ID) error {
	path := filepath.Join(t.opts.Dir, ownedName(filepath.Base(dir), owner, straySuffix))
	if err := t.opts.FS.Rename(dir, path); err != nil {
		return fmt.Errorf("putting aside a directory of topic %s, which the catalog does not know: %w", owner, err)
	}
	t.opts.Logger.Warn("a directory belongs to a topic that the catalog does not know, and was put aside", "directory", path, "topic", owner)
	return nil
}

// make claims the directory of a partition that is new and opens its log there.
func (t *Table) make(p *Partition) error {
	if err := t.dropStale(); err != nil {
		return err
	}
	if _, err := t.claim(p.dir, p.topic.ID); err != nil {
		return err
	}
	log, _, err := storage.Open(context.Background(), t.files, p.dir, storageOf(p.topic.Settings()), storage.Recovery{})
	p.log = log
	return err
}

// create makes a new partition. One that cannot be made, on a full disk for instance, is offline until makeAgain succeeds.
func (t *Table) create(topic *Topic, index int32) *Partition {
	p := t.newPartition(topic, index)
	if err := t.make(p); err != nil {
		p.unmade.Store(true)
		return t.offline(p, err)
	}
	p.online()
	return p
}

// makeAgain makes the partitions that could not be made when their topics were.
func (t *Table) makeAgain(context.Context) error {
	t.changing <- struct{}{}
	defer func() { <-t.changing }()
	made := false
	for p := range t.each {
		if !p.unmade.Load() || p.Deleted() {
			continue
		}
		if err := t.make(p); err != nil {
			t.opts.Logger.Debug("a partition cannot be made", "partition", p.name(), "error", err)
			continue
		}
		made = true
		p.unmade.Store(false)
		t.opts.Logger.Info("a partition is online", "partition", p.name())
		defer p.online() // once its name is durable
	}
	if made {
		t.syncDir()
	}
	return nil
}

func (t *Table) syncDir() {
	if err := t.opts.FS.SyncDir(t.opts.Dir); err != nil {
		t.fail("syncing "+t.opts.Dir, err)
	}
}

// partition.metadata names the topic that a directory belongs to, as Kafka has it.
const metadataHead = "version: 0\ntopic_id: "

// writeMetadata does not wait for the disk: a name without a whole file is what a crash leaves of a partition that was
// just made, and claim makes it again.
func writeMetadata(fs vfs.FS, dir string, id catalog.ID) error {
	f, err := fs.Create(filepath.Join(dir, metadataFile))
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(metadataHead+id.String()+"\n"), 0)
	return errors.Join(err, f.Close())
}

// readMetadata returns the owner of a directory, zero when it has none.
func readMetadata(fs vfs.FS, dir string) (id catalog.ID, err error) {
	b, err := vfs.ReadFile(fs, filepath.Join(dir, metadataFile))
	if errors.Is(err, os.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	if text, ok := strings.CutPrefix(string(b), metadataHead); ok && id.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
		id = catalog.ID{}
	}
	return id, nil
}

// ownerOf is readMetadata for who knows the topics: a damaged id is what it was, and one that is missing, since a crash took
// it, is that of the topic of the name. The next start writes both again.
func ownerOf(fs vfs.FS, dir, topic string, known *catalog.Snapshot) (catalog.ID, error) {
	id, err := readMetadata(fs, dir)
	if err != nil || known == nil {
		return id, err
	}
	if t := known.Topic(topic); t != nil && (id == catalog.ID{} || garbled(id, t.ID)) {
		return t.ID, nil
	}
	return id, nil
}
