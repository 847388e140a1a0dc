package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// epoch says that a leader epoch began at an offset. Both ascend in a list.
type epoch struct {
	epoch int32
	start int64
}

// errEpochs is what a damaged leader-epoch-checkpoint is refused with.
var errEpochs = errors.New("leader epoch checkpoint is damaged")

// assignEpoch adds an epoch unless it is there already or not newer. It never
// changes list, which readers may hold.
func assignEpoch(list []epoch, e epoch) []epoch {
	if n := len(list); n > 0 && list[n-1].epoch >= e.epoch {
		return list
	}
	kept := slices.Clone(list)
	for n := len(kept); n > 0 && kept[n-1].start >= e.start; n-- {
		kept = kept[:n-1] // nothing was written in that epoch
	}
	return append(kept, e)
}

// cutEpochs forgets the epochs that begin at end or later.
func cutEpochs(list []epoch, end int64) []epoch {
	n := sort.Search(len(list), func(i int) bool { return list[i].start >= end })
	return list[:n:n]
}

// trimEpochs forgets the epochs that ended at or before start; the one that start
// is in then begins there.
func trimEpochs(list []epoch, start int64) []epoch {
	n := sort.Search(len(list), func(i int) bool { return list[i].start > start })
	if n == 0 {
		return list
	}
	kept := slices.Clone(list[n-1:])
	kept[0].start = start
	return kept
}

// endOfEpoch answers OffsetForLeaderEpoch (T11) for a log that ends at end.
func endOfEpoch(list []epoch, asked, current int32, end int64) (int32, int64) {
	if current >= 0 {
		list = assignEpoch(list, epoch{current, end})
	}
	higher := sort.Search(len(list), func(i int) bool { return list[i].epoch > asked })
	switch {
	case asked < 0, len(list) == 0:
		return -1, -1
	case asked == list[len(list)-1].epoch:
		return asked, end
	case higher == len(list):
		return -1, -1
	case higher == 0:
		return asked, list[0].start
	}
	return list[higher-1].epoch, list[higher].start
}

// epochAt is the epoch that offset was written in, -1 when that is not known.
func epochAt(list []epoch, offset int64) int32 {
	n := sort.Search(len(list), func(i int) bool { return list[i].start > offset })
	if n == 0 {
		return -1
	}
	return list[n-1].epoch
}

// formatEpochs is the file leader-epoch-checkpoint: version, number of entries,
// one entry a line.
func formatEpochs(list []epoch) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(list))
	for _, e := range list {
		fmt.Fprintf(&b, "%d %d\n", e.epoch, e.start)
	}
	return b.Bytes()
}

// parseEpochs reads the file. The error wraps errEpochs.
func parseEpochs(b []byte) ([]epoch, error) {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	head := make([]int64, 0, 2)
	for _, line := range lines[:min(2, len(lines))] {
		if n, ok := numbers(line, 1); ok {
			head = append(head, n[0])
		}
	}
	if len(head) < 2 || head[0] != 0 || head[1] != int64(len(lines)-2) {
		return nil, fmt.Errorf("%w: it begins with %q", errEpochs, lines[:min(2, len(lines))])
	}
	var list []epoch
	for i, line := range lines[2:] {
		n, ok := numbers(line, 2)
		if !ok || n[0] > math.MaxInt32 {
			return nil, fmt.Errorf("%w: entry %d is %q", errEpochs, i, line)
		}
		e := epoch{int32(n[0]), n[1]}
		if i > 0 && (list[i-1].epoch >= e.epoch || list[i-1].start >= e.start) {
			return nil, fmt.Errorf("%w: entry %d does not ascend", errEpochs, i)
		}
		list = append(list, e)
	}
	return list, nil
}

// numbers reads a line of exactly want numbers, none negative.
func numbers(line string, want int) ([]int64, bool) {
	fields := strings.Fields(line)
	values := make([]int64, len(fields))
	for i, field := range fields {
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil || v < 0 {
			return nil, false
		}
		values[i] = v
	}
	return values, len(values) == want
}

// LastEpoch is the largest leader epoch that the checkpoint of a log that nobody has open knows, -1 for none.
func LastEpoch(fs vfs.FS, dir string) (int32, error) {
	b, err := vfs.ReadFile(fs, filepath.Join(dir, epochsName))
	if isNotExist(err) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	list, err := parseEpochs(b)
	if err != nil || len(list) == 0 {
		return -1, err
	}
	return list[len(list)-1].epoch, nil
}
