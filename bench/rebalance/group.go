package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/stops"
)

const (
	interval = 20 * time.Millisecond // between two records of a partition
	calmTime = time.Second           // that shows the machine's noise
	patience = 90 * time.Second      // with one change; only ends a hang
)

// group is one group on a topic of its own, to which records come at a fixed
// rate all the time.
type group struct {
	addr   string
	name   string // of the topic, too
	dir    string
	client client
	times  times
	wants  func(scenario string) bool

	seen    *observer
	members map[string]*process
	order   []string // those that live, oldest first
	started int
	changes []stops.Change
	produce *producer
}

// times are those of the protocol.
type times struct{ session, heartbeat time.Duration }

func newGroup(ctx context.Context, addr, name, dir string, partitions int, c client, o options) (*group, error) {
	if err := load.CreateTopicOf(ctx, addr, name, partitions); err != nil {
		return nil, err
	}
	p, err := newProducer(addr, name, partitions)
	if err != nil {
		return nil, err
	}
	return &group{addr: addr, name: name, dir: dir, client: c, times: o.times, wants: o.only.MatchString,
		seen: newObserver(partitions), members: map[string]*process{}, produce: p}, nil
}

// begin starts so many members at once, which offer these assignors, and waits
// until the group is stable.
func (g *group) begin(ctx context.Context, members int, assignors string) error {
	for range members {
		if err := g.start(ctx, assignors); err != nil {
			return err
		}
	}
	if err := g.settled(ctx); err != nil {
		return fmt.Errorf("starting the group: %w", err)
	}
	return g.calm(ctx)
}

// start starts one more member.
func (g *group) start(ctx context.Context, assignors string) error {
	g.started++
	name := fmt.Sprintf("m%d", g.started)
	cmd, err := g.client.command(ctx, g.addr, g.name, g.name, name, assignors, millis(g.times.session), millis(g.times.heartbeat))
	if err != nil {
		return err
	}
	p, err := startProcess(g.seen, g.dir, name, cmd)
	if err != nil {
		return err
	}
	g.members[name] = p
	g.order = append(g.order, name)
	return nil
}

// oldest is the member that is there longest, without it in the order.
func (g *group) oldest() *process {
	p := g.members[g.order[0]]
	g.order = g.order[1:]
	return p
}

// comes measures a member that joins.
func (g *group) comes(ctx context.Context, scenario, assignors string) error {
	at := machine.Monotonic()
	if err := g.start(ctx, assignors); err != nil {
		return err
	}
	return g.changed(ctx, scenario, at)
}

// leaves measures the oldest member's leaving.
func (g *group) leaves(ctx context.Context, scenario string) error {
	at := machine.Monotonic()
	if err := g.oldest().leave(ctx); err != nil {
		return err
	}
	return g.changed(ctx, scenario, at)
}

// dies measures the oldest member's being killed.
func (g *group) dies(ctx context.Context, scenario string) error {
	at := machine.Monotonic()
	g.oldest().kill()
	return g.changed(ctx, scenario, at)
}

func (g *group) changed(ctx context.Context, scenario string, at time.Duration) error {
	g.changes = append(g.changes, stops.Change{At: at, Name: scenario, Live: slices.Clone(g.order)})
	if err := g.settled(ctx); err != nil {
		return fmt.Errorf("%s, change %d: %w", scenario, len(g.changes), err)
	}
	return nil
}

// calm looks at the group while nothing happens to it.
func (g *group) calm(ctx context.Context) error {
	g.changes = append(g.changes, stops.Change{At: machine.Monotonic(), Name: "calm", Live: slices.Clone(g.order), Calm: true})
	return g.seen.settled(ctx, calmTime, g.order)
}

// settled holds longer than a heartbeat: a member that is to join once more is
// told by then. How much longer goes from nothing to one more, so that changes
// do not always meet the members as long after a heartbeat.
func (g *group) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, phase := math.Modf(float64(len(g.changes)) * math.Phi)
	return g.seen.settled(ctx, time.Duration((1+phase)*float64(g.times.heartbeat)), g.order)
}

// end stops what still runs, and returns the trace of all of it.
func (g *group) end(ctx context.Context) (stops.Trace, error) {
	end := machine.Monotonic()
	var leaving sync.WaitGroup
	failed := make([]error, len(g.order))
	for i, name := range g.order {
		leaving.Go(func() { failed[i] = g.members[name].leave(ctx) })
	}
	leaving.Wait()
	written, err := g.produce.end()
	return stops.Trace{Written: written, Events: g.seen.trace(), Changes: g.changes, End: end},
		errors.Join(append(failed, err)...)
}

// producer sends a record to each partition once an interval.
type producer struct {
	client *kgo.Client
	quit   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	written [][]time.Duration // by partition and offset
	failed  error
}

func newProducer(addr, topic string, partitions int) (*producer, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	p := &producer{client: client, written: make([][]time.Duration, partitions), quit: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p, nil
}

func (p *producer) run() {
	defer close(p.done)
	defer p.client.Close()
	value := load.Values(100, 1)[0]
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			p.keep(p.client.Flush(context.Background()))
			return
		case <-tick.C:
		}
		for n := range p.written {
			p.client.Produce(context.Background(), &kgo.Record{Partition: int32(n), Value: value}, p.acknowledged)
		}
	}
}

// acknowledged is called in the order of offsets, from 0: nobody else writes to the topic.
func (p *producer) acknowledged(r *kgo.Record, err error) {
	if err != nil {
		p.keep(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written[r.Partition] = append(p.written[r.Partition], machine.Monotonic())
}

// keep remembers what went wrong first.
func (p *producer) keep(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && err != nil {
		p.failed = fmt.Errorf("producing: %w", err)
	}
}

func (p *producer) end() ([][]time.Duration, error) {
	close(p.quit)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written, p.failed
}
