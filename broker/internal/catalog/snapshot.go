package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Topic is what the catalog knows of a topic. It is never changed once it is in a Snapshot.
type Topic struct {
	ID         ID                `json:"id"`
	Name       string            `json:"name"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs,omitempty"` // what the topic itself was given
	Internal   bool              `json:"internal,omitempty"`
	CreatedMs  int64             `json:"createdMs"`
}

// Snapshot is the catalog at one moment. It never changes; Apply makes the next one. Any goroutine may read it for as
// long as it likes.
type Snapshot struct {
	sequence    int64 // of the last frame that is in it
	founded     Founded
	starts      int32 // number of the last start, -1 before the first
	producerIDs int64
	topics      []*Topic // sorted by name
	byID        map[ID]*Topic
	deleted     []*Topic // not yet gone from the disk, oldest first
	configs     map[string]map[string]string
}

func emptySnapshot() *Snapshot { return &Snapshot{starts: -1} }

// ClusterID is the identity of the cluster.
func (s *Snapshot) ClusterID() ID { return s.founded.ClusterID }

// DirectoryID is the identity of the data directory.
func (s *Snapshot) DirectoryID() ID { return s.founded.DirectoryID }

// Topics returns all topics, sorted by name. The slice must not be changed.
func (s *Snapshot) Topics() []*Topic { return s.topics }

// Deleted returns topics that are deleted and may still have files, in the order of their deletion.
func (s *Snapshot) Deleted() []*Topic { return s.deleted }

// Topic returns the topic of this name, or nil.
func (s *Snapshot) Topic(name string) *Topic {
	i, found := s.position(name)
	if !found {
		return nil
	}
	return s.topics[i]
}

// TopicByID returns the topic with this id, or nil.
func (s *Snapshot) TopicByID(id ID) *Topic { return s.byID[id] }

// BrokerConfigs returns the settings that were given while running to the broker of this name, which is its node id in
// digits, or with an empty name to all brokers. The map must not be changed.
func (s *Snapshot) BrokerConfigs(broker string) map[string]string { return s.configs[broker] }

// ConfiguredBrokers returns the names for which BrokerConfigs has something, sorted.
func (s *Snapshot) ConfiguredBrokers() []string { return slices.Sorted(maps.Keys(s.configs)) }

func (s *Snapshot) position(name string) (int, bool) {
	return slices.BinarySearchFunc(s.topics, name, func(t *Topic, name string) int { return strings.Compare(t.Name, name) })
}
