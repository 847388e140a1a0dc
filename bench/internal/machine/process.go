// Package machine reads what the system knows of a broker's process and of
// the machine under it: processor time and memory from /proc, the cost of a
// synced append from the disk itself.
package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of /proc/PID/stat: USER_HZ, which Linux keeps at
// 100 on every architecture that Go runs on.
const ticksPerSecond = 100

// Process is a running process.
type Process int

// CPU is the processor time that all threads of p have used, to 10 ms.
func (p Process) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0, fmt.Errorf("reading processor time: %w", err)
	}
	return parseCPU(string(text))
}

// parseCPU reads utime and stime, the fields 14 and 15; the second field, a
// name in brackets, may itself hold blanks and brackets.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("reading processor time: the line is short")
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// Resident is the memory of p that is in use now, in bytes (VmRSS).
func (p Process) Resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, fmt.Errorf("reading resident memory: %w", err)
	}
	return parseKilobytes(string(text), "VmRSS:")
}

// parseKilobytes reads a line such as "VmRSS:   1234 kB" and returns bytes.
func parseKilobytes(text, label string) (int64, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, label)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		return n * 1024, err
	}
	return 0, fmt.Errorf("no line %s", label)
}
