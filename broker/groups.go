package broker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/group"
)

// groups is the coordinator of consumer groups, which comes with its topic: from the start when the topic is there, else
// when the first client asks for a coordinator. What the groups must know of other topics, that they are deleted, comes to
// them through here.
type groups struct {
	broker  *Broker
	current atomic.Pointer[coordinator.Coordinator] // nil without a topic; changed under mu
	work    sync.WaitGroup                          // what makes the topic, and coordinators that end

	mu       sync.Mutex // guards what follows
	topic    catalog.ID // of current
	closed   bool
	creating bool
	waiting  []func(error) // for the topic
	// unheard is the deleted topics that a shard could not be told of. It is told before anything else once it is loaded.
	unheard map[int32][]string
	counts  countsByShard
}

var _ api.Groups = (*groups)(nil)

func newGroups(b *Broker) *groups {
	return &groups{broker: b, unheard: map[int32][]string{}, counts: countsByShard{}}
}

// Prepare implements api.Groups.
func (g *groups) Prepare(done func(error)) {
	if g.current.Load() != nil {
		done(nil)
		return
	}
	if err := g.await(done); err != nil {
		done(err)
	}
}

var errStopping = errors.New("the broker is stopping")

// await has the topic made, after which done is called. An error says that it is not.
func (g *groups) await(done func(error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.Join(coordinator.ErrNotCoordinator, errStopping)
	}
	g.waiting = append(g.waiting, done)
	if !g.creating {
		g.creating = true
		g.work.Go(g.create)
	}
	return nil
}

// create makes the topic; follow then opens its coordinator. Everybody who waits hears of the outcome.
func (g *groups) create() {
	err := g.makeTopic(context.Background())
	g.mu.Lock()
	waiting := g.waiting
	g.waiting, g.creating = nil, false
	if err == nil && g.current.Load() == nil {
		err = coordinator.ErrNotCoordinator // it is gone again
	}
	g.mu.Unlock()
	for _, done := range waiting {
		done(err)
	}
}

// Do implements api.Groups.
func (g *groups) Do(name string, in any, done func(reply any, err error)) {
	if c := g.current.Load(); c != nil {
		c.Do(coordinator.Shard(name, c.Shards()), in, done)
		return
	}
	g.Prepare(func(err error) {
		c := g.current.Load()
		if err == nil && c == nil {
			err = coordinator.ErrNotCoordinator
		}
		if err != nil {
			done(nil, err)
			return
		}
		c.Do(coordinator.Shard(name, c.Shards()), in, done)
	})
}

// All implements api.Groups.
func (g *groups) All(in any, done func(replies []any, err error)) {
	c := g.current.Load()
	if c == nil {
		done(nil, nil)
		return
	}
	a := &answers{missing: c.Shards(), done: done}
	for shard := range int32(c.Shards()) {
		c.Do(shard, in, a.add)
	}
}

// answers gathers what every shard says.
type answers struct {
	done func([]any, error)

	mu      sync.Mutex // guards what follows
	missing int
	replies []any
	err     error
}

func (a *answers) add(reply any, err error) {
	a.mu.Lock()
	a.missing--
	a.replies = append(a.replies, reply)
	if a.err == nil {
		a.err = err
	}
	last := a.missing == 0
	a.mu.Unlock()
	switch {
	case last && a.err != nil:
		a.done(nil, a.err)
	case last:
		a.done(a.replies, nil)
	}
}

// follow is called with every change of the catalog, in order: a coordinator begins and ends with its topic, and the
// groups hear of topics that are deleted.
func (g *groups) follow(before, after *catalog.Snapshot) {
	g.attend(after.Topic(offsetsTopic))
	c := g.current.Load()
	if c == nil || before == nil {
		return
	}
	var gone []string
	for _, t := range after.Deleted() {
		if before.TopicByID(t.ID) != nil {
			gone = append(gone, t.Name)
		}
	}
	if len(gone) == 0 {
		return
	}
	for shard := range int32(c.Shards()) {
		c.Do(shard, group.DeleteTopics{Topics: gone}, func(_ any, err error) {
			if err != nil {
				g.remember(shard, gone)
			}
		})
	}
}

// attend makes the coordinator that of topic, which may be nil.
func (g *groups) attend(topic *catalog.Topic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var id catalog.ID
	if topic != nil {
		id = topic.ID
	}
	if g.closed || g.topic == id {
		return
	}
	if old := g.current.Load(); old != nil {
		g.work.Go(func() { _ = old.Shutdown(context.Background()) }) // its appends end with the topic's partitions
	}
	g.topic = id
	clear(g.unheard)
	clear(g.counts)
	if topic == nil {
		g.current.Store(nil)
		return
	}
	g.current.Store(coordinator.Open(g.config(topic)))
}

// remember keeps the names of topics that a shard has not heard of.
func (g *groups) remember(shard int32, topics []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unheard[shard] = append(g.unheard[shard], topics...)
}

func (g *groups) takeUnheard(shard int32) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	topics := g.unheard[shard]
	delete(g.unheard, shard)
	return topics
}

// loaded drops the offsets of topics that were deleted while the shard, or the broker, did not listen. Nobody commits
// meanwhile, so that a topic of the same name, if there is one by now, loses nothing.
func (g *groups) loaded(shard int32, step func(in any) any) {
	gone := g.takeUnheard(shard)
	kept, _ := step(group.Topics{}).([]string)
	there := g.broker.catalog.Snapshot()
	for _, topic := range kept {
		if there.Topic(topic) == nil {
			gone = append(gone, topic)
		}
	}
	if len(gone) > 0 {
		step(group.DeleteTopics{Topics: gone})
	}
}

// shutdown answers everybody who waits and ends the coordinator.
func (g *groups) shutdown(ctx context.Context) (err error) {
	g.mu.Lock()
	g.closed = true
	c := g.current.Swap(nil)
	g.mu.Unlock()
	if c != nil {
		err = c.Shutdown(ctx)
	}
	g.work.Wait()
	return err
}
