package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/peers"
)

// Columns of fleets.
const (
	producers   = "producers" // transactional ids that came with the fleet
	connections = "connections"
	inits       = "InitProducerId" // from the start until the fleet is settled
	addingParts = "AddPartitionsToTxn/s"
	addingOffs  = "AddOffsetsToTxn/s"
	offsetsOf   = "TxnOffsetCommit/s"
	endings     = "EndTxn/s"
	requests    = "requests/s"          // of all kinds
	perThousand = "requests a thousand" // of records that were copied
	brokerShare = "broker CPU share"
	workerShare = "worker CPU share"
	resident    = "resident"
	copiedRate  = "copied/s"
)

// Topics that all fleets have, one after the other: each begins at the end.
const fleetInput, fleetOutput = "fleet-in", "fleet-out"

const (
	fleetRate = 100 // records a second to each partition: ten for each commit
	fleetSize = 100 // bytes of each
	// settling is for how long a fleet runs, once it is whole, before it is counted.
	settling = time.Second
	// wholeEach is how often it is asked whether the fleet is whole.
	wholeEach = 100 * time.Millisecond
)

// fleet has so many workers share the partitions of a topic, to which records
// come at a fixed rate, and counts what the broker is asked for.
func (v *visit) fleet(ctx context.Context, c client, name string, count int) (found map[string]float64, err error) {
	j := job{addr: v.broker.Addr, group: name, input: fleetInput, output: fleetOutput, interval: v.interval}
	ends, err := v.admin.ends(ctx, j.input, v.size.partitions)
	if err != nil {
		return nil, err
	}
	if err := v.admin.commit(ctx, j.group, j.input, ends); err != nil {
		return nil, err
	}
	before, err := v.census(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := v.hire(ctx, c, j, count)
	if err != nil {
		return nil, err
	}
	work, working := errgroup.WithContext(workers.ctx)
	feeding, stop := context.WithCancel(working)
	defer stop()
	work.Go(func() error { return load.Trickle(feeding, j.addr, j.input, v.size.partitions, fleetRate, fleetSize) })
	work.Go(func() (err error) {
		defer stop()
		found, err = v.count(working, j, workers, before)
		return err
	})
	return found, v.end(ctx, workers, work.Wait())
}

// count waits until the fleet is whole, and counts for a while.
func (v *visit) count(ctx context.Context, j job, workers *crew, before census) (map[string]float64, error) {
	if err := v.whole(ctx, j, len(workers.workers)); err != nil {
		return nil, fmt.Errorf("waiting for the fleet to be whole: %w", err)
	}
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}
	from, err := v.look(ctx, j, workers)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, v.size.fleet); err != nil {
		return nil, err
	}
	to, err := v.look(ctx, j, workers)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(to.ids, func(id string, _ bool) bool { return before.ids[id] })
	found := to.since(from)
	found[perThousand] = 1000 * found[requests] / found[copiedRate]
	found[producers] = float64(len(to.ids))
	found[connections] = float64(to.connections - before.connections)
	found[inits] = float64(from.requests.Since(before.requests)["initproducerid"])
	found[resident] = float64(to.resident) / 1e6
	return found, nil
}

// whole waits until all workers are in the group, it is at rest, and something of
// each partition has been committed since it was full.
func (v *visit) whole(ctx context.Context, j job, members int) error {
	for {
		stable, err := v.admin.stable(ctx, j.group, members)
		if err != nil {
			return err
		}
		if stable {
			break
		}
		if err := pause(ctx, wholeEach); err != nil {
			return err
		}
	}
	first, err := v.admin.committed(ctx, j.group, j.input, v.size.partitions)
	if err != nil {
		return err
	}
	for {
		now, err := v.admin.committed(ctx, j.group, j.input, v.size.partitions)
		if err != nil {
			return err
		}
		late := slices.DeleteFunc(slices.Collect(maps.Keys(now)), func(p int32) bool { return now[p] > first[p] })
		if len(now) == v.size.partitions && len(late) == 0 {
			return nil
		}
		if err := pause(ctx, wholeEach); err != nil {
			return err
		}
	}
}

// census is what is known of a broker, and of a fleet if there is one.
type census struct {
	at             time.Time
	requests       peers.Requests
	ids            map[string]bool
	connections    int
	broker, worker time.Duration // processor time
	resident       int64
	done           int64
}

// since are the measures of the time between two.
func (c census) since(from census) map[string]float64 {
	seconds := c.at.Sub(from.at).Seconds()
	more := c.requests.Since(from.requests)
	rate := func(api string) float64 { return float64(more[api]) / seconds }
	return map[string]float64{
		addingParts: rate("addpartitionstotxn"), addingOffs: rate("addoffsetstotxn"),
		offsetsOf: rate("txnoffsetcommit"), endings: rate("endtxn"),
		brokerShare: (c.broker - from.broker).Seconds() / seconds,
		workerShare: (c.worker - from.worker).Seconds() / seconds,
		copiedRate:  float64(c.done-from.done) / seconds,
		requests:    transactionRequests(more) / seconds,
	}
}

// transactionRequests are those that a transaction's coordinator, or the group's
// for a transaction, has to answer.
func transactionRequests(r peers.Requests) (all float64) {
	for _, api := range []string{"initproducerid", "addpartitionstotxn", "addoffsetstotxn", "txnoffsetcommit", "endtxn", "writetxnmarkers"} {
		all += float64(r[api])
	}
	return all
}
