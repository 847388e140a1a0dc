package partition

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// Unknown is a topic whose directories are there though the catalog does not know it, or not so many partitions of it.
type Unknown struct {
	ID         catalog.ID
	Name       string
	Partitions int32 // up to the last one that has a directory
	Known      bool  // the catalog has it, with fewer partitions
	Taken      bool  // the catalog has another topic of the name, or more directories belong to another one
	MadeMs     int64 // when one of the directories was changed last, at least

	directories int
}

// FindUnknown looks for such topics among the directories in dir, and for the largest leader epoch that any log is known to
// have, -1 for none. Directories of deleted topics are passed over. Those that do not tell whose they are, since damage left
// no id, belong to the topic that is found under their name, if one is.
func FindUnknown(fs vfs.FS, dir string, s *catalog.Snapshot) (all []Unknown, epoch int32, err error) {
	found := map[catalog.ID]Unknown{}
	nameless := map[string]int32{} // partitions up to the last directory without an id, by topic name
	epoch = -1
	names, err := fs.List(dir)
	for _, name := range names {
		match := partitionName.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		path := filepath.Join(dir, name)
		id, readErr := readMetadata(fs, path)
		if t := s.Topic(match[1]); t != nil && garbled(id, t.ID) {
			id = t.ID
		}
		if readErr != nil { // somebody else reports it
			continue
		}
		if e, err := storage.LastEpoch(fs, path); err == nil {
			epoch = max(epoch, e)
		}
		index, tooLarge := strconv.ParseInt(match[2], 10, 32)
		if tooLarge != nil {
			continue
		}
		if id == (catalog.ID{}) {
			nameless[match[1]] = max(nameless[match[1]], int32(index)+1)
			continue
		}
		if !unknown(s, id, match[1], int32(index)) {
			continue
		}
		u := found[id]
		u.ID, u.Name, u.Partitions = id, match[1], max(u.Partitions, int32(index)+1)
		u.directories++
		u.Known = s.TopicByID(id) != nil
		u.Taken = !u.Known && s.Topic(u.Name) != nil
		if info, err := fs.Stat(path); err == nil {
			u.MadeMs = info.ModTime
		}
		found[id] = u
	}
	for _, u := range found {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b Unknown) int { return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.ID[:], b.ID[:])) })
	all = oneOfAName(all)
	for i, u := range all {
		if !u.Known && !u.Taken {
			all[i].Partitions = max(u.Partitions, nameless[u.Name])
		}
	}
	if err != nil {
		err = fmt.Errorf("looking for topics in %s: %w", dir, err)
	}
	return all, epoch, err
}

// oneOfAName leaves one topic of each name that is not taken: that with the most directories. Where the id of another is the
// same one with damage, its directories belong to the topic too.
func oneOfAName(all []Unknown) (kept []Unknown) {
	slices.SortStableFunc(all, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.directories, a.directories))
	})
	best := -1 // in kept
	for _, u := range all {
		switch {
		case u.Known || u.Taken:
		case best < 0 || kept[best].Name != u.Name:
			best = len(kept)
		case garbled(u.ID, kept[best].ID):
			kept[best].Partitions = max(kept[best].Partitions, u.Partitions)
			continue
		default:
			u.Taken = true
		}
		kept = append(kept, u)
	}
	return kept
}

// unknown reports whether the catalog lacks a partition.
func unknown(s *catalog.Snapshot, id catalog.ID, name string, index int32) bool {
	if slices.ContainsFunc(s.Deleted(), func(t *catalog.Topic) bool { return t.ID == id }) {
		return false
	}
	t := s.TopicByID(id)
	return t == nil || t.Name == name && index >= t.Partitions
}
