package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/internal/vfs"
)

// LogReport is what CheckLogs and RepairLogs tell of one partition's log, or, when something is wrong with
// it, of what all partitions share.
type LogReport struct {
	Partition string // as topic-partition, or WriteAheadLog, Catalog or Checkpoints
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
	// Offline says that the broker will not serve the partition as it is; with the
	// write-ahead log or the catalog as they are it does not start. A start does not
	// read everything: it may serve a log with records Lost.
	Offline  bool
	Repaired bool
	Notes    []string // what else an operator should know, in sentences
	Err      error    // the log could not be read, or not be repaired
}

// What LogReport.Partition says when the report is of no partition.
const (
	WriteAheadLog = "write-ahead log"
	Catalog       = "catalog"
	Checkpoints   = "checkpoint files"
)

// LogDamage is a run of bytes in a file that cannot be read.
type LogDamage struct {
	File            string
	Position, Bytes int64 // -1 bytes: up to where the log ended, which nobody knows
	// Of a segment: FirstOffset up to, not including, NextOffset cannot be read.
	FirstOffset, NextOffset int64
	Reason                  string
}

// CheckLogs reads every log in the data directory dir, which no broker may
// have open (ErrInUse), and the write-ahead log and the catalog, and calls report
// for each as it is done. It changes nothing.
func CheckLogs(ctx context.Context, dir string, report func(LogReport)) error {
	return examine(ctx, dir, false, report)
}

// RepairLogs is CheckLogs, and makes the logs that are Offline or have records
// Lost ones without damage, which the broker serves. Every batch that can be read
// stays, with its offsets. In the place of damaged bytes comes what the
// write-ahead log still has of them; else they leave a gap, as compaction does.
// The damaged segment is kept beside the repaired one, as .log.damaged.
//
// A damaged write-ahead log keeps every frame that can be read, and a damaged
// catalog every change; topics that it has lost are made known again from their
// directories, with settings under which nothing of them is deleted. Copies of the
// damaged files stay beside them, as .damaged.
func RepairLogs(ctx context.Context, dir string, report func(LogReport)) error {
	return examine(ctx, dir, true, report)
}

func examine(ctx context.Context, dir string, repair bool, report func(LogReport)) error {
	return examineOn(ctx, vfs.Disk(), dir, repair, report)
}

func examineOn(ctx context.Context, fs vfs.FS, dir string, repair bool, report func(LogReport)) (err error) {
	gone, err := examinable(fs, dir)
	if err != nil {
		return fmt.Errorf("examining %s: %w", dir, err)
	}
	lock, err := fs.Lock(filepath.Join(dir, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("examining %s: %w: stop it first", dir, ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("examining %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	known := examineCatalog(fs, dir, gone, repair, report)
	repair = repair && known != nil // what a later version has written is left alone
	if !examineWAL(ctx, fs, dir, repair, known, report) {
		return nil // nothing can be said of the logs without it
	}
	failed := false
	err = partition.Examine(ctx, fs, dir, known, repair, func(x partition.Examination) {
		failed = failed || x.Err != nil
		report(logReport(x))
	})
	if err == nil {
		examineCheckpoints(fs, dir, repair && !failed, report)
	}
	return err
}

func logReport(x partition.Examination) LogReport {
	f := x.Findings
	r := LogReport{
		Partition: x.Name, Segments: f.Segments, Bytes: f.Bytes, Batches: f.Batches,
		StartOffset: f.Start, EndOffset: f.End,
		Offline: x.Offline != nil && !x.Repaired, Lost: x.Lost && !x.Repaired, Repaired: x.Repaired, Err: x.Err,
	}
	if r.Offline && len(f.Damage) == 0 { // then the damage is not in a segment
		r.Notes = append(r.Notes, x.Offline.Error())
	}
	for _, gone := range x.Missing {
		r.Notes = append(r.Notes, fmt.Sprintf("offsets %d to %d are lost: the log ends before them", gone.From, gone.To-1))
	}
	for _, d := range f.Damage {
		r.Damage = append(r.Damage, LogDamage{File: d.File, Position: d.Position, Bytes: d.Bytes, FirstOffset: d.From, NextOffset: d.To, Reason: d.Reason})
	}
	return r
}
