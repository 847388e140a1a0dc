package load

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/stats"
	"github.com/skeinstream/skein/interop/kafka"
)

//go:embed Transactions.java
var transactionsJava []byte

// JavaTransactors is a program of Kafka's Java client that does what Transactors do.
type JavaTransactors struct {
	tools kafka.Tools
	file  string
}

// NewJavaTransactors puts the program into dir.
func NewJavaTransactors(tools kafka.Tools, dir string) (JavaTransactors, error) {
	j := JavaTransactors{tools: tools, file: filepath.Join(dir, "Transactions.java")}
	if err := os.WriteFile(j.file, transactionsJava, 0o600); err != nil {
		return j, fmt.Errorf("writing the program of transactions: %w", err)
	}
	return j, nil
}

// Run lets so many producers, with the client's defaults, commit transactions of so many records for length, after
// a time that does not count.
func (j JavaTransactors) Run(ctx context.Context, addr, topic string, producers, records int, lead, length time.Duration) (Committed, error) {
	out, err := j.tools.Run(ctx, j.file, addr, topic, strconv.Itoa(producers), strconv.Itoa(records), strconv.Itoa(transactionSize),
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
