// Command exactlyonce measures what exactly-once processing costs: workers copy
// one topic to another, as a transaction with their offsets each 100 ms, and
// without transactions; Skein's exactlyonce.Run beside franz-go, Kafka's own
// client and Kafka Streams, on each broker in one run. And it counts what one
// transactional producer a worker saves over one a partition (KIP-447).
// docs/benchmarks.md tells how to read the tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/exactlyonce/worker"
	"github.com/skeinstream/skein/bench/internal/program"
	"github.com/skeinstream/skein/bench/internal/result"
)

func main() {
	if !program.Child(workVerb, worker.Run) {
		program.Main("exactlyonce", run)
	}
}

// Parts of the measurement.
const (
	copies = "copies" // throughput and latency of one worker
	fleets = "fleets" // producers and requests of many
)

// options are what the command line says.
type options struct {
	brokers  []result.Peer
	clients  *regexp.Regexp
	only     *regexp.Regexp // parts
	rounds   int
	interval time.Duration // between two commits
	workers  []int         // fleets to count
	patience time.Duration // with others who use the machine
	dir      string
	json     string
	profiles string
	size     size
	noisy    bool
}

// size says how much is done; everybody gets the same.
type size struct {
	records    int           // to copy, of recordSize each
	rate       int           // records a second, for latency
	latency    time.Duration // of that
	partitions int           // of a fleet's topics
	fleet      time.Duration // for how long requests are counted
	warm       bool          // what is measured is done once before, for nothing
}

func fullSize() size {
	return size{records: 600_000, rate: 1000, latency: 10 * time.Second, partitions: 64, fleet: 5 * time.Second, warm: true}
}

// quickSize shows that it runs, not how fast.
func quickSize() size {
	return size{records: 60_000, rate: 500, latency: 2 * time.Second, partitions: 64, fleet: 2 * time.Second}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	return measure(ctx, o, out, progress)
}

func parseOptions(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("exactlyonce", flag.ContinueOnError)
	flags.SetOutput(usage)
	brokers := flags.String("brokers", "skein,kafka", "comma-separated `brokers` to run on: skein, skein-os, kafka, kafka-sync")
	names := flags.String("clients", "", "run only the clients whose name matches this `expression`")
	only := flags.String("only", "", "run only the parts whose name matches this `expression`: "+copies+", "+fleets)
	workers := flags.String("workers", "1,2,4,8,16", "comma-separated `numbers` of workers in a fleet")
	quick := flags.Bool("quick", false, "a tenth of the load: shows that it runs, not how fast")
	flags.IntVar(&o.rounds, "rounds", 3, "how many times each broker is started and driven; the tables hold medians")
	flags.DurationVar(&o.interval, "interval", 100*time.Millisecond, "time between two commits of a worker")
	flags.DurationVar(&o.patience, "patience", 2*time.Minute, "how long to wait, before each worker, for others to leave the machine alone")
	flags.BoolVar(&o.noisy, "noisy", false, "never mind who else uses the machine")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "`directory` for the brokers' data: its disk is what is measured")
	flags.StringVar(&o.json, "json", "", "write every sample to this `file`")
	flags.StringVar(&o.profiles, "profile", "", "write processor profiles of Skein's workers to this `directory`; not for comparing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.rounds < 1 || o.interval < time.Millisecond {
		return o, errors.New("there are no arguments, one round at least, and a millisecond between commits")
	}
	o.size = fullSize()
	if *quick {
		o.size, o.noisy = quickSize(), true
	}
	if o.clients, err = regexp.Compile(*names); err != nil {
		return o, fmt.Errorf("reading -clients: %w", err)
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("reading -only: %w", err)
	}
	if o.workers, err = numbers(*workers); err != nil {
		return o, fmt.Errorf("reading -workers: %w", err)
	}
	o.brokers, err = parseBrokers(*brokers)
	return o, err
}

func numbers(words string) (all []int, _ error) {
	for word := range strings.SplitSeq(words, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of workers", word)
		}
		all = append(all, n)
	}
	return all, nil
}

func parseBrokers(names string) (chosen []result.Peer, _ error) {
	known := []result.Peer{result.Skein, result.SkeinOS, result.Kafka, result.KafkaSync}
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(known, result.Peer(name)) {
			return nil, fmt.Errorf("no broker %q is measured: choose of %v", name, known)
		}
		chosen = append(chosen, result.Peer(name))
	}
	return chosen, nil
}
