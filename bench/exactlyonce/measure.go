package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/quiet"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/wire"
)

const (
	startPatience = time.Minute     // with a broker's start
	workPatience  = 5 * time.Minute // with one worker, or one fleet
)

// measurement is one run of the program.
type measurement struct {
	options
	launcher peers.Launcher
	scratch  string
	began    time.Time
	progress io.Writer
	quiet    quiet.Keeper
	found    findings
	failures []error
}

func measure(ctx context.Context, o options, out, progress io.Writer) (err error) {
	m := &measurement{options: o, progress: progress, began: time.Now()}
	m.quiet = quiet.Keeper{Patience: o.patience, Noisy: o.noisy, Say: m.say}
	if m.scratch, err = os.MkdirTemp(o.dir, "skein-bench-exactlyonce-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(m.scratch)
	description, err := machine.Describe(m.scratch)
	if err != nil {
		return err
	}
	m.say("%s", description)
	m.launcher.Counts, m.launcher.Settings = true, map[string]string{"group.initial.rebalance.delay.ms": "0"}
	if m.launcher.Skein, err = peers.BuildSkein(ctx, m.scratch); err != nil {
		return err
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return fmt.Errorf("making the directory for profiles: %w", err)
		}
	}
	m.rounds(ctx)
	m.write(out, description) // of a run that is interrupted, too
	if o.json != "" {
		m.failures = append(m.failures, m.found.writeJSON(o.json))
	}
	return errors.Join(append(m.failures, ctx.Err())...)
}

func (m *measurement) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%7s  %s\n", time.Since(m.began).Truncate(time.Second), fmt.Sprintf(format, args...))
}

func (m *measurement) fail(err error) {
	m.say("FAILED %v", err)
	m.failures = append(m.failures, err)
}

// rounds drives each broker once a round, beginning with another one each time.
func (m *measurement) rounds(ctx context.Context) {
	for round := range m.options.rounds {
		for i := range m.brokers {
			p := m.brokers[(i+round)%len(m.brokers)]
			m.say("round %d of %d: %s", round+1, m.options.rounds, p)
			if err := m.visit(ctx, p, round); err != nil && ctx.Err() == nil {
				m.fail(fmt.Errorf("%s: %w", p, err))
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// visit is one broker in one round, from its start to its end.
type visit struct {
	*measurement
	peer   result.Peer
	round  int
	dir    string
	broker *peers.Broker
	admin  admin
	input  string // of who copies alone
	names  int    // that were given away
}

func (m *measurement) visit(ctx context.Context, p result.Peer, round int) (err error) {
	v := &visit{measurement: m, peer: p, round: round, input: "input"}
	var remove func() error
	if v.dir, remove, err = peers.Dir(m.dir, p); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	machine.Settle()
	if v.broker, err = m.launcher.Launch(ctx, p, v.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.broker.Stop()) }()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := wire.AwaitFirstProduce(starting, v.broker.Addr, "started"); err != nil {
		return fmt.Errorf("%w; it said:\n%s", err, v.broker.Said())
	}
	if v.admin, err = newAdmin(v.broker.Addr); err != nil {
		return err
	}
	defer v.admin.client.Close()
	if m.only.MatchString(copies) {
		if err := v.copies(ctx); err != nil {
			return err
		}
	}
	if m.only.MatchString(fleets) {
		return v.fleets(ctx)
	}
	return nil
}

// copies fills the input, has it copied once for nothing, so that the broker's
// Java machine has compiled what it needs, and lets each client copy it.
func (v *visit) copies(ctx context.Context) error {
	if err := v.create(ctx, v.input, load.Partitions); err != nil {
		return err
	}
	v.say("  filling the input")
	if err := load.Fill(ctx, v.broker.Addr, v.input, recordSize, v.size.records); err != nil {
		return err
	}
	if v.size.warm {
		v.say("  warming up")
		if _, err := v.copying(ctx, franzSession(), v.name("warm")); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	all := copiers()
	for i := range all {
		c := all[(i+v.round)%len(all)]
		v.attempts(ctx, c, 1, func(ctx context.Context, name string) (map[string]float64, error) { return v.copying(ctx, c, name) })
	}
	return ctx.Err()
}

// fleets counts each client's, of each number of workers.
func (v *visit) fleets(ctx context.Context) error {
	for _, topic := range []string{fleetInput, fleetOutput} {
		if err := v.create(ctx, topic, v.size.partitions); err != nil {
			return err
		}
	}
	all := fleetClients()
	if v.size.warm {
		v.say("  warming up")
		if _, err := v.fleet(ctx, all[len(all)-1], v.name("warm"), 2); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	for _, workers := range v.workers {
		for i := range all {
			c := all[(i+v.round)%len(all)]
			v.attempts(ctx, c, workers, func(ctx context.Context, name string) (map[string]float64, error) {
				return v.fleet(ctx, c, name, workers)
			})
		}
	}
	return ctx.Err()
}

// create makes a topic, and waits until all of it can be asked for: a broker may
// answer before.
func (v *visit) create(ctx context.Context, topic string, partitions int) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := load.CreateTopicOf(ctx, v.broker.Addr, topic, partitions); err != nil {
		return err
	}
	for {
		_, err := v.admin.ends(ctx, topic, partitions)
		if err == nil || !kerr.IsRetriable(err) {
			return err
		}
		if err := pause(ctx, looksEach); err != nil {
			return err
		}
	}
}

// name is new to the broker: a try that was disturbed leaves something behind.
func (v *visit) name(of string) string {
	v.names++
	return fmt.Sprintf("%s-%d", of, v.names)
}

// attempts measures one client until nobody disturbs it, and enters what the last
// try found. One that fails is reported and the next one goes on.
func (v *visit) attempts(ctx context.Context, c client, workers int, once func(ctx context.Context, name string) (map[string]float64, error)) {
	if ctx.Err() != nil || !v.clients.MatchString(c.name) {
		return
	}
	var last map[string]float64
	err := v.quiet.Undisturbed(ctx, v.broker.Process, func(int) (err error) {
		machine.Settle()
		v.say("  %s: %s, %d", v.peer, c.name, workers)
		ctx, cancel := context.WithTimeout(ctx, workPatience)
		defer cancel()
		last, err = once(ctx, v.name("copy"))
		return err
	})
	if err != nil && ctx.Err() == nil {
		v.fail(fmt.Errorf("%s: %s, %d workers: %w", v.peer, c.name, workers, err))
		return
	}
	for column, value := range last {
		v.found.add(key{string(v.peer), c.name, workers, column}, value)
	}
	v.say("    %s", brief(last))
}

// hire starts workers; Skein's are profiled where that was asked for.
func (v *visit) hire(ctx context.Context, c client, j job, count int) (*crew, error) {
	profiles := ""
	if c.ours {
		profiles = v.profiles
	}
	return hire(ctx, v.dir, profiles, c, j, count)
}

// end has workers leave, after their work has ended with err, and clears away
// what they leave behind.
func (v *visit) end(ctx context.Context, workers *crew, err error, topics ...string) error {
	err = workers.why(err)
	err = errors.Join(err, workers.dismiss())
	if len(topics) > 0 {
		err = errors.Join(err, v.admin.remove(ctx, topics...))
	}
	return err
}
