// Command bench sets Skein beside Apache Kafka and franz-go's kfake: the same
// clients drive each broker, in rounds, in one run on one machine, and what
// counts is the ratios. docs/benchmarks.md tells how to read the table.
//
// Every broker is a process of its own; kfake is this program, started anew.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/program"
	"github.com/skeinstream/skein/bench/internal/result"
)

func main() {
	program.Main("bench", dispatch)
}

func dispatch(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) > 0 && args[0] == peers.KfakeVerb {
		return peers.RunKfake(ctx, args[1:])
	}
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	return compare(ctx, o, out, progress)
}

// options are what the command line says.
type options struct {
	rounds   int
	quick    bool
	json     string // file for the JSON document; "-" is standard output, in the table's place
	peers    []result.Peer
	patience time.Duration  // with others who use the machine, before each phase
	only     *regexp.Regexp // phases to run
	dir      string         // brokers keep their data below it
	plan     plan
	profiles string // directory for processor profiles of Skein; empty: none
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&o.rounds, "rounds", 3, "how many times each broker is started and driven; the table holds medians")
	flags.BoolVar(&o.quick, "quick", false, "a tenth of the load: shows that it runs, not how fast")
	flags.StringVar(&o.json, "json", "", "write every sample as JSON to this `file`; - is standard output, in the table's place")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "`directory` for the brokers' data: its disk is what is measured")
	flags.StringVar(&o.profiles, "profile", "", "write processor profiles of Skein to this `directory`; four times the load, and not for comparing")
	flags.DurationVar(&o.patience, "patience", 2*time.Minute, "how long to wait, before each phase, for others to leave the machine alone")
	names := flags.String("peers", "", "comma-separated `peers`, of "+peerNames())
	only := flags.String("only", "", "run only the phases whose name matches this `expression`: "+phaseNames())
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("-rounds %d: there must be one at least", o.rounds)
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("reading -only: %w", err)
	}
	o.plan = o.choosePlan()
	o.peers, err = parsePeers(*names)
	return o, err
}

func parsePeers(names string) ([]result.Peer, error) {
	if names == "" {
		return result.Peers(), nil
	}
	var chosen []result.Peer
	for name := range strings.SplitSeq(names, ",") {
		p := result.Peer(strings.TrimSpace(name))
		if p.Title() == string(p) {
			return nil, fmt.Errorf("no peer is called %q: choose of %s", name, peerNames())
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

func peerNames() string {
	var names []string
	for _, p := range result.Peers() {
		names = append(names, string(p))
	}
	return strings.Join(names, ",")
}

func phaseNames() string {
	var names []string
	for _, p := range phases() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}
