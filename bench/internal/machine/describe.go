package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Describe says in one line what the machine is and what a synced append in
// dir costs on it.
func Describe(dir string) (string, error) {
	median, p99, err := SyncCost(dir)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d cores (%s), %s/%s, %s; an append of %d B and its fdatasync cost %.2f ms at the median, %.2f ms at p99",
		runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, memory(), appendBytes, 1000*median.Seconds(), 1000*p99.Seconds()), nil
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown memory"
	}
	total, err := parseKilobytes(string(text), "MemTotal:")
	if err != nil {
		return "unknown memory"
	}
	return fmt.Sprintf("%d GiB memory", (total+1<<29)>>30)
}

// Load is the number of processes that wanted to run in the last minute; ok is
// false where the system does not tell.
func Load() (load float64, ok bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err = strconv.ParseFloat(first, 64)
	return load, err == nil
}
