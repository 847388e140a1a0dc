package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/internal/vfs"
)

// LogReport is what CheckLogs and RepairLogs tell of one partition's log.
type LogReport struct {
	Partition string // as topic-partition
	Segments  int
	Bytes     int64
	Batches   int64
	// StartOffset and EndOffset are what the segments hold: the first offset,
	// and the one behind the last valid batch.
	StartOffset, EndOffset int64
	Damage                 []LogDamage
	// Lost says that records which were on disk cannot be read. Damage without it
	// is the torn end that a crash leaves, and the next start deals with it.
	Lost bool
	// Offline says that the broker will not serve the partition as it is. A start
	// does not read everything: it may serve a log with records Lost.
	Offline  bool
	Repaired bool
	Err      error // the log could not be read, or not be repaired
}

// LogDamage is a run of bytes in a segment that are no valid record batches.
type LogDamage struct {
	File            string
	Position, Bytes int64
	// FirstOffset up to, not including, NextOffset cannot be read.
	FirstOffset, NextOffset int64
	Reason                  string
}

// CheckLogs reads every log in the data directory dir, which no broker may
// have open (ErrInUse), and calls report for each as it is done. It changes
// nothing.
func CheckLogs(ctx context.Context, dir string, report func(LogReport)) error {
	return examine(ctx, dir, false, report)
}

// RepairLogs is CheckLogs, and makes the logs that are Offline or have records
// Lost ones without damage, which the broker serves. Every batch that can be read
// stays, with its offsets. In the place of damaged bytes comes what the
// write-ahead log still has of them; else they leave a gap, as compaction does.
// The damaged segment is kept beside the repaired one, as .log.damaged.
func RepairLogs(ctx context.Context, dir string, report func(LogReport)) error {
	return examine(ctx, dir, true, report)
}

func examine(ctx context.Context, dir string, repair bool, report func(LogReport)) (err error) {
	fs := vfs.Disk()
	if _, err := fs.Stat(filepath.Join(dir, catalogDir)); err != nil {
		return fmt.Errorf("examining %s: this is no data directory of a broker: %w", dir, err)
	}
	lock, err := fs.Lock(filepath.Join(dir, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("examining %s: %w: stop it first", dir, ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("examining %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return partition.Examine(ctx, fs, dir, repair, func(x partition.Examination) { report(logReport(x)) })
}

func logReport(x partition.Examination) LogReport {
	f := x.Findings
	r := LogReport{
		Partition: x.Name, Segments: f.Segments, Bytes: f.Bytes, Batches: f.Batches,
		StartOffset: f.Start, EndOffset: f.End,
		Offline: x.Offline != nil && !x.Repaired, Lost: x.Lost && !x.Repaired, Repaired: x.Repaired, Err: x.Err,
	}
	for _, d := range f.Damage {
		r.Damage = append(r.Damage, LogDamage{File: d.File, Position: d.Position, Bytes: d.Bytes, FirstOffset: d.From, NextOffset: d.To, Reason: d.Reason})
	}
	return r
}
