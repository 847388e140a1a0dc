package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/stops"
	"github.com/skeinstream/skein/bench/internal/wire"
)

// startPatience bounds a broker's start.
const startPatience = time.Minute

// cell is what is known of one client in one scenario on one broker.
type cell struct {
	Broker, Client, Scenario string

	stops.Summary
}

// measurement is one run of the program.
type measurement struct {
	options
	launcher peers.Launcher
	scratch  string
	began    time.Time
	progress io.Writer

	mu       sync.Mutex
	cells    []*cell
	failures []error
}

func measure(ctx context.Context, o options, out, progress io.Writer) (err error) {
	m := &measurement{options: o, progress: progress, began: time.Now()}
	if m.scratch, err = os.MkdirTemp("", "skein-bench-rebalance-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(m.scratch)
	m.launcher.Settings = o.settings()
	description, err := machine.Describe(m.scratch)
	if err != nil {
		return err
	}
	for _, broker := range o.brokers {
		if err := m.broker(ctx, broker); err != nil {
			m.failures = append(m.failures, err)
		}
	}
	m.write(out, description) // of a run that is interrupted, too
	if o.json != "" {
		m.failures = append(m.failures, writeJSON(o.json, m.cells))
	}
	return errors.Join(m.failures...)
}

// settings are the brokers': groups begin at once, and those of KIP-848, whose
// times the broker keeps, have the times of the others.
func (o options) settings() map[string]string {
	return map[string]string{"group.initial.rebalance.delay.ms": "0"}
}

func (o options) kafkaSettings() map[string]string {
	s := o.settings()
	for name, d := range map[string]time.Duration{"session.timeout.ms": o.times.session, "heartbeat.interval.ms": o.times.heartbeat} {
		s["group.consumer."+name], s["group.consumer.min."+name] = millis(d), millis(d)
	}
	return s
}

func (m *measurement) say(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.progress, "%7s  %s\n", time.Since(m.began).Truncate(time.Second), fmt.Sprintf(format, args...))
}

// broker runs all rounds on one broker.
func (m *measurement) broker(ctx context.Context, p result.Peer) (err error) {
	launcher := m.launcher
	if p == result.Kafka {
		launcher.Settings = m.kafkaSettings()
	} else if launcher.Skein, err = peers.BuildSkein(ctx, m.scratch); err != nil {
		return err
	}
	dir, remove, err := peers.Dir(m.scratch, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b, err := launcher.Launch(ctx, p, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := wire.AwaitFirstProduce(starting, b.Addr, "started"); err != nil {
		return fmt.Errorf("%w; the broker said:\n%s", err, b.Said())
	}
	m.warmUp(ctx, b.Addr, dir)
	for round := range m.rounds {
		m.round(ctx, p, b.Addr, dir, round)
	}
	return ctx.Err()
}

// warmUp lets a Java machine compile, and each client's own machine load what
// it needs from the disk.
func (m *measurement) warmUp(ctx context.Context, addr, dir string) {
	if m.noWarm {
		return
	}
	m.say("warming up")
	warm := life{"warm", nil, func(ctx context.Context, g *group, s size) error {
		if err := g.begin(ctx, 2, g.client.assignors); err != nil {
			return err
		}
		return g.bounce(ctx, 1, "warm", g.client.assignors)
	}}
	for i, c := range m.clients {
		if c.kip848 {
			continue
		}
		if _, err := warm.run(ctx, addr, fmt.Sprintf("warm-%d", i), dir, c, m.options); err != nil {
			m.say("warming up failed: %v", err)
		}
	}
}

// round has each client live each life, beginning with another client each time.
func (m *measurement) round(ctx context.Context, p result.Peer, addr, dir string, round int) {
	var lanes errgroup.Group
	lanes.SetLimit(m.lanes)
	for i, l := range lives() {
		if !slices.ContainsFunc(l.scenarios, m.only.MatchString) {
			continue
		}
		for j := range m.clients {
			c := m.clients[(j+round)%len(m.clients)]
			if ctx.Err() != nil || c.kip848 && p != result.Kafka || l.name == swap && c.bounces == nil {
				continue
			}
			name := fmt.Sprintf("%s-%d-%d-%d", l.name, round, i, j)
			lanes.Go(func() error { m.live(ctx, p, addr, name, dir, l, c); return nil })
		}
	}
	_ = lanes.Wait()
}

func (m *measurement) live(ctx context.Context, p result.Peer, addr, name, dir string, l life, c client) {
	m.say("%s: %s: %s", p, c.name, l.name)
	outcomes, err := l.run(ctx, addr, name, dir, c, m.options)
	if err != nil {
		m.say("FAILED %v", err)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failures = append(m.failures, fmt.Errorf("%s: %s: %w", p, l.name, err))
		return
	}
	for _, scenario := range l.scenarios {
		if !m.only.MatchString(scenario) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(outcomes), func(o stops.Outcome) bool { return o.Name != scenario && !o.Calm })
		x := m.add(p, c, scenario, of)
		m.say("  %s", x)
	}
}

// add enters a round of a client into its cell, and returns the round in brief.
func (m *measurement) add(p result.Peer, c client, scenario string, outcomes []stops.Outcome) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.cells, func(x *cell) bool {
		return x.Broker == string(p) && x.Client == c.name && x.Scenario == scenario
	})
	if i < 0 {
		i = len(m.cells)
		m.cells = append(m.cells, &cell{Broker: string(p), Client: c.name, Scenario: scenario})
	}
	m.cells[i].Add(outcomes)
	var one stops.Summary
	one.Add(outcomes)
	return fmt.Sprintf("%s: %s", scenario, brief(&one))
}
