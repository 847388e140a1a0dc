package main

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/stats"
)

const (
	recordSize = 1024
	// Of the copying, what counts begins and ends with a commit: after a part in
	// which a Java machine compiles, and before the last one, which waits for
	// records that do not come.
	countFrom, countTo = 0.25, 0.95
	looksEach          = 10 * time.Millisecond // for commits
)

// copyMeasures are the columns of who copies alone.
const (
	rateOf    = "records/s"
	workerCPU = "worker CPU"
	brokerCPU = "broker CPU"
	produces  = "Produce a thousand" // requests for so many records
	fetches   = "Fetch a thousand"
	latency50 = "p50"
	latency99 = "p99"
)

// copying has one worker copy what is there, and then what comes.
func (v *visit) copying(ctx context.Context, c client, name string) (found map[string]float64, err error) {
	j := job{addr: v.broker.Addr, group: name, input: v.input, output: name, interval: v.interval}
	if err := v.create(ctx, j.output, load.Partitions); err != nil {
		return nil, err
	}
	workers, err := v.hire(ctx, c, j, 1)
	if err != nil {
		return nil, err
	}
	found, err = v.copyAll(workers.ctx, j, workers)
	if err == nil {
		var l stats.Latencies
		l, err = load.CopyLatency(workers.ctx, j.addr, load.Passage{From: j.input, To: j.output, Size: recordSize, Rate: v.size.rate, Length: v.size.latency})
		if err == nil {
			found[latency50], found[latency99] = stats.Milliseconds(l.P50), stats.Milliseconds(l.P99)
		}
	}
	return found, v.end(ctx, workers, err, j.output)
}

// moment is what is known just after a commit.
type moment struct {
	at             time.Time
	done           int64
	worker, broker time.Duration // processor time
	requests       peers.Requests
}

// copyAll waits until the worker has committed all of the input, and tells how
// fast that went.
func (v *visit) copyAll(ctx context.Context, j job, workers *crew) (map[string]float64, error) {
	ends, err := v.admin.ends(ctx, j.input, load.Partitions)
	if err != nil {
		return nil, err
	}
	all := sum(ends)
	var from, to moment
	for from.done == 0 || to.done == 0 {
		m, err := v.moment(ctx, j, workers)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", from.done, all, err)
		}
		switch share := float64(m.done) / float64(all); {
		case from.done == 0 && share >= countFrom:
			from = m
			from.requests, err = v.broker.Requests(ctx)
		case share >= countTo:
			to = m
			to.requests, err = v.broker.Requests(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if from.done >= to.done {
		return nil, fmt.Errorf("one commit had %d of %d records: give it more", to.done, all)
	}
	count, asked := float64(to.done-from.done), to.requests.Since(from.requests)
	return map[string]float64{
		produces:  float64(asked["produce"]) * 1000 / count,
		fetches:   float64(asked["fetch"]) * 1000 / count,
		rateOf:    count / to.at.Sub(from.at).Seconds(),
		workerCPU: (to.worker - from.worker).Seconds() * 1e6 / count,
		brokerCPU: (to.broker - from.broker).Seconds() * 1e6 / count,
	}, nil
}

// moment waits a little, and looks how far the group has come.
func (v *visit) moment(ctx context.Context, j job, workers *crew) (m moment, err error) {
	if err := pause(ctx, looksEach); err != nil {
		return m, err
	}
	offsets, err := v.admin.committed(ctx, j.group, j.input, load.Partitions)
	if err != nil {
		return m, err
	}
	m.at, m.done = time.Now(), sum(offsets)
	if m.worker, err = workers.used(); err != nil {
		return m, err
	}
	m.broker, err = v.broker.Process.CPU()
	return m, err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
