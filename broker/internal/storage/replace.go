package storage

import (
	"fmt"
	"os"
	"slices"
)

// replace puts a cleaned segment in the place of neighbours that it was made of.
// fresh is complete, durable and closed, under .cleaned names. A crash at any
// moment leaves all of the old segments or the new one (see tidy):
//
//  1. everything that the old ones held is made durable and noted as such, since
//     the new one has gaps, which recovery accepts only below the recovery point;
//  2. .cleaned becomes .swap: from here on the replacement is finished by Open;
//  3. the old files go, the oldest first, so that none comes back without those
//     behind it; readers have the new segment already, through open files;
//  4. .swap becomes the segment's name.
//
// The error wraps os.ErrNotExist when one of the old segments has left the log.
func (l *Log) replace(old []*segment, fresh *segment) error {
	l.upkeep.take()
	defer l.upkeep.give()
	if l.closed.Load() {
		return ErrClosed
	}
	if at := l.place(old); at < 0 {
		return fmt.Errorf("segment %d has left the log: %w", old[0].base, os.ErrNotExist)
	}
	if err := l.secure(old); err != nil {
		return err
	}
	if err := l.rename(fresh.base, cleanedSuffix, swapSuffix); err != nil {
		return err
	}
	live, pins, err := l.stand(fresh)
	if err != nil {
		return err
	}
	l.exchange(old, live)
	l.let(old)
	for _, s := range old {
		if err := l.discard(s.base, 0, s.base != fresh.base); err != nil {
			return err
		}
		if err := syncDir(l.fs, l.dir); err != nil {
			return err
		}
	}
	if err := l.rename(fresh.base, swapSuffix, ""); err != nil {
		return err
	}
	for _, h := range pins {
		h.source.unpin(h)
	}
	return nil
}

// place is the index of old in the list of segments, -1 when not all of it is
// there as it was.
func (l *Log) place(old []*segment) int {
	list := *l.segments.Load()
	at := slices.Index(list, old[0])
	if at < 0 || at+len(old) >= len(list) || !slices.Equal(list[at:at+len(old)], old) {
		return -1
	}
	return at
}

// secure makes the old segments durable and notes it, since the caller may have
// persisted an older recovery point.
func (l *Log) secure(old []*segment) error {
	l.syncing.take()
	defer l.syncing.give()
	end := (*l.segments.Load())[l.place(old)+len(old)].base
	if l.point.Load() < end {
		if err := l.sync(); err != nil {
			return err
		}
		if err := l.Trouble(); err != nil {
			return err
		}
	}
	return raiseBounds(l.fs, l.dir, bounds{durable: l.point.Load()})
}

// rename changes the state of a segment's files, durably.
func (l *Log) rename(base int64, from, to string) error {
	for _, suffix := range segmentSuffixes {
		name := fileName(l.dir, base, suffix)
		if err := l.fs.Rename(name+from, name+to); err != nil && !isNotExist(err) {
			return fmt.Errorf("renaming %s: %w", name+from, err)
		}
	}
	return syncDir(l.fs, l.dir)
}

// stand makes the segment that readers use from fresh, whose files are .swap now.
// They are held open until they have got their names.
func (l *Log) stand(fresh *segment) (live *segment, pins []*handle, err error) {
	live = newSegment(l.files, l.dir, fresh.base, "")
	live.size.Store(fresh.size.Load())
	live.newest.store(fresh.newest.load())
	live.offsets.reset(fresh.offsets.count())
	live.times.reset(fresh.times.count())
	live.aborted.reset(*fresh.aborted.list.Load())
	for _, s := range []*source{&live.log, &live.offsets.file, &live.times.file} {
		h, err := s.hold(s.name + swapSuffix)
		if err != nil {
			return nil, nil, err
		}
		pins = append(pins, h)
	}
	return live, pins, nil
}

// exchange puts live into the list where old is.
func (l *Log) exchange(old []*segment, live *segment) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(*l.segments.Load())
	at := slices.Index(list, old[0])
	list = slices.Replace(list, at, at+len(old), live)
	l.segments.Store(&list)
	l.unsynced = slices.DeleteFunc(l.unsynced, func(s *segment) bool { return slices.Contains(old, s) })
}
