// Package groups drives the group coordinator of a broker over raw
// connections, which cost the driver next to nothing: commits of offsets,
// members that join all at once, their heartbeats.
package groups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/wire"
)

// Versions that every peer serves and that name topics by name.
const (
	findCoordinatorVersion = 2
	offsetCommitVersion    = 9
	joinGroupVersion       = 9
	syncGroupVersion       = 5
	heartbeatVersion       = 4
	leaveGroupVersion      = 4
)

// pause is how long a broker that is not ready is left alone.
const pause = 20 * time.Millisecond

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notReady tells whether an answer says that the coordinator will serve soon.
func notReady(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// untilReady calls try until its coordinator serves.
func untilReady(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !notReady(err) {
			return err
		}
		if werr := rest(ctx, pause); werr != nil {
			return fmt.Errorf("%w; the last answer: %w", werr, err)
		}
	}
}

// find asks for the coordinator of a group, as every client does first: some
// brokers make their topic of groups only then.
func find(c *wire.Conn, group string) error {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = findCoordinatorVersion
	req.CoordinatorKey = group
	resp, err := c.Ask(req)
	if err != nil {
		return fmt.Errorf("finding the coordinator: %w", err)
	}
	return kerr.ErrorForCode(resp.(*kmsg.FindCoordinatorResponse).ErrorCode)
}

// caller repeats one request on a connection of its own.
type caller struct {
	conn *wire.Conn
	next func() kmsg.Request
	resp kmsg.Response // takes each answer in turn
	code func() error  // what the answer says
}

// repeat lets every caller keep so many requests in flight for length, and
// returns how many were answered until the last one was.
func repeat(ctx context.Context, callers []caller, inFlight int, length time.Duration) (answered int, took time.Duration, err error) {
	counts := make([]int, len(callers))
	began := time.Now()
	work, _ := errgroup.WithContext(ctx)
	for i, c := range callers {
		work.Go(func() (err error) {
			counts[i], err = c.repeat(inFlight, began.Add(length))
			return err
		})
	}
	err = work.Wait()
	for _, n := range counts {
		answered += n
	}
	return answered, time.Since(began), err
}

// repeat sends what may be in flight in one piece whenever all answers that
// are here have been read.
func (c caller) repeat(inFlight int, until time.Time) (answered int, err error) {
	for range inFlight {
		c.conn.Put(c.next())
	}
	for flying := inFlight; flying > 0; flying-- {
		if !c.conn.Waiting() {
			if err := c.conn.Send(); err != nil {
				return answered, err
			}
		}
		if err := c.answer(); err != nil {
			return answered, err
		}
		answered++
		if time.Now().Before(until) {
			c.conn.Put(c.next())
			flying++
		}
	}
	return answered, nil
}

func (c caller) answer() error {
	if err := c.conn.Next(c.resp); err != nil {
		return err
	}
	return c.code()
}
