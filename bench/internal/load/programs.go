package load

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/skeinstream/skein/interop/kafka"
)

// steadyRate is the last line of ProducerPerformance: all but the warm-up.
var steadyRate = regexp.MustCompile(`(?m)^(\d+) steady state records sent, ([0-9.]+) records/sec `)

// JavaProduce runs Kafka's own ProducerPerformance with acks=all and returns
// the records a second that it tells of the last three quarters of count: in
// the first one its Java machine warms up.
func JavaProduce(ctx context.Context, tools kafka.Tools, addr, topic string, size, count int) (float64, error) {
	warm := count / 4
	out, err := tools.Run(ctx, kafka.ProducerPerformance, "--topic", topic, "--num-records", strconv.Itoa(count),
		"--warmup-records", strconv.Itoa(warm), "--record-size", strconv.Itoa(size), "--throughput", "-1",
		"--bootstrap-server", addr, "--command-property", "acks=all")
	if err != nil {
		return 0, err
	}
	return parseJava(out, count-warm)
}

func parseJava(out string, count int) (float64, error) {
	found := steadyRate.FindStringSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("reading what ProducerPerformance says: no steady state in %q", out)
	}
	if found[1] != strconv.Itoa(count) {
		return 0, fmt.Errorf("of %d records of ProducerPerformance %s were acknowledged", count, found[1])
	}
	rate, err := strconv.ParseFloat(found[2], 64)
	if err != nil || rate <= 0 {
		return 0, fmt.Errorf("reading the rate %q of ProducerPerformance", found[2])
	}
	return rate, nil
}

// Kcat is librdkafka's command-line client.
type Kcat struct {
	command string
	dir     string // holds the files that are produced
}

// FindKcat finds kcat; ok is false where it is not installed. dir takes its
// input files.
func FindKcat(dir string) (k Kcat, ok bool) {
	command, err := exec.LookPath("kcat")
	return Kcat{command: command, dir: dir}, err == nil
}

// Prepare writes the lines that Produce sends, so that it need not.
func (k Kcat) Prepare(size, count int) error {
	_, err := k.input(size, count)
	return err
}

// Produce sends count lines of size bytes with acks=all and returns the
// records a second of the program's whole time.
func (k Kcat) Produce(ctx context.Context, addr, topic string, size, count int) (float64, error) {
	name, err := k.input(size, count)
	if err != nil {
		return 0, err
	}
	return k.run(ctx, count, "-P", "-b", addr, "-t", topic, "-X", "acks=all", "-l", name)
}

// Consume reads topic, which holds count records, from its beginning to its
// end and returns the records a second of the program's whole time.
//
// Its queue has room for all of them. With the 100,000 that it has by itself
// the client waits up to a second whenever a broker is fast enough to fill it,
// and the rate tells how often that happened.
func (k Kcat) Consume(ctx context.Context, addr, topic string, count int) (float64, error) {
	return k.run(ctx, count, "-C", "-b", addr, "-t", topic, "-o", "beginning", "-e", "-q",
		"-X", "queued.min.messages=10000000", "-X", "queued.max.messages.kbytes=2097151")
}

func (k Kcat) run(ctx context.Context, count int, args ...string) (float64, error) {
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer sink.Close()
	cmd := exec.CommandContext(ctx, k.command, args...)
	cmd.Stdout = sink
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("running kcat %v: %w", args, err)
	}
	return perSecond(count, time.Since(began)), nil
}

// input is a file of count lines, written once.
func (k Kcat) input(size, count int) (string, error) {
	name := filepath.Join(k.dir, fmt.Sprintf("lines-%d-%d", size, count))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	values := Values(size, distinct)
	for i := range count {
		if _, err := w.Write(append(values[i%distinct][:size:size], '\n')); err != nil {
			return "", err
		}
	}
	return name, w.Flush()
}
