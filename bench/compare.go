package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/quiet"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/interop/kafka"
)

// busy is the load average above which the numbers are not worth much.
const busy = 1.5

// comparison is one run of the program.
type comparison struct {
	options  options
	launcher peers.Launcher
	scratch  string // removed at the end
	java     *kafka.Tools
	kcat     *load.Kcat
	progress io.Writer
	began    time.Time

	transactors map[string]*load.ForeignTransactors // by client

	table    result.Table
	failures []error // phases that failed; the others go on
	quiet    quiet.Keeper
}

// compare runs the comparison and writes the table to out.
func compare(ctx context.Context, o options, out, progress io.Writer) error {
	c := &comparison{options: o, progress: progress, began: time.Now(), transactors: map[string]*load.ForeignTransactors{}}
	c.quiet = quiet.Keeper{Patience: o.patience, Noisy: o.plan.noisy, Say: c.say}
	err := c.prepare(ctx)
	if c.scratch != "" {
		defer os.RemoveAll(c.scratch)
	}
	if err != nil {
		return err
	}
	description, err := machine.Describe(o.dir)
	if err != nil {
		return err
	}
	c.say("%s", description)
	c.warnIfBusy()
	if err := c.rounds(ctx); err != nil {
		return err
	}
	c.warnIfBusy()
	return errors.Join(c.write(out, description), errors.Join(c.failures...))
}

func (c *comparison) say(format string, args ...any) {
	fmt.Fprintf(c.progress, "%7s  %s\n", time.Since(c.began).Truncate(time.Second), fmt.Sprintf(format, args...))
}

// warnIfBusy tells when others use the machine, or when the run itself still
// shows in the average.
func (c *comparison) warnIfBusy() {
	if l, ok := machine.Load(); ok && l > busy {
		c.say("the load average is %.1f: unless that was this run, somebody else uses the machine", l)
	}
}

// prepare gets everything that the run needs, so that nothing is built or
// fetched later.
func (c *comparison) prepare(ctx context.Context) error {
	var err error
	if c.scratch, err = os.MkdirTemp(c.options.dir, "skein-bench-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	if c.launcher.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	c.launcher.Profiles = c.options.profiles != ""
	if c.launcher.Profiles {
		if err := os.MkdirAll(c.options.profiles, 0o755); err != nil {
			return fmt.Errorf("making the directory for profiles: %w", err)
		}
	}
	if slices.Contains(c.options.peers, result.Skein) || slices.Contains(c.options.peers, result.SkeinOS) {
		c.say("building skein")
		if c.launcher.Skein, err = peers.BuildSkein(ctx, c.scratch); err != nil {
			return err
		}
	}
	c.findClients(ctx)
	return ctx.Err()
}

// findClients looks for the clients of other languages; those that are not
// here leave their rows empty, which is said.
func (c *comparison) findClients(ctx context.Context) {
	if c.wants("java") {
		if tools, err := kafka.Install(ctx, kafka.V4); err == nil {
			c.java = &tools
			c.findTransactors("java", func() (*load.ForeignTransactors, error) { return load.JavaTransactors(tools, c.scratch) })
		} else {
			c.say("no rows of the Java client: %v", err)
		}
	}
	if c.wants("librdkafka") {
		if k, ok := load.FindKcat(c.scratch); ok {
			c.kcat = &k
		} else {
			c.say("no rows of librdkafka: kcat is not installed")
		}
		c.findTransactors("librdkafka", func() (*load.ForeignTransactors, error) { return load.LibrdkafkaTransactors(ctx, c.scratch) })
	}
}

func (c *comparison) findTransactors(client string, find func() (*load.ForeignTransactors, error)) {
	f, err := find()
	if err != nil {
		c.say("no transactions of the client %s: %v", client, err)
		return
	}
	c.transactors[client] = f
}

// wants tells whether a phase of that client is to run.
func (c *comparison) wants(client string) bool {
	return slices.ContainsFunc(phases(), func(p phase) bool { return p.client == client && c.options.only.MatchString(p.name) })
}

// rounds drives each peer once a round, beginning with another one each time.
func (c *comparison) rounds(ctx context.Context) error {
	all := c.options.peers
	for round := range c.options.rounds {
		for i := range all {
			p := all[(i+round)%len(all)]
			c.say("round %d of %d: %s", round+1, c.options.rounds, p)
			err := c.visit(ctx, p)
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted: %w", context.Cause(ctx))
			}
			if err != nil {
				c.fail(fmt.Errorf("%s: %w", p, err))
			}
		}
	}
	return nil
}

func (c *comparison) fail(err error) {
	c.say("FAILED %v", err)
	c.failures = append(c.failures, err)
}

func (c *comparison) write(out io.Writer, description string) error {
	document, err := c.table.JSON(result.Document{Machine: description, Rounds: c.options.rounds, Quick: c.options.quick})
	if err != nil {
		return err
	}
	if c.options.json == "-" {
		_, err := fmt.Fprintf(out, "%s\n", document)
		return err
	}
	if c.options.json != "" {
		if err := os.WriteFile(filepath.Clean(c.options.json), append(document, '\n'), 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s. Medians of %d; others disturbed %d phases.\n\n%s",
		description, c.options.rounds, c.quiet.Disturbed, c.table.Markdown())
	return err
}
