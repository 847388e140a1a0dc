// Package program is what the test programs of the Go clients have in common: they live until their standard input ends, are
// told times in milliseconds, and say on standard output what happens to them, a line a moment.
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// UntilInputEnds is a context that ends with standard input, or before.
func UntilInputEnds() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// Milliseconds reads times, one from each word.
func Milliseconds(words []string, to ...*time.Duration) error {
	for i, d := range to {
		ms, err := strconv.Atoi(words[i])
		if err != nil {
			return fmt.Errorf("reading milliseconds: %w", err)
		}
		*d = time.Duration(ms) * time.Millisecond
	}
	return nil
}

// Partitions are numbers as programs say them.
func Partitions(list []int32) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = strconv.Itoa(int(p))
	}
	return strings.Join(words, ",")
}

// Voice says lines, each whole, behind the stamp of its moment.
type Voice struct {
	Stamp func() int64

	mu sync.Mutex
}

// WallClock is a voice whose stamps are microseconds since 1970.
func WallClock() *Voice { return &Voice{Stamp: func() int64 { return time.Now().UnixMicro() }} }

// Say says one line.
func (v *Voice) Say(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	fmt.Printf("%d %s\n", v.Stamp(), text)
}
