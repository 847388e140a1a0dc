package dataset

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"os"

	"github.com/skeinstream/skein/interop/internal/stream"
)

// Count tells what a corpus holds.
type Count struct{ Records, Empty, Huge, NotUTF8 int }

const (
	hugeEvery    = 60_000 // a value of about hugeSize among so many lines
	hugeSize     = 900_000
	notUTF8Every = 700
)

var errEnough = errors.New("enough")

// Corpus gives n records to write: the lines of the Go installation's own
// sources, file by file, each file's in one partition, with huge values and
// bytes that are no text among them. It goes round until there are n.
func Corpus(ctx context.Context, n int, partitions int32, firstTimestamp int64, write func(stream.Record) error) (Count, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return Count{}, err
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src")
	c := corpus{n: n, partitions: partitions, time: firstTimestamp, write: write, random: rand.New(rand.NewPCG(1, 2))}
	for c.count.Records < n {
		before := c.count.Records
		err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".go" {
				return err
			}
			return c.file(path)
		})
		if err != nil && !errors.Is(err, errEnough) {
			return c.count, err
		}
		if c.count.Records == before {
			return c.count, errors.New("the Go installation has no sources")
		}
	}
	return c.count, nil
}

type corpus struct {
	n          int
	partitions int32
	partition  int32
	time       int64
	write      func(stream.Record) error
	random     *rand.Rand
	count      Count
}

func (c *corpus) file(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.partition = (c.partition + 1) % c.partitions
	key := []byte(filepath.Base(path))
	for line := range bytes.Lines(text) {
		if err := c.record(key, bytes.TrimRight(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (c *corpus) record(key, value []byte) error {
	if c.count.Records == c.n {
		return errEnough
	}
	switch {
	case c.count.Records%hugeEvery == hugeEvery-1:
		value = noise(c.random, hugeSize+c.random.IntN(50_000))
		c.count.Huge++
	case c.count.Records%notUTF8Every == 0:
		value = noise(c.random, 1+c.random.IntN(200))
	case len(value) == 0:
		value = []byte{}
		c.count.Empty++
	}
	if !utf8.Valid(value) {
		c.count.NotUTF8++
	}
	c.count.Records++
	timestamp := c.time + int64(c.count.Records/1000)
	return c.write(stream.Record{Partition: c.partition, Timestamp: timestamp, Key: key, Value: value})
}
