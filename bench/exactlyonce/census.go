package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
)

// census asks what the broker tells without a fleet.
func (v *visit) census(ctx context.Context) (c census, err error) {
	if c.requests, err = v.broker.Requests(ctx); err != nil {
		return c, err
	}
	c.at = time.Now()
	if c.broker, err = v.broker.Process.CPU(); err != nil {
		return c, err
	}
	if c.ids, err = v.admin.transactionalIDs(ctx); err != nil {
		return c, err
	}
	_, port, err := net.SplitHostPort(v.broker.Addr)
	if err != nil {
		return c, fmt.Errorf("reading the broker's address: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return c, fmt.Errorf("reading the broker's port: %w", err)
	}
	c.connections, err = machine.Connections(n)
	return c, err
}

// look is the census with a fleet.
func (v *visit) look(ctx context.Context, j job, workers *crew) (c census, err error) {
	if c, err = v.census(ctx); err != nil {
		return c, err
	}
	if c.worker, err = workers.used(); err != nil {
		return c, err
	}
	if c.resident, err = workers.resident(); err != nil {
		return c, err
	}
	offsets, err := v.admin.committed(ctx, j.group, j.input, v.size.partitions)
	c.done = sum(offsets)
	return c, err
}
