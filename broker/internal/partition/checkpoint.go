package partition

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// The files beside the partitions' directories, with Kafka's names and in Kafka's format, version 0:
//
//	0
//	<number of entries>
//	<topic> <partition> <offset>
const (
	recoveryPointFile = "recovery-point-offset-checkpoint"
	startOffsetFile   = "log-start-offset-checkpoint"
	cleanedFile       = "cleaner-offset-checkpoint"
	cleanFile         = ".kafka_cleanshutdown"
	metadataFile      = "partition.metadata"
)

// offsets is the content of a checkpoint file, by directory name.
type offsets map[string]int64

// readOffsets reads a checkpoint file; without one nothing is known.
func readOffsets(fs vfs.FS, name string) (offsets, error) {
	b, err := vfs.ReadFile(fs, name)
	if errors.Is(err, os.ErrNotExist) {
		return offsets{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	o, err := parseOffsets(string(b))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return o, nil
}

// errCheckpoint is wrapped by what is wrong with the content of a checkpoint file.
var errCheckpoint = errors.New("not a checkpoint file")

func parseOffsets(text string) (offsets, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" {
		return nil, fmt.Errorf("%w of version 0", errCheckpoint)
	}
	if n, err := strconv.Atoi(lines[1]); err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("%w: %q entries are announced, %d are there", errCheckpoint, lines[1], len(lines)-2)
	}
	o := offsets{}
	for _, line := range lines[2:] {
		f := strings.Split(line, " ")
		if len(f) != 3 {
			return nil, fmt.Errorf("%w: %q is no entry", errCheckpoint, line)
		}
		offset, err := strconv.ParseInt(f[2], 10, 64)
		if _, bad := strconv.ParseInt(f[1], 10, 32); err != nil || bad != nil || offset < 0 {
			return nil, fmt.Errorf("%w: %q is no entry", errCheckpoint, line)
		}
		o[f[0]+"-"+f[1]] = offset
	}
	return o, nil
}

// entry is one line of a checkpoint file.
type entry struct {
	topic  string
	index  int32
	offset int64
}

func formatOffsets(entries []entry) []byte {
	b := fmt.Appendf(nil, "0\n%d\n", len(entries))
	for _, e := range entries {
		b = fmt.Appendf(b, "%s %d %d\n", e.topic, e.index, e.offset)
	}
	return b
}

// said is what the checkpoint files say of a log that could not be opened. It stays said.
type said struct{ point, start, cleaned int64 }

// saveRecoveryPoints records up to where each log is durable.
func (t *Table) saveRecoveryPoints() error {
	return t.save(recoveryPointFile, func(p *Partition) int64 { return p.log.RecoveryPoint() }, func(s said) int64 { return s.point })
}

// saveCleaned records up to where each log is compacted.
func (t *Table) saveCleaned() error {
	return t.save(cleanedFile, func(p *Partition) int64 { return p.cleaned.Load() }, func(s said) int64 { return s.cleaned })
}

// SaveStarts makes the log start offsets durable. It waits for the disk.
func (t *Table) SaveStarts() error {
	return t.save(startOffsetFile, func(p *Partition) int64 { return p.log.StartOffset() }, func(s said) int64 { return s.start })
}

var errBroken = errors.New("the broker cannot write any more")

// save writes a checkpoint file of one offset of each log. What is 0 says nothing. One at a time writes.
func (t *Table) save(name string, offset func(*Partition) int64, unopened func(said) int64) error {
	t.saving <- struct{}{}
	defer func() { <-t.saving }()
	if t.broken.Load() {
		return errBroken
	}
	var entries []entry
	for p := range t.each {
		if p.unmade.Load() {
			continue
		}
		e := entry{topic: p.topic.Name, index: p.index}
		if p.log != nil {
			e.offset = offset(p)
		} else {
			e.offset = unopened(p.said)
		}
		if e.offset > 0 {
			entries = append(entries, e)
		}
	}
	err := storage.ReplaceFile(t.opts.FS, t.opts.Dir, name, formatOffsets(entries))
	if errors.Is(err, storage.ErrSync) {
		t.fail("writing a checkpoint", err)
	}
	return err
}
