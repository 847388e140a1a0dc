// Command poll measures what polling through Skein's consumer costs over plain
// franz-go, which is under it: the same broker, the same topic, the same
// options, a process for each reader. What counts is the ratio.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/program"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/wire"
)

func main() {
	if !program.Child(readVerb, runReader) {
		program.Main("poll", run)
	}
}

// options are what the command line says.
type options struct {
	broker   result.Peer
	rounds   int
	records  map[int]int // by record size
	profiles string
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	o := options{records: map[int]int{100: 3_000_000, 1024: 1_000_000}}
	flags := flag.NewFlagSet("poll", flag.ContinueOnError)
	flags.SetOutput(usage)
	broker := flags.String("broker", string(result.SkeinOS), "the `broker` to read from: "+string(result.Skein)+", "+string(result.SkeinOS)+" or "+string(result.Kafka))
	flags.IntVar(&o.rounds, "rounds", 7, "how many times each reader reads; the table holds medians")
	flags.StringVar(&o.profiles, "profile", "", "write a processor profile of each reader to this `directory`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.broker = result.Peer(*broker)
	if o.broker.Title() == *broker || flags.NArg() > 0 || o.rounds < 1 {
		return o, errors.New("there are no arguments, a broker that is known, and one round at least")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	dir, remove, err := peers.Dir("", o.broker)
	if err != nil {
		return err
	}
	defer func() { _ = remove() }()
	return measure(ctx, o, dir, out, progress)
}

// startPatience bounds the broker's start.
const startPatience = time.Minute

func measure(ctx context.Context, o options, dir string, out, progress io.Writer) (err error) {
	launcher := peers.Launcher{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}}
	if o.broker != result.Kafka {
		if launcher.Skein, err = peers.BuildSkein(ctx, dir); err != nil {
			return err
		}
	}
	broker, err := launcher.Launch(ctx, o.broker, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Stop()) }()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := wire.AwaitFirstProduce(starting, broker.Addr, "started"); err != nil {
		return err
	}
	description, err := machine.Describe(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s. Medians of %d, from %s.\n", description, o.rounds, o.broker.Title())
	for _, size := range result.Sizes() {
		samples, err := ofSize(ctx, o, broker.Addr, size, progress)
		if err != nil {
			return err
		}
		writeTable(out, size, samples)
	}
	return nil
}

// ofSize fills a topic with records of a size, and has each reader read it in
// each round, beginning with another one.
func ofSize(ctx context.Context, o options, addr string, size int, progress io.Writer) (map[string][]sample, error) {
	topic, count := fmt.Sprintf("of-%d", size), o.records[size]
	if err := load.CreateTopic(ctx, addr, topic); err != nil {
		return nil, err
	}
	if _, err := load.Produce(ctx, addr, topic, size, count, load.Uncompressed); err != nil {
		return nil, err
	}
	samples := map[string][]sample{}
	all := readers()
	for round := range o.rounds {
		for i := range all {
			reader := all[(i+round)%len(all)]
			s, err := child(ctx, o, reader, addr, topic, fmt.Sprintf("%s-%d-%d", topic, round, i), count)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(progress, "%d B, %s: %.0f k/s, %.3f s of CPU a million\n", size, reader, s.rate()/1000, s.cpu())
			samples[reader] = append(samples[reader], s)
		}
	}
	return samples, nil
}

// child reads the whole topic in a process of its own.
func child(ctx context.Context, o options, reader, addr, topic, group string, count int) (s sample, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	profile := ""
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return s, fmt.Errorf("making the directory for profiles: %w", err)
		}
		profile = filepath.Join(o.profiles, strings.NewReplacer(" ", "-", ",", "").Replace(topic+" "+reader)+".pprof")
	}
	cmd := exec.CommandContext(ctx, self, readVerb, reader, addr, topic, group, strconv.Itoa(count), profile)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("%s: %w", reader, err)
	}
	return s, json.Unmarshal(text, &s)
}
