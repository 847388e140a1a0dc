package storage

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// listing is what a log's directory holds.
type listing struct {
	segments  []int64            // base offsets, ascending
	files     map[parsedKey]bool // of segments, in no state
	snapshots []int64            // ascending
	epochs    bool               // there is a leader epoch checkpoint
	leftovers []string           // files that mean nothing any more
	cleaned   []parsed
	swaps     []parsed
}

type parsedKey struct {
	base int64
	kind string
}

func list(fs vfs.FS, dir string) (listing, error) {
	names, err := fs.List(dir)
	if err != nil {
		return listing{}, err
	}
	found := listing{files: map[parsedKey]bool{}}
	for _, name := range names {
		found.add(name)
	}
	slices.Sort(found.segments)
	slices.Sort(found.snapshots)
	for key := range found.files {
		if _, there := slices.BinarySearch(found.segments, key.base); !there {
			found.leftovers = append(found.leftovers, filepath.Base(fileName("", key.base, key.kind)))
		}
	}
	return found, nil
}

func (found *listing) add(name string) {
	p, ok := parseName(name)
	switch {
	case name == epochsName:
		found.epochs = true
	case strings.HasSuffix(name, tmpSuffix):
		found.leftovers = append(found.leftovers, name)
	case !ok: // a file of somebody else
	case p.state == deletedSuffix:
		found.leftovers = append(found.leftovers, name)
	case p.state == cleanedSuffix:
		found.cleaned = append(found.cleaned, p)
	case p.state == swapSuffix:
		found.swaps = append(found.swaps, p)
	case p.kind == snapshotSuffix:
		found.snapshots = append(found.snapshots, p.base)
	default:
		found.files[parsedKey{p.base, p.kind}] = true
		if p.kind == logSuffix {
			found.segments = append(found.segments, p.base)
		}
	}
}

// tidy lists the directory of a log, removes what a crash has left over and
// finishes or takes back replacements of segments that were under way, in Kafka's
// way: files still being cleaned go; a complete .swap takes the place of the
// segments it covers. It returns how many segments took their place.
func tidy(fs vfs.FS, dir string) (found listing, swapped int, err error) {
	if found, err = list(fs, dir); err != nil {
		return found, 0, err
	}
	if len(found.leftovers)+len(found.cleaned)+len(found.swaps) == 0 {
		return found, 0, nil
	}
	swaps := found.takeBack()
	for _, name := range found.leftovers {
		if err := removeFile(fs, filepath.Join(dir, name)); err != nil {
			return found, 0, err
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		return found, 0, err
	}
	if len(swaps) > 0 {
		if swapped, err = finishSwaps(fs, dir, found, swaps); err != nil {
			return found, 0, fmt.Errorf("finishing the replacement of segments: %w", err)
		}
	}
	found, err = list(fs, dir)
	return found, swapped, err
}

// takeBack adds to the leftovers what must not be finished: everything .cleaned,
// and the swaps from the first of those on, which are part of one replacement by
// several segments that was not complete. It returns the other swaps.
func (found *listing) takeBack() []parsed {
	first := int64(math.MaxInt64)
	for _, p := range found.cleaned {
		first = min(first, p.base)
		found.leftovers = append(found.leftovers, p.name)
	}
	var whole []parsed
	for _, p := range found.swaps {
		if p.base >= first {
			found.leftovers = append(found.leftovers, p.name)
		} else {
			whole = append(whole, p)
		}
	}
	return whole
}

// finishSwaps removes the segments that the swaps cover and gives the swaps their
// names. The old ones go first, durably: else a crash could bring them back beside
// what replaced them.
func finishSwaps(fs vfs.FS, dir string, found listing, swaps []parsed) (int, error) {
	from, to, n := int64(math.MaxInt64), int64(0), 0
	for _, p := range swaps {
		if p.kind != logSuffix {
			continue
		}
		end, err := endOfFile(fs, filepath.Join(dir, p.name), p.base)
		if err != nil {
			return 0, err
		}
		from, to, n = min(from, p.base), max(to, end), n+1
	}
	for key := range found.files {
		if n > 0 && key.base >= from && key.base < max(to, from+1) {
			if err := removeFile(fs, fileName(dir, key.base, key.kind)); err != nil {
				return 0, err
			}
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		return 0, err
	}
	for _, p := range swaps {
		name := filepath.Join(dir, p.name)
		if err := fs.Rename(name, strings.TrimSuffix(name, swapSuffix)); err != nil {
			return 0, err
		}
	}
	return n, fs.SyncDir(dir)
}

// endOfFile is the offset behind the last batch of a segment file that is whole.
func endOfFile(fs vfs.FS, name string, base int64) (int64, error) {
	f, err := fs.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	scan := NewFiles(fs, 1).scanner(f, size)
	end := base
	for pos := int64(0); pos < size; {
		h, err := scan.header(pos)
		if err != nil {
			return 0, fmt.Errorf("%s at byte %d: %w", name, pos, err)
		}
		pos, end = pos+int64(h.Size()), h.LastOffset()+1
	}
	return end, nil
}

// exists reports whether a directory is there.
func exists(fs vfs.FS, dir string) (bool, error) {
	_, err := fs.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
