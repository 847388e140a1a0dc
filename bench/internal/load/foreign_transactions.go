package load

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/stats"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
	"github.com/skeinstream/skein/interop/python"
)

//go:embed Transactions.java
var transactionsJava []byte

//go:embed transactions.py
var transactionsPython []byte

// ForeignTransactors is a program that does with a client of another language what Transactors do.
type ForeignTransactors struct {
	run func(ctx context.Context, args ...string) (string, error)
}

// JavaTransactors is a program of Kafka's Java client. It is put into dir.
func JavaTransactors(tools kafka.Tools, dir string) (*ForeignTransactors, error) {
	file, err := unpack(dir, "Transactions.java", transactionsJava)
	if err != nil {
		return nil, err
	}
	return &ForeignTransactors{func(ctx context.Context, args ...string) (string, error) { return tools.Run(ctx, file, args...) }}, nil
}

// LibrdkafkaTransactors is a program of librdkafka's Python client. It is put into dir.
func LibrdkafkaTransactors(ctx context.Context, dir string) (*ForeignTransactors, error) {
	interpreter, err := python.Interpreter(ctx)
	if err != nil {
		return nil, err
	}
	file, err := unpack(dir, "transactions.py", transactionsPython)
	if err != nil {
		return nil, err
	}
	return &ForeignTransactors{func(ctx context.Context, args ...string) (string, error) {
		return proc.Output(exec.CommandContext(ctx, interpreter, append([]string{"-B", file}, args...)...))
	}}, nil
}

func unpack(dir, name string, text []byte) (file string, err error) {
	file = filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("writing the program of transactions: %w", err)
	}
	return file, nil
}

// Run lets so many producers, with the client's defaults, commit transactions of so many records for length, after
// a time that does not count.
func (f *ForeignTransactors) Run(ctx context.Context, addr, topic string, producers, records int, lead, length time.Duration) (Committed, error) {
	out, err := f.run(ctx, addr, topic, strconv.Itoa(producers), strconv.Itoa(records), strconv.Itoa(transactionSize),
		strconv.FormatInt(lead.Milliseconds(), 10), strconv.FormatInt(length.Milliseconds(), 10))
	if err != nil {
		return Committed{}, err
	}
	return parseCommitted(out)
}

// parseCommitted reads "took NANOSECONDS" and "commits NANOSECONDS ...".
func parseCommitted(out string) (done Committed, err error) {
	var all []time.Duration
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "took" && words[0] != "commits" {
			continue
		}
		for _, word := range words[1:] {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return done, fmt.Errorf("reading what the program of transactions says: %w", err)
			}
			if words[0] == "took" {
				done.Took = time.Duration(n)
			} else {
				all = append(all, time.Duration(n))
			}
		}
	}
	if len(all) == 0 || done.Took <= 0 {
		return done, fmt.Errorf("the program of transactions committed none: %q", out)
	}
	done.Groups, done.Commit = len(all), stats.Summarize(all)
	return done, nil
}
