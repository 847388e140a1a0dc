package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Watch measures how much of the machine's processor time goes to others than
// this program, its children that have ended, and one broker.
type Watch struct {
	broker Process // 0 for none
	busy   time.Duration
	total  time.Duration
	ours   time.Duration
}

// NewWatch begins to measure. broker may be 0.
func NewWatch(broker Process) (*Watch, error) {
	w := &Watch{broker: broker}
	var err error
	if w.busy, w.total, err = machineTime(); err != nil {
		return nil, err
	}
	w.ours, err = w.ourTime()
	return w, err
}

// Others is the share of all processors, 0 to 1, that others have used since
// the begin. What the kernel does for a broker in threads of its own counts
// among it: a few hundredths while much is written.
func (w *Watch) Others() (float64, error) {
	busy, total, err := machineTime()
	if err != nil {
		return 0, err
	}
	ours, err := w.ourTime()
	if err != nil || total <= w.total {
		return 0, err
	}
	others := (busy - w.busy) - (ours - w.ours)
	return max(0, others.Seconds()/(total-w.total).Seconds()), nil
}

// OwnTime is the processor time that this process has used, and its children
// that have ended.
func OwnTime() (time.Duration, error) { return ownTime() }

func (w *Watch) ourTime() (time.Duration, error) {
	ours, err := ownTime()
	if err != nil || w.broker == 0 {
		return ours, err
	}
	broker, err := w.broker.CPU()
	return ours + broker, err
}

// machineTime is the time that all processors together have been busy and have
// existed, since the machine started.
func machineTime() (busy, total time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("reading processor time: %w", err)
	}
	return parseMachineTime(string(text))
}

// parseMachineTime reads the first line: user, nice, system, idle, iowait, irq,
// softirq, steal; what follows is counted within the first two.
func parseMachineTime(stat string) (busy, total time.Duration, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, errors.New("reading processor time: no line of all processors")
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading processor time: %w", err)
		}
		d := time.Duration(n) * time.Second / ticksPerSecond
		total += d
		if idle, waiting := i == 3, i == 4; !idle && !waiting {
			busy += d
		}
	}
	return busy, total, nil
}
