package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/stats"
	"github.com/skeinstream/skein/bench/internal/wire"
)

// startPatience bounds a start, phasePatience one phase.
const (
	startPatience = 2 * time.Minute
	phasePatience = 5 * time.Minute
)

// visit is one broker in one round, from its start to its end.
type visit struct {
	*comparison
	peer    result.Peer
	broker  *peers.Broker
	try     int      // of the phase that runs, from 1
	samples []sample // of that try
	warm    bool     // transactions have run
}

// sample is one number of a row.
type sample struct {
	row   string
	value float64
}

// visit starts a peer on fresh data, drives it through the phases and ends it.
func (c *comparison) visit(ctx context.Context, p result.Peer) (err error) {
	dir, remove, err := peers.Dir(c.options.dir, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	c.quiet.Await(ctx, 0)
	machine.Settle()
	broker, err := c.launcher.Launch(ctx, p, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Stop()) }()
	v := &visit{comparison: c, peer: p, broker: broker}
	if err := v.start(ctx); err != nil {
		return fmt.Errorf("%w; it said:\n%s", err, broker.Said())
	}
	v.keep()
	return v.phases(ctx)
}

// start waits for the first accepted produce.
func (v *visit) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := wire.AwaitFirstProduce(ctx, v.broker.Addr, "started"); err != nil {
		return err
	}
	v.add(result.StartID, stats.Milliseconds(time.Since(v.broker.Began)))
	return nil
}

// phases runs those that are wanted. One that fails is reported and the next
// one goes on.
func (v *visit) phases(ctx context.Context) error {
	for _, p := range phases() {
		if !p.always && !v.options.only.MatchString(p.name) {
			continue
		}
		err := v.quiet.Undisturbed(ctx, v.broker.Process, func(try int) error { return v.attempt(ctx, p, try) })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			v.fail(fmt.Errorf("%s: %s: %w", v.peer, p.name, err))
		}
		v.keep()
	}
	return nil
}

// attempt runs a phase once; what an earlier try has found is forgotten.
func (v *visit) attempt(ctx context.Context, p phase, try int) error {
	v.try, v.samples = try, nil
	machine.Settle()
	v.say("  %s: %s", v.peer, p.name)
	ctx, cancel := context.WithTimeout(ctx, phasePatience)
	defer cancel()
	return p.run(ctx, v)
}

// add notes one sample and shows it.
func (v *visit) add(row string, value float64) {
	v.samples = append(v.samples, sample{row, value})
	v.say("    %s %s", row, result.Number(value))
}

// keep enters the samples into the table.
func (v *visit) keep() {
	for _, s := range v.samples {
		v.table.Add(v.peer, s.row, s.value)
	}
	v.samples = nil
}

// throughput runs drive, which moves count records, and records the rate that
// it tells and the processor time that the broker spent on it.
func (v *visit) throughput(client, verb string, size, count int, drive func() (float64, error)) error {
	var rate float64
	cost, err := v.cost(result.RateID(client, verb, size), func() (err error) {
		rate, err = drive()
		return err
	})
	if err != nil {
		return err
	}
	v.add(result.RateID(client, verb, size), rate/1000)
	v.add(result.CPUID(client, verb, size), perMillion(cost, count))
	return nil
}

// cost is the processor time that the broker spends while drive runs, which is
// profiled by the name of its row where that was asked for.
func (v *visit) cost(row string, drive func() error) (time.Duration, error) {
	before, err := v.broker.Process.CPU()
	if err != nil {
		return 0, err
	}
	finish := v.profile(row)
	if err := drive(); err != nil {
		return 0, err
	}
	after, err := v.broker.Process.CPU()
	if err != nil {
		return 0, err
	}
	return after - before, finish()
}

// perMillion is what a million costs when count cost so much, in seconds.
func perMillion(cost time.Duration, count int) float64 { return cost.Seconds() * 1e6 / float64(count) }

// latencies records the percentiles of a run at a rate.
func (v *visit) latencies(verb string, rate int, l stats.Latencies) {
	v.add(result.LatencyID(verb, rate, "p50"), stats.Milliseconds(l.P50))
	v.add(result.LatencyID(verb, rate, "p99"), stats.Milliseconds(l.P99))
	v.add(result.LatencyID(verb, rate, "p99.9"), stats.Milliseconds(l.P999))
}

// resident records the broker's memory in MB (10^6 bytes).
func (v *visit) resident(row string) error {
	bytes, err := v.broker.Process.Resident()
	if err != nil {
		return err
	}
	v.add(row, float64(bytes)/1e6)
	return nil
}
