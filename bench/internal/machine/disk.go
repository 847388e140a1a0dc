package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skeinstream/skein/bench/internal/stats"
)

const (
	appendBytes = 128
	appendCount = 300
)

// SyncCost measures what one synced append of 128 bytes costs in dir, at the
// median and at the 99th percentile: the price of durability here.
func SyncCost(dir string) (median, p99 time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "sync-cost"))
	if err != nil {
		return 0, 0, fmt.Errorf("measuring the disk: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	all := make([]time.Duration, appendCount)
	for i := range all {
		began := time.Now()
		if _, err := f.Write(make([]byte, appendBytes)); err != nil {
			return 0, 0, fmt.Errorf("measuring the disk: %w", err)
		}
		if err := syncData(f); err != nil {
			return 0, 0, fmt.Errorf("measuring the disk: %w", err)
		}
		all[i] = time.Since(began)
	}
	slices.Sort(all)
	return stats.Percentile(all, 0.5), stats.Percentile(all, 0.99), nil
}
