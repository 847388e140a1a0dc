package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skeinstream/skein/bench/internal/groups"
	"github.com/skeinstream/skein/bench/internal/result"
)

// groupPhases drive the group coordinator.
func groupPhases() []phase {
	var all []phase
	for _, c := range result.Crews() {
		all = append(all, phase{name: c.ID(), run: commits(c)})
	}
	return append(all, phase{name: "members", run: members})
}

// leadIn is how much of a run goes before it, uncounted: a Java machine
// compiles what it has not been asked before.
func leadIn(length time.Duration) time.Duration { return length / 2 }

func commits(crew result.Crew) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) (err error) {
		topic, err := v.topic(ctx, crew.ID())
		if err != nil {
			return err
		}
		all, err := groups.NewCommitters(ctx, v.broker.Addr, topic, crew.Connections)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, all.Close()) }()
		if _, _, err := all.Run(ctx, crew.InFlight, leadIn(v.options.plan.groups)); err != nil {
			return err
		}
		var count int
		var took time.Duration
		cost, err := v.cost(crew.ID(), func() (err error) {
			count, took, err = all.Run(ctx, crew.InFlight, v.options.plan.groups)
			return err
		})
		if err != nil {
			return err
		}
		v.add(crew.ID(), float64(count)/1000/took.Seconds())
		v.add(crew.CPUID(), perMillion(cost, count))
		return nil
	}
}

// members lets many join at once, and then send heartbeats.
func members(ctx context.Context, v *visit) (err error) {
	topic, err := v.topic(ctx, "members")
	if err != nil {
		return err
	}
	all, err := v.storm(ctx, topic)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Leave()) }()
	if _, err := all.Beat(ctx, leadIn(v.options.plan.groups)); err != nil {
		return err
	}
	var beats int
	cost, err := v.cost(result.HeartbeatCPUID, func() (err error) {
		beats, err = all.Beat(ctx, v.options.plan.groups)
		return err
	})
	if err != nil {
		return err
	}
	v.add(result.HeartbeatCPUID, perMillion(cost, beats))
	return nil
}

func (v *visit) storm(ctx context.Context, topic string) (all *groups.Members, err error) {
	cost, err := v.cost(result.StormTimeID, func() (err error) {
		all, err = groups.Join(ctx, v.broker.Addr, topic, fmt.Sprintf("members.%d", v.try), v.options.plan.storm)
		return err
	})
	if err != nil {
		return nil, err
	}
	took, generations := all.Settled()
	v.add(result.StormTimeID, took.Seconds())
	v.add(result.StormGenerationsID, float64(generations))
	v.add(result.StormCPUID, cost.Seconds())
	return all, nil
}
