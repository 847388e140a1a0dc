// Command assign sets Skein's sticky assignor beside those of franz-go, Sarama
// and Kafka (the client's and the group coordinator's): the same groups, in one
// run on one machine, each implementation in a process of its own, one after
// the other. What counts is the ratios, and who is optimal.
// docs/benchmarks-assign.md tells how to read the table.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/program"
)

// implementation plans for a group again and again and measures.
type implementation func(g *group, h how) sample

func implementations() map[string]implementation {
	all := map[string]implementation{"skein": skeinPlan, "skein map": skeinMap, "skein bytes": skeinBytes, "map alone": mapAlone, "sarama": saramaSticky}
	for name, i := range franzImplementations() {
		all[name] = i
	}
	return all
}

// peers lists everyone in the order of the table.
var peers = []string{"skein", "skein map", "skein bytes", "map alone", "franz-go", "franz-go bytes", "java client", "java server", "sarama"}

type options struct {
	only  *regexp.Regexp
	peers []string
	how
	limit time.Duration
	json  string
	read  []string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		runChild(os.Args[2:])
		return
	}
	program.Main("assign", run)
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	if len(o.read) > 0 {
		rows, err := merged(o.read)
		if err == nil {
			table(out, o.peers, rows)
		}
		return err
	}
	rows, err := measure(ctx, o, progress)
	if o.json != "" && len(rows) > 0 {
		if err := writeJSON(o.json, rows); err != nil {
			return err
		}
	}
	table(out, o.peers, rows)
	return err
}

// measure runs all that is asked for. Rows that are done are kept when it is
// interrupted.
func measure(ctx context.Context, o options, progress io.Writer) (rows []row, err error) {
	c, err := newChildren(ctx)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for _, s := range scenarios() {
		if !o.only.MatchString(s.name) {
			continue
		}
		r, err := c.row(ctx, o, s, progress)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("assign", flag.ContinueOnError)
	flags.SetOutput(usage)
	only := flags.String("only", "", "run only the scenarios whose name matches this `expression`")
	names := flags.String("peers", strings.Join(peers, ","), "comma-separated `peers`")
	flags.DurationVar(&o.budget, "budget", 2*time.Second, "how long each peer repeats each scenario")
	flags.BoolVar(&o.processor, "processor", false, "count the processor time of the thread that plans instead of the time that passes, for machines that others use, too")
	flags.DurationVar(&o.limit, "limit", 2*time.Minute, "after how long a peer is too slow for a scenario")
	flags.StringVar(&o.json, "json", "", "write every sample to this `file`")
	read := flags.String("read", "", "run nothing, but make the table of these comma-separated `files` of earlier runs, of samples in the middle")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if *read != "" {
		o.read = strings.Split(*read, ",")
	}
	o.peers = strings.Split(*names, ",")
	for _, p := range o.peers {
		if !slices.Contains(peers, p) {
			return o, fmt.Errorf("there is no peer %q; there are %s", p, strings.Join(peers, ", "))
		}
	}
	return o, nil
}

func writeJSON(name string, rows []row) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	e.SetIndent("", " ")
	if err := e.Encode(rows); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
