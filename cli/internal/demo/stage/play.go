// Package stage acts out the story of `skein demo upgrade`: a group of members with what they run, a producer that never stops, and a
// broker, its own or somebody else's. What happens becomes events; who looks on draws them.
package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/internal/ownership"
)

// Config says where and how fast the play is played. Its zero value plays on a broker of its own.
type Config struct {
	// Cluster is somebody else's; nil is a broker of the play's own, in a directory that is removed.
	Cluster *client.Config
	// Name is that of the topic and of the group. Both are made, and removed.
	Name string
	// Pace is how long people may look at what has settled; 0 goes on at once.
	Pace time.Duration
	// Session is after how long a member that is killed is taken for dead; 0 is 6 s. Heartbeats are sent six times as often.
	Session time.Duration
	// Every is how often a record goes to each partition; 0 is 50 ms.
	Every time.Duration
	// Patience is how long the group may take to settle; 0 is a minute.
	Patience time.Duration
	// Watch is told of each event, in their order. It must not wait.
	Watch func(story.Event)
}

func (c Config) withDefaults() Config {
	if c.Session == 0 {
		c.Session = 6 * time.Second
	}
	if c.Every == 0 {
		c.Every = 50 * time.Millisecond
	}
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	if c.Watch == nil {
		c.Watch = func(story.Event) {}
	}
	return c
}

// closing is how long what ends in good order may take.
const closing = 10 * time.Second

// Play is one performance.
type Play struct {
	cfg      Config
	house    house
	producer *producer
	members  [story.Members]*member
	reaping  sync.WaitGroup // of the killed
	text     string         // of the step that was told last

	mu      sync.Mutex
	state   *story.State
	changed chan struct{} // closed and replaced at every change
}

// Open opens the house: it starts the broker or looks at the cluster, and makes the topic. Close it.
func Open(ctx context.Context, cfg Config) (*Play, error) { return open(ctx, cfg, settings()) }

// open takes settings of a broker of the play's own.
func open(ctx context.Context, cfg Config, settings map[string]string) (*Play, error) {
	p := &Play{cfg: cfg.withDefaults(), changed: make(chan struct{})}
	var err error
	if p.house, err = openHouse(ctx, cfg, settings); err != nil {
		return nil, err
	}
	if p.producer, err = newProducer(ctx, p.house.config(), cfg.Name); err != nil {
		return nil, errors.Join(err, p.house.close())
	}
	p.state = story.NewState(story.Script(story.Cluster{Admits: admits(ctx, p.producer.client), Restart: p.house.owned()}))
	return p, nil
}

// Look lends the state of the play.
func (p *Play) Look(at func(*story.State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at(p.state)
}

// tell makes an event of something that happens now.
func (p *Play) tell(e story.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.At = time.Now()
	p.state.See(e)
	p.cfg.Watch(e)
	p.turn()
}

func (p *Play) turn() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until the state is as it should be.
func (p *Play) await(ctx context.Context, what string, ok func(*story.State) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Patience, fmt.Errorf("%s: not within %v", what, p.cfg.Patience))
	defer cancel()
	for {
		p.mu.Lock()
		done, changed := ok(p.state), p.changed
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Run plays it to the end and returns the verdict. An error is that the play was broken off: ctx has ended.
func (p *Play) Run(ctx context.Context) (ownership.Verdict, error) {
	running, end := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { p.passTime(running) })
	helpers.Go(func() { p.producer.run(running, p.cfg.Every, func(err error) { p.fail(err) }) })
	err := p.acts(ctx)
	end()
	helpers.Wait()
	if err == nil {
		err = p.drain(ctx)
	}
	if ctx.Err() != nil {
		return ownership.Verdict{}, ctx.Err()
	}
	if err != nil {
		p.fail(err)
	}
	p.strike()
	var v ownership.Verdict
	p.Look(func(s *story.State) { v = s.Verdict() })
	return v, nil
}

func (p *Play) fail(err error) {
	p.tell(story.Event{Event: ownership.Event{Kind: story.Failed}, Text: err.Error()})
}

// passTime moves the tickers.
func (p *Play) passTime(ctx context.Context) {
	tick := time.NewTicker(story.Cell)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.Look(func(s *story.State) { s.Tick(now) })
		case <-ctx.Done():
			return
		}
	}
}

// drain waits until all that was produced is handled.
func (p *Play) drain(ctx context.Context) error {
	ends, err := p.producer.ends(ctx)
	if err != nil {
		return err
	}
	p.Look(func(s *story.State) { s.Ends(ends) })
	return p.await(ctx, "handling all that was produced", (*story.State).Drained)
}

// strike has the members that are left end.
func (p *Play) strike() {
	for slot := range p.members {
		p.stop(slot + 1)
	}
	p.reaping.Wait()
}

// Close ends everything, and removes what the play has made.
func (p *Play) Close() error {
	p.strike()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	var err error
	if !p.house.owned() {
		err = remove(ctx, p.producer.client, p.cfg.Name)
	}
	p.producer.client.Close()
	return errors.Join(err, p.house.close())
}
