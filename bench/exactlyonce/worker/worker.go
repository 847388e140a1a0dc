// Package worker holds the programs that are measured: each is a member of a
// group that copies one topic to another, in the way its client's documents
// teach it, as one transaction with its offsets each interval, or as well as it
// goes without transactions.
//
// A worker says nothing; what it did is read from the broker. When its standard
// input ends it leaves.
package worker

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/skeinstream/skein/interop/clients/go/program"
)

// Modes of a worker.
const (
	ExactlyOnce  = "exactly-once"
	AtLeastOnce  = "at-least-once"
	PerPartition = "per-partition" // exactly once, by a transactional producer for each partition of the input
)

// arguments are the same for all clients, those of other languages too.
type arguments struct {
	bootstrap, group, input, output string
	name                            string // of the member, and what transactional ids begin with
	mode                            string
	interval                        time.Duration // between two commits
}

// Run is one worker until standard input ends; the first argument names the
// client.
func Run(args []string) error {
	if len(args) != 8 {
		return fmt.Errorf("%d arguments, want 8", len(args))
	}
	a := arguments{bootstrap: args[1], group: args[2], input: args[3], output: args[4], name: args[5], mode: args[6]}
	if err := program.Milliseconds(args[7:], &a.interval); err != nil {
		return err
	}
	run, ok := programs()[[2]string{args[0], a.mode}]
	if !ok {
		return fmt.Errorf("%s has no program that copies %s", args[0], a.mode)
	}
	profiled, err := profile(os.Getenv(ProfileEnv))
	if err != nil {
		return err
	}
	defer profiled()
	ctx, leave := program.UntilInputEnds()
	defer leave()
	return run(ctx, a)
}

// ProfileEnv names the environment variable with the file that a worker of a Go
// client writes its processor profile to, if there is one.
const ProfileEnv = "SKEIN_BENCH_WORKER_PROFILE"

func profile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("writing a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("taking a profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

func programs() map[[2]string]func(context.Context, arguments) error {
	return map[[2]string]func(context.Context, arguments) error{
		{"franz-go", ExactlyOnce}:  franzSession,
		{"franz-go", AtLeastOnce}:  franzPlain,
		{"franz-go", PerPartition}: franzPerPartition,
		{"skein", ExactlyOnce}:     skeinExactlyOnce,
		{"skein", AtLeastOnce}:     skeinPlain,
		{"skein", PerPartition}:    skeinPerPartition,
	}
}

// report tells of what a client will do again by itself.
func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
