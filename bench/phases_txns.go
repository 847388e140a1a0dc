package main

import (
	"context"
	"fmt"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/stats"
)

// txnPhases run transactions.
func txnPhases() []phase {
	var all []phase
	for _, s := range result.Shapes() {
		all = append(all, phase{name: s.ID(), run: transactions(s)})
	}
	for _, client := range result.Foreign() {
		for _, s := range result.ForeignShapes() {
			all = append(all, phase{name: s.ForeignID(client), client: client, run: foreignTransactions(client, s)})
		}
	}
	for _, s := range result.PacedShapes() {
		all = append(all, phase{name: s.PacedID(), run: paced(s)})
	}
	return append(all, phase{name: "txn-consume", run: committedOnly})
}

func transactions(s result.Shape) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		topic, err := v.txnTopic(ctx, s.ID())
		if err != nil {
			return err
		}
		with, err := v.transact(ctx, s, topic)
		if err != nil || s.Producers > 1 {
			return err
		}
		without, err := v.runTransactors(ctx, s, topic, false, v.run)
		if err != nil {
			return err
		}
		v.add(s.ShareID(), 100*with.Rate()/without.Rate())
		return nil
	}
}

// txnTopic makes the topic of a phase, with a broker that is warm.
func (v *visit) txnTopic(ctx context.Context, id string) (string, error) {
	if err := v.warmTransactions(ctx); err != nil {
		return "", err
	}
	return v.topic(ctx, id)
}

// warmTransactions runs transactions before the first ones that are measured:
// the coordinator makes its topic, and a Java machine compiles it.
func (v *visit) warmTransactions(ctx context.Context) error {
	if v.warm {
		return nil
	}
	topic, err := v.topic(ctx, "txn-warm-up")
	if err != nil {
		return err
	}
	shapes := result.Shapes()
	most := shapes[len(shapes)-1].Producers
	all, err := load.NewTransactors(v.broker.Addr, topic, most, 1, true)
	if err != nil {
		return err
	}
	defer all.Close()
	_, err = all.Run(ctx, 2*v.options.plan.txns)
	v.warm = err == nil
	return err
}

// transact measures the transactions of one shape.
func (v *visit) transact(ctx context.Context, s result.Shape, topic string) (load.Committed, error) {
	return v.runTransactors(ctx, s, topic, true, func(ctx context.Context, all *load.Transactors) (done load.Committed, err error) {
		cost, err := v.cost(s.ID(), func() (err error) {
			done, err = v.run(ctx, all)
			return err
		})
		if err != nil {
			return done, err
		}
		v.add(s.ID(), done.Rate())
		v.add(s.CommitID("p50"), stats.Milliseconds(done.Commit.P50))
		v.add(s.CommitID("p99"), stats.Milliseconds(done.Commit.P99))
		v.add(s.CPUID(), perMillion(cost, done.Groups))
		return done, nil
	})
}

// run is one run of the length that the plan says.
func (v *visit) run(ctx context.Context, all *load.Transactors) (load.Committed, error) {
	return all.Run(ctx, v.options.plan.txns)
}

// runTransactors starts producers and calls measure once they are warm.
func (v *visit) runTransactors(ctx context.Context, s result.Shape, topic string, transactional bool,
	measure func(context.Context, *load.Transactors) (load.Committed, error)) (load.Committed, error) {
	all, err := load.NewTransactors(v.broker.Addr, topic, s.Producers, s.Records, transactional)
	if err != nil {
		return load.Committed{}, err
	}
	defer all.Close()
	if _, err := all.Run(ctx, leadIn(v.options.plan.txns)); err != nil {
		return load.Committed{}, err
	}
	return measure(ctx, all)
}

// foreignTransactions are those of a client of another language, which waits in its own way for brokers that ask it to.
func foreignTransactions(client string, s result.Shape) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		if v.transactors[client] == nil {
			return nil
		}
		topic, err := v.txnTopic(ctx, s.ForeignID(client))
		if err != nil {
			return err
		}
		length := v.options.plan.txns
		done, err := v.transactors[client].Run(ctx, v.broker.Addr, topic, s.Producers, s.Records, leadIn(length), length)
		if err != nil {
			return err
		}
		v.add(s.ForeignID(client), done.Rate())
		v.add(s.ForeignCommitID(client, "p50"), stats.Milliseconds(done.Commit.P50))
		v.add(s.ForeignCommitID(client, "p99"), stats.Milliseconds(done.Commit.P99))
		return nil
	}
}

// pacedFor is how many times longer paced rows run than others, since they have
// fewer commits to take percentiles of.
const pacedFor = 4

// paced measures the commits of transactions that begin at a fixed rate.
func paced(s result.Shape) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		topic, err := v.txnTopic(ctx, s.PacedID())
		if err != nil {
			return err
		}
		done, err := v.runTransactors(ctx, s, topic, true, func(ctx context.Context, all *load.Transactors) (load.Committed, error) {
			all.Pace(result.Pace)
			return all.Run(ctx, pacedFor*v.options.plan.txns)
		})
		if err != nil {
			return err
		}
		v.add(s.PacedCommitID("p50"), stats.Milliseconds(done.Commit.P50))
		v.add(s.PacedCommitID("p99"), stats.Milliseconds(done.Commit.P99))
		return nil
	}
}

// What the topic of committedOnly is made by: producers, and records in each
// of their transactions.
const (
	fillProducers = 8
	fillRecords   = 1000
)

// committedOnly reads the committed records of a topic in which every eleventh
// transaction was aborted.
func committedOnly(ctx context.Context, v *visit) error {
	topic, err := v.topic(ctx, "txn-consume")
	if err != nil {
		return err
	}
	each := max(1, v.options.plan.committed/fillProducers/fillRecords)
	if err := v.fill(ctx, topic, each); err != nil {
		return fmt.Errorf("filling the topic: %w", err)
	}
	count := each * fillProducers * fillRecords
	return v.throughput(result.Committed, "consume", 100, consumePasses*count, func() (float64, error) {
		return load.ConsumeCommitted(ctx, v.broker.Addr, topic, count, consumePasses)
	})
}

func (v *visit) fill(ctx context.Context, topic string, each int) error {
	all, err := load.NewTransactors(v.broker.Addr, topic, fillProducers, fillRecords, true)
	if err != nil {
		return err
	}
	defer all.Close()
	return all.Fill(ctx, each)
}
