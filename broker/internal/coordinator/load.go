package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// loads is the shards that wait to be loaded. Each is in it once at most, so that there is always room. As many goroutines
// as there are workers take them out; a machine belongs to the one that loads it until it is handed to the worker.
type loads chan *shard

// run loads what comes, until ctx ends.
func (l loads) run(ctx context.Context, cfg *Config) {
	for {
		select {
		case s := <-l:
			s.worker.tell(event{shard: s, load: load(ctx, cfg, s.number)})
		case <-ctx.Done():
			return
		}
	}
}

// loaded is a shard that has been loaded, or err.
type loaded struct {
	log     Log
	machine machine.Machine
	records int64
	took    time.Duration
	err     error
}

// load makes a machine from what is in the log. A panic of the machine is an error of it.
func load(ctx context.Context, cfg *Config, shard int32) (l *loaded) {
	began := cfg.Now()
	l = &loaded{machine: cfg.Machine(shard)}
	defer func() {
		if p := recover(); p != nil {
			l.err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	if l.log, l.err = cfg.Open(shard); l.err == nil {
		l.err = l.log.Replay(ctx, func(r machine.Record) error {
			r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value) // the machine may keep them
			l.machine.Apply(r)
			l.records++
			return nil
		})
	}
	l.took = cfg.Now().Sub(began)
	return l
}
