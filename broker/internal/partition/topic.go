package partition

import (
	"fmt"
	"sync/atomic"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/settings"
)

// Topic is a topic whose partitions are served. It is found once a request, and its partitions through it.
type Topic struct {
	ID       catalog.ID
	Name     string
	Internal bool

	state      atomic.Pointer[topicState]
	partitions atomic.Pointer[[]*Partition]
}

// topicState is the settings of a topic, and what follows from them. It never changes.
type topicState struct {
	settings settings.Topic
	rules    record.Rules
}

func newTopic(t *catalog.Topic, s settings.Topic) *Topic {
	topic := &Topic{ID: t.ID, Name: t.Name, Internal: t.Internal}
	topic.configure(s)
	topic.partitions.Store(new([]*Partition))
	return topic
}

func (t *Topic) configure(s settings.Topic) {
	t.state.Store(&topicState{settings: s, rules: rulesOf(&s)})
}

// relaxed reports whether appends are answered before they are on the disk. A flush after every single message is what
// the mode always does, only cheaper.
func (s *topicState) relaxed() bool {
	return s.settings.Durability != settings.Always && s.settings.FlushMessages > 1
}

// Settings are the topic's settings as they are now. They must not be changed.
func (t *Topic) Settings() *settings.Topic { return &t.state.Load().settings }

// Partition returns a partition by its number, nil when there is none.
func (t *Topic) Partition(index int32) *Partition {
	all := *t.partitions.Load()
	if index < 0 || int(index) >= len(all) {
		return nil
	}
	return all[index]
}

// Partitions returns all partitions, by number. The slice must not be changed.
func (t *Topic) Partitions() []*Partition { return *t.partitions.Load() }

// add makes more partitions visible.
func (t *Topic) add(more ...*Partition) {
	all := append([]*Partition(nil), t.Partitions()...)
	all = append(all, more...)
	t.partitions.Store(&all)
}

// dirName is the name of a partition's directory, which is Kafka's.
func dirName(topic string, index int32) string { return fmt.Sprintf("%s-%d", topic, index) }

func (p *Partition) name() string { return dirName(p.topic.Name, p.index) }

// topicIndex finds topics. It never changes: a change makes another.
type topicIndex struct {
	byName map[string]*Topic
	byID   map[catalog.ID]*Topic
}

func newTopicIndex(topics int) *topicIndex {
	return &topicIndex{byName: make(map[string]*Topic, topics), byID: make(map[catalog.ID]*Topic, topics)}
}

func (x *topicIndex) add(t *Topic) {
	x.byName[t.Name] = t
	x.byID[t.ID] = t
}
