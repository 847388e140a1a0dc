package partition

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// claim makes the directory of a partition the topic's own. ours says that it was before, or nobody's. One that another
// topic of the name has left goes.
func (t *Table) claim(dir string, id catalog.ID) (ours bool, err error) {
	owner, exists, err := readMetadata(t.opts.FS, dir)
	if err != nil || owner == id {
		return owner == id, err
	}
	if owner != (catalog.ID{}) {
		if err := t.doom(dir, owner); err != nil {
			return false, err
		}
		exists = false
	}
	if err := t.opts.FS.MkdirAll(dir); err != nil {
		return false, err
	}
	return exists, writeMetadata(t.opts.FS, dir, id)
}

// create makes a new partition.
func (t *Table) create(topic *Topic, index int32) *Partition {
	dir := filepath.Join(t.opts.Dir, dirName(topic.Name, index))
	if _, err := t.claim(dir, topic.ID); err != nil {
		return t.offline(topic, index, dir, err)
	}
	log, _, err := storage.Open(context.Background(), t.files, dir, storageOf(topic.Settings()), storage.Recovery{})
	if err != nil {
		return t.offline(topic, index, dir, err)
	}
	return newPartition(t, topic, index, dir, log, nil)
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

// readMetadata returns the owner of a directory, zero when it has none, and whether there is a directory.
func readMetadata(fs vfs.FS, dir string) (id catalog.ID, exists bool, err error) {
	b, err := vfs.ReadFile(fs, filepath.Join(dir, metadataFile))
	if errors.Is(err, os.ErrNotExist) {
		_, err := fs.Stat(dir)
		return id, err == nil, nil
	}
	if err != nil {
		return id, true, err
	}
	if text, ok := strings.CutPrefix(string(b), metadataHead); ok && id.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
		id = catalog.ID{}
	}
	return id, true, nil
}
