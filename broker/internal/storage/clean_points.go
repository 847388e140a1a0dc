package storage

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// cleanPointsName is Kafka's file of where the cleaner has come to, one for all
// logs of a directory.
const cleanPointsName = "cleaner-offset-checkpoint"

// CleanPoint says that a partition is clean below an offset.
type CleanPoint struct {
	Topic     string
	Partition int32
	Offset    int64
}

// WriteCleanPoints replaces the file cleaner-offset-checkpoint in dir, durably.
func WriteCleanPoints(fs vfs.FS, dir string, points []CleanPoint) error {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b CleanPoint) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	b := fmt.Appendf(nil, "0\n%d\n", len(points))
	for _, p := range points {
		b = fmt.Appendf(b, "%s %d %d\n", p.Topic, p.Partition, p.Offset)
	}
	return replaceFile(fs, dir, cleanPointsName, b)
}

// ReadCleanPoints reads the file; there are no points without it. Points that are
// lost or too low do no harm but that logs are read again from there, so a caller
// may go on after an error.
func ReadCleanPoints(fs vfs.FS, dir string) ([]CleanPoint, error) {
	path := filepath.Join(dir, cleanPointsName)
	b, err := vfs.ReadFile(fs, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading cleaner points: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" || lines[1] != strconv.Itoa(len(lines)-2) {
		return nil, fmt.Errorf("cleaner points %s are damaged: they begin with %q", path, lines[:min(2, len(lines))])
	}
	var points []CleanPoint
	for _, line := range lines[2:] {
		topic, rest, _ := strings.Cut(line, " ")
		n, ok := numbers(rest, 2)
		if !ok || topic == "" || n[0] > math.MaxInt32 {
			return nil, fmt.Errorf("cleaner points %s are damaged: %q", path, line)
		}
		points = append(points, CleanPoint{topic, int32(n[0]), n[1]})
	}
	return points, nil
}
