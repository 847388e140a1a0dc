package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// errKind says that a later version wrote a record.
var errKind = errors.New("a record of a kind that this version does not know")

// Apply returns the snapshot with one more record in it. An error says that the record does not follow from what is
// there, which a whole log never does.
func (s *Snapshot) Apply(r Record) (*Snapshot, error) { return s.applyAll(r) }

// applyAll applies records one after the other.
func (s *Snapshot) applyAll(records ...Record) (*Snapshot, error) {
	d := draft{Snapshot: *s}
	for _, r := range records {
		if err := d.apply(r); err != nil {
			return nil, err
		}
	}
	return &d.Snapshot, nil
}

// draft is a snapshot in the making. Its maps and slices are shared with the one before until it owns copies, so that
// many records cost one copy.
type draft struct {
	Snapshot
	ownsTopics, ownsIDs, ownsDeleted, ownsConfigs bool
}

func (s *draft) apply(r Record) error {
	switch {
	case r.Founded != nil:
		return s.applyFounded(*r.Founded)
	case r.Started != nil:
		return s.applyStarted(*r.Started)
	case r.TopicCreated != nil:
		return s.applyTopicCreated(r.TopicCreated)
	case r.PartitionsSet != nil:
		return s.applyPartitionsSet(*r.PartitionsSet)
	case r.TopicConfigs != nil:
		return s.applyTopicConfigs(*r.TopicConfigs)
	case r.TopicDeleted != nil:
		return s.applyTopicDeleted(r.TopicDeleted.ID)
	case r.TopicGone != nil:
		return s.applyTopicGone(r.TopicGone.ID)
	case r.BrokerConfigs != nil:
		return s.applyBrokerConfigs(*r.BrokerConfigs)
	case r.ProducerIDsSet != nil:
		return s.applyProducerIDs(r.ProducerIDsSet.Next)
	default:
		return errKind
	}
}

func (s *draft) applyFounded(f Founded) error {
	if s.founded != (Founded{}) {
		return fmt.Errorf("the directory is founded a second time")
	}
	s.founded = f
	return nil
}

func (s *draft) applyStarted(r Started) error {
	if r.Count <= s.starts {
		return fmt.Errorf("start %d after start %d", r.Count, s.starts)
	}
	s.starts = r.Count
	return nil
}

func (s *draft) applyTopicCreated(t *Topic) error {
	i, found := s.position(t.Name)
	switch {
	case found:
		return fmt.Errorf("topic %s is created a second time", t.Name)
	case s.byID[t.ID] != nil || t.ID == ID{}:
		return fmt.Errorf("topic %s is created with the id %s, which is taken", t.Name, t.ID)
	case t.Partitions < 1:
		return fmt.Errorf("topic %s is created with %d partitions", t.Name, t.Partitions)
	}
	s.ownTopics()
	s.topics = slices.Insert(s.topics, i, t)
	s.byID[t.ID] = t
	return nil
}

func (s *draft) applyPartitionsSet(r PartitionsSet) error {
	t, err := s.mustHave(r.ID)
	if err != nil {
		return err
	}
	if r.Partitions <= t.Partitions {
		return fmt.Errorf("topic %s goes from %d to %d partitions", t.Name, t.Partitions, r.Partitions)
	}
	t.Partitions = r.Partitions
	s.replace(t)
	return nil
}

func (s *draft) applyTopicConfigs(r TopicConfigs) error {
	t, err := s.mustHave(r.ID)
	if err != nil {
		return err
	}
	t.Configs = r.Configs
	s.replace(t)
	return nil
}

func (s *draft) applyTopicDeleted(id ID) error {
	t, err := s.mustHave(id)
	if err != nil {
		return err
	}
	i, _ := s.position(t.Name)
	s.ownTopics()
	s.topics = slices.Delete(s.topics, i, i+1)
	delete(s.byID, id)
	s.ownDeleted()
	s.deleted = append(s.deleted, &t)
	return nil
}

func (s *draft) applyTopicGone(id ID) error {
	i := slices.IndexFunc(s.deleted, func(t *Topic) bool { return t.ID == id })
	if i < 0 {
		return fmt.Errorf("topic %s is gone without having been deleted", id)
	}
	s.ownDeleted()
	copy(s.deleted[1:i+1], s.deleted[:i]) // what is older is moved: mostly nothing is
	s.deleted[0] = nil
	s.deleted = s.deleted[1:]
	return nil
}

func (s *draft) applyBrokerConfigs(r BrokerConfigs) error {
	s.configs = own(s.configs, &s.ownsConfigs)
	s.configs[r.Broker] = r.Configs
	if len(r.Configs) == 0 {
		delete(s.configs, r.Broker)
	}
	return nil
}

func (s *draft) applyProducerIDs(next int64) error {
	if next <= s.producerIDs {
		return fmt.Errorf("producer ids go back from %d to %d", s.producerIDs, next)
	}
	s.producerIDs = next
	return nil
}

// mustHave returns a copy of the topic with this id.
func (s *draft) mustHave(id ID) (Topic, error) {
	t := s.byID[id]
	if t == nil {
		return Topic{}, fmt.Errorf("there is no topic with the id %s", id)
	}
	return *t, nil
}

// replace puts t in the place of the topic of the same name.
func (s *draft) replace(t Topic) {
	i, _ := s.position(t.Name)
	s.ownTopics()
	s.topics[i] = &t
	s.byID[t.ID] = &t
}

func (s *draft) ownTopics() {
	if !s.ownsTopics {
		s.topics, s.ownsTopics = slices.Clone(s.topics), true
	}
	s.byID = own(s.byID, &s.ownsIDs)
}

func (s *draft) ownDeleted() {
	if !s.ownsDeleted {
		s.deleted, s.ownsDeleted = slices.Clone(s.deleted), true
	}
}

// own returns m itself when it is owned already, else a copy.
func own[K comparable, V any](m map[K]V, owned *bool) map[K]V {
	if *owned {
		return m
	}
	*owned = true
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}
