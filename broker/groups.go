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
	making  atomic.Bool                             // the topic, for those in waiting; changed under mu
	work    sync.WaitGroup                          // what makes the topic, and coordinators that end

	mu      sync.Mutex // guards what follows
	topic   catalog.ID // of current
	closed  bool
	waiting []func(error) // for the topic, in the order in which they came
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
	if g.there() != nil {
		done(nil)
		return
	}
	if waits, err := g.await(done); !waits {
		done(err)
	}
}

// there is the coordinator that may be asked at once: nobody waits who came before.
func (g *groups) there() *coordinator.Coordinator {
	if g.making.Load() {
		return nil
	}
	return g.current.Load()
}

var errStopping = errors.New("the broker is stopping")

// await has the topic made, after which done is called, and reports whether it will be: else it is there, or cannot be made.
func (g *groups) await(done func(error)) (waits bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false, errors.Join(coordinator.ErrNotCoordinator, errStopping)
	}
	if g.there() != nil {
		return false, nil
	}
	g.waiting = append(g.waiting, done)
	if !g.making.Swap(true) {
		g.work.Go(g.create)
	}
	return true, nil
}

// create makes the topic; follow then opens its coordinator. Everybody who waits hears of the outcome, and so does who comes
// meanwhile: the commits of a connection must not overtake each other.
func (g *groups) create() {
	err := g.makeTopic(context.Background())
	for waiting := g.takeWaiting(); waiting != nil; waiting = g.takeWaiting() {
		if err == nil && g.current.Load() == nil {
			err = coordinator.ErrNotCoordinator // it is gone again
		}
		for _, done := range waiting {
			done(err)
		}
	}
}

// takeWaiting takes those who wait; when there are none nobody needs to wait any more.
func (g *groups) takeWaiting() []func(error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting
	g.waiting = nil
	if waiting == nil {
		g.making.Store(false)
	}
	return waiting
}

// Do implements api.Groups.
func (g *groups) Do(name string, in any, done func(reply any, err error)) {
	if c := g.there(); c != nil {
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
		done(nil, g.ended())
		return
	}
	a := &answers{missing: c.Shards(), done: done}
	for shard := range int32(c.Shards()) {
		c.Do(shard, in, a.add)
	}
}

// ended is the error of a question to groups that have ended with the broker, nil when there were none.
func (g *groups) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.Join(coordinator.ErrNotCoordinator, errStopping)
	}
	return nil
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
	own := after.Topic(offsetsTopic).ID // there is one, since there is a coordinator
	for shard := range int32(c.Shards()) {
		c.Do(shard, group.DeleteTopics{Topics: gone}, func(_ any, err error) {
			if err != nil {
				g.remember(own, shard, gone)
				c.Welcome(shard)
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

// remember keeps the names of topics that a shard has not heard of, if own is still the topic of the groups.
func (g *groups) remember(own catalog.ID, shard int32, topics []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.topic == own {
		g.unheard[shard] = append(g.unheard[shard], topics...)
	}
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
func (g *groups) loaded(own catalog.ID, shard int32, step coordinator.Step) {
	gone := g.takeUnheard(shard)
	kept, _ := step(group.Topics{}, nil).([]string)
	there := g.broker.catalog.Snapshot()
	for _, topic := range kept {
		if there.Topic(topic) == nil {
			gone = append(gone, topic)
		}
	}
	if len(gone) == 0 {
		return
	}
	step(group.DeleteTopics{Topics: gone}, func(err error) {
		if err != nil { // then the shard is loaded again
			g.remember(own, shard, gone)
		}
	})
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
