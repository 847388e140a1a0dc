package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// Examination is what was found in the log of one partition that nobody has open.
type Examination struct {
	Name     string // of its directory, as topic-partition
	Findings storage.Findings
	// Lost says that records which were durable cannot be read as they are. Other damage is the torn end that a crash
	// leaves; the next start of the broker cuts it, or writes it again from the write-ahead log.
	Lost bool
	// Missing is the offsets that were durable behind the end of the log, and are nowhere.
	Missing []storage.Range
	// Offline is why the next start of the broker will not serve the partition, nil if it will: it does not read
	// everything, so it may serve a log with damage.
	Offline  error
	Repaired bool
	Err      error // the log could not be read, or not repaired
}

// Examine reads the log of every partition below dir and tells found of each, in the order of their names. With repair, logs
// that a start would refuse are made ones that it takes, and those with records lost are made ones without damage; nothing
// else is ever changed. A write-ahead log with damage counts as far as ExamineWAL can repair it. known is the catalog, nil if
// it cannot be read. The caller holds the lock on dir.
func Examine(ctx context.Context, fs vfs.FS, dir string, known *catalog.Snapshot, repair bool, found func(Examination)) error {
	o := opener{Table: &Table{opts: Options{FS: fs, Dir: dir}}}
	o.opts.withDefaults()
	if _, err := fs.Stat(filepath.Join(dir, cleanFile)); err == nil {
		o.clean = true
	}
	damaged, err := o.readWhatPoints()
	if err == nil {
		err = o.supplyFrom(salvage)
	}
	if err != nil {
		return fmt.Errorf("examining the logs in %s: %w", dir, err)
	}
	o.pointless = damaged[recoveryPointFile] != nil
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("examining the logs in %s: %w", dir, err)
	}
	for _, name := range o.examinable(names, known) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x, ok := o.examine(ctx, name, known, repair); ok {
			found(x)
		}
	}
	return nil
}

// examinable adds to the names in the directory, in order, those of partitions that have no directory though there was
// something in it.
func (o *opener) examinable(names []string, known *catalog.Snapshot) []string {
	all := slices.Clone(names)
	if known == nil {
		return all
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	for _, t := range known.Topics() {
		for i := range t.Partitions {
			name := dirName(t.Name, i)
			if !there[name] && max(o.points[name], o.supply[commit.Key{Topic: t.ID, Partition: i}].promised) > 0 {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// remake makes the directory of a partition that has none.
func (o *opener) remake(dir string, id catalog.ID) error {
	fs := o.opts.FS
	if _, err := fs.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := errors.Join(fs.MkdirAll(dir), fs.SyncDir(o.opts.Dir)); err != nil {
		return err
	}
	return writeMetadata(fs, dir, id)
}

// partitionName is the name of a partition's directory. Those of deleted partitions end otherwise.
var partitionName = regexp.MustCompile(`^([a-zA-Z0-9._-]+)-(\d+)$`)

// examine looks at one directory, if it is a partition's.
func (o *opener) examine(ctx context.Context, name string, known *catalog.Snapshot, repair bool) (x Examination, ok bool) {
	match := partitionName.FindStringSubmatch(name)
	if match == nil {
		return x, false
	}
	dir := filepath.Join(o.opts.Dir, name)
	id, err := ownerOf(o.opts.FS, dir, match[1], known)
	if err != nil {
		return Examination{Name: name, Err: err}, true
	}
	index, _ := strconv.ParseInt(match[2], 10, 32) // digits; a number too large has no frames
	key := commit.Key{Topic: id, Partition: int32(index)}
	x = Examination{Name: name}
	rescued := int64(0)
	supply, err := o.supplyOf(key, dir)
	if damagedRescue(err) {
		x.Lost, x.Offline = true, err
		if !repair {
			return x, true
		}
		if rescued, err = repairRescued(o.opts.FS, dir); err == nil {
			supply, err = o.supplyOf(key, dir)
		}
	}
	if err == nil {
		x.Findings, err = verify(ctx, o.opts.FS, dir)
	}
	if err != nil {
		x.Err = err
		return x, true
	}
	durable := max(supply.durable, o.points[name])
	if o.clean {
		durable = max(durable, closedAt(x.Findings))
	}
	promised := max(durable, supply.promised, rescued)
	if o.pointless {
		promised = max(promised, x.Findings.End) // nobody knows what was durable, so all is kept that can be read
	}
	x.Missing = missing(x.Findings.End, promised, supply.ranges)
	x.Lost = x.Lost || len(x.Missing) > 0 || lost(x.Findings, durable, promised, supply.ranges)
	x.Offline = o.refusal(ctx, name, supply)
	if repair && (x.Lost || x.Offline != nil) {
		spare := storage.Spare{Ranges: supply.ranges, Batches: o.spare(key, dir)}
		if x.Err = o.remake(dir, id); x.Err == nil {
			_, x.Err = storage.Repair(ctx, o.opts.FS, dir, promised, spare)
		}
		if x.Err == nil {
			x.Err = o.refusal(ctx, name, supply)
		}
		x.Repaired = x.Err == nil
	}
	return x, true
}

// lost reports whether the damage takes offsets that were durable in the segments, or that are promised and cannot be
// written again.
func lost(f storage.Findings, durable, promised int64, supplied []storage.Range) bool {
	for _, d := range f.Damage {
		if d.From < durable || d.From < promised && !storage.Cover(supplied, d.From, promised) {
			return true
		}
	}
	return false
}

// closedAt is up to where a log was durable at least that was closed: nothing in it is a torn end.
func closedAt(f storage.Findings) int64 {
	end := f.End
	for _, d := range f.Damage {
		end = max(end, d.From+1)
	}
	return end
}

// missing is what has been durable behind the end of a log and cannot be written again.
func missing(end, promised int64, supplied []storage.Range) (all []storage.Range) {
	for end < promised {
		next := promised // where something is to be had again
		for _, s := range supplied {
			if s.To > end {
				next = min(next, max(s.From, end))
			}
		}
		if next > end {
			all = append(all, storage.Range{From: end, To: next})
			end = next
		}
		for _, s := range supplied {
			if s.From <= end {
				end = max(end, s.To)
			}
		}
	}
	return all
}

// verify is storage.Verify of a log whose directory may be missing.
func verify(ctx context.Context, fs vfs.FS, dir string) (storage.Findings, error) {
	if _, err := fs.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return storage.Findings{}, nil
	}
	return storage.Verify(ctx, fs, dir)
}

// refusal is why the next start will not serve the log, found out by opening it as that will, on an overlay.
func (o *opener) refusal(ctx context.Context, name string, s supply) error {
	files := storage.NewFiles(vfs.Overlay(o.opts.FS), 1)
	log, _, err := storage.Open(ctx, files, filepath.Join(o.opts.Dir, name), storage.DefaultConfig(), o.recovery(name, s))
	if err != nil {
		return err
	}
	defer files.Close()
	end := log.EndOffset()
	for _, r := range s.ranges {
		if r.From > end {
			err = fmt.Errorf("the write-ahead log goes on at offset %d, but the log ends at %d", r.From, end)
			break
		}
		end = max(end, r.To)
	}
	return errors.Join(err, log.Close())
}

// spare is the batches of a partition that the write-ahead log has, or that were rescued from it.
func (o *opener) spare(key commit.Key, dir string) func(from, to int64, yield func(record.Batch) error) error {
	return func(from, to int64, yield func(record.Batch) error) error {
		next := from
		fit := func(b record.Batch) error {
			h := b.Header()
			if h.BaseOffset < next || h.LastOffset() >= to {
				return nil
			}
			next = h.LastOffset() + 1
			return yield(b)
		}
		if err := readRescued(o.opts.FS, dir, fit); err != nil {
			return err
		}
		return salvage(o.opts.FS, filepath.Join(o.opts.Dir, walDir), func(f commit.Frame) error {
			if f.Key != key || f.Kind != commit.Data {
				return nil
			}
			for b, err := range record.Batches(f.Bytes) {
				if err == nil {
					err = fit(b)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}
