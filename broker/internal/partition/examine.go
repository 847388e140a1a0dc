package partition

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// Examination is what was found in the log of one partition that nobody has open.
type Examination struct {
	Name     string // of its directory, as topic-partition
	Findings storage.Findings
	// Lost says that the damage reaches below what was durable: the partition stays offline until it is repaired. Other
	// damage is the torn end that a crash leaves; the next start of the broker cuts it, or writes it again from the
	// write-ahead log.
	Lost     bool
	Repaired bool
	Err      error // the log could not be read, or not repaired
}

// Examine reads every log below dir and tells found of each, in the order of their names. With repair, logs that a start
// would refuse are made ones that it takes; nothing else is ever changed. The caller holds the lock on dir.
func Examine(ctx context.Context, fs vfs.FS, dir string, repair bool, found func(Examination)) error {
	o := opener{Table: &Table{opts: Options{FS: fs, Dir: dir}}}
	o.opts.withDefaults()
	for _, read := range []func() error{o.readPoints, o.readSupply} {
		if err := read(); err != nil {
			return fmt.Errorf("examining the logs in %s: %w", dir, err)
		}
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("examining the logs in %s: %w", dir, err)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x, ok := o.examine(ctx, name, repair); ok {
			found(x)
		}
	}
	return nil
}

// partitionName is the name of a partition's directory. Those of deleted partitions end otherwise.
var partitionName = regexp.MustCompile(`^[a-zA-Z0-9._-]+-(\d+)$`)

// examine looks at one directory, if it is a partition's.
func (o *opener) examine(ctx context.Context, name string, repair bool) (x Examination, ok bool) {
	match := partitionName.FindStringSubmatch(name)
	if match == nil {
		return x, false
	}
	dir := filepath.Join(o.opts.Dir, name)
	id, err := readMetadata(o.opts.FS, dir)
	if err != nil {
		return Examination{Name: name, Err: err}, true
	}
	index, _ := strconv.ParseInt(match[1], 10, 32) // digits; a number too large has no frames
	supply := o.supply[commit.Key{Topic: id, Partition: int32(index)}]
	x = Examination{Name: name}
	x.Findings, x.Err = storage.Verify(ctx, o.opts.FS, dir)
	durable := max(supply.durable, o.points[name])
	x.Lost = x.Err == nil && lost(x.Findings, durable, supply.ranges)
	if x.Lost && repair {
		_, x.Err = storage.Repair(ctx, o.opts.FS, dir, goOn(x.Findings.End, durable, supply.ranges))
		x.Repaired = x.Err == nil
	}
	return x, true
}

// lost reports whether the damage takes offsets that were durable and that the write-ahead log has not. It is what makes
// storage refuse to open the log.
func lost(f storage.Findings, durable int64, supplied []storage.Range) bool {
	if len(f.Damage) == 0 {
		return f.End < durable && !storage.Cover(supplied, f.End, durable)
	}
	from := f.Damage[0].From
	return from < durable && !storage.Cover(supplied, from, durable)
}

// goOn is where a repaired log goes on: where the write-ahead log does when that has more of it, so that no record there
// is passed over, else behind everything that was durable, so that no offset is given twice.
func goOn(end, durable int64, supplied []storage.Range) int64 {
	for _, r := range supplied {
		if r.To > end {
			return max(end, r.From)
		}
	}
	return max(end, durable)
}
