// Command rebalance measures what a change of membership does to the partitions
// of a consumer group: Skein's consumer beside franz-go's, Sarama's and Kafka's
// own, classic and KIP-848, on the same broker in one run. Members are
// processes of their own that say which records they are done with; what is
// counted is how long a partition stands still, whether it had to, and what is
// read again. docs/benchmarks.md tells how to read the tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/program"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/rebalance/member"
)

func main() {
	if !program.Child(memberVerb, member.Run) {
		program.Main("rebalance", run)
	}
}

// options are what the command line says.
type options struct {
	brokers []result.Peer
	clients []client
	only    *regexp.Regexp // scenarios
	rounds  int
	lanes   int // groups that live at once
	times   times
	size    size
	json    string
	traces  string
	noWarm  bool
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	return measure(ctx, o, out, progress)
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	o := options{size: fullSize()}
	flags := flag.NewFlagSet("rebalance", flag.ContinueOnError)
	flags.SetOutput(usage)
	brokers := flags.String("brokers", "kafka,skein", "comma-separated `brokers` to run on: kafka, skein")
	names := flags.String("clients", "", "run only the clients whose name matches this `expression`")
	only := flags.String("only", "", "run only the scenarios whose name matches this `expression`: "+strings.Join(scenarios(), ", "))
	flags.IntVar(&o.rounds, "rounds", 1, "how many times each client goes through each scenario")
	flags.IntVar(&o.lanes, "lanes", 1, "how many groups live at once; more take less time and disturb one another")
	flags.DurationVar(&o.times.session, "session", 6*time.Second, "session timeout of all members")
	flags.DurationVar(&o.times.heartbeat, "heartbeat", 500*time.Millisecond, "time between heartbeats of all members")
	flags.StringVar(&o.json, "json", "", "write every sample to this `file`")
	flags.StringVar(&o.traces, "traces", "", "write what every member did to this `directory`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.rounds < 1 || o.lanes < 1 {
		return o, errors.New("there are no arguments, and one round and one lane at least")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("reading -only: %w", err)
	}
	wanted, err := regexp.Compile(*names)
	if err != nil {
		return o, fmt.Errorf("reading -clients: %w", err)
	}
	o.clients = slices.DeleteFunc(clients(), func(c client) bool { return !wanted.MatchString(c.name) })
	for name := range strings.SplitSeq(*brokers, ",") {
		p := result.Peer(name)
		if p != result.Kafka && p != result.Skein {
			return o, fmt.Errorf("no broker %q is measured: choose of kafka, skein", name)
		}
		o.brokers = append(o.brokers, p)
	}
	return o, nil
}
