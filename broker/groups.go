package broker

import (
	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/group"
)

// groups is the coordinator of consumer groups, which comes with its topic: from the start when the topic is there, else
// when the first client asks for a coordinator. What the groups must know of other topics, that they are deleted, comes to
// them through here.
type groups struct {
	coordinated

	// unheard is the deleted topics that a shard could not be told of. It is told before anything else once it is loaded.
	// Guarded by mu, as counts.
	unheard map[int32][]string
	counts  countsByShard
}

var _ api.Groups = (*groups)(nil)

func newGroups(b *Broker) *groups {
	s := b.settings().Groups
	g := &groups{unheard: map[int32][]string{}, counts: countsByShard{}}
	g.coordinated = coordinated{
		broker: b,
		topic: internalTopic{
			name: offsetsTopic, partitions: s.OffsetsTopicPartitions, segmentBytes: s.OffsetsTopicSegmentBytes, compression: "producer",
		},
		config: g.config,
		changed: func() {
			clear(g.unheard)
			clear(g.counts)
		},
	}
	return g
}

// Do implements api.Groups.
func (g *groups) Do(name string, in any, done func(reply any, err error)) { g.do(name, in, done) }

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

// remember keeps the names of topics that a shard has not heard of, if own is still the topic of the groups.
func (g *groups) remember(own catalog.ID, shard int32, topics []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == own {
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
