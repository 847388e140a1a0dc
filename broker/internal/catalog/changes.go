package catalog

import (
	"context"
	"errors"
	"fmt"
)

// Why the common changes below are refused.
var (
	ErrTopicExists = errors.New("the topic exists already")
	ErrNoTopic     = errors.New("there is no such topic")
)

// CreateTopic creates one topic and returns it. An id is made when t has none. Names and settings are the caller's to
// check.
func (c *Catalog) CreateTopic(ctx context.Context, t Topic) (*Topic, error) {
	if t.ID == (ID{}) {
		id, err := c.NewTopicID()
		if err != nil {
			return nil, err
		}
		t.ID = id
	}
	_, err := c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		if s.Topic(t.Name) != nil {
			return nil, fmt.Errorf("creating topic %s: %w", t.Name, ErrTopicExists)
		}
		return []Record{{TopicCreated: &t}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// DeleteTopic deletes a topic. It stays among Snapshot.Deleted until ForgetTopics.
func (c *Catalog) DeleteTopic(ctx context.Context, id ID) error {
	return c.changeTopic(ctx, id, Record{TopicDeleted: &TopicDeleted{ID: id}})
}

// AddPartitions raises the number of partitions of a topic.
func (c *Catalog) AddPartitions(ctx context.Context, id ID, partitions int32) error {
	return c.changeTopic(ctx, id, Record{PartitionsSet: &PartitionsSet{ID: id, Partitions: partitions}})
}

// SetTopicConfigs replaces all settings of a topic.
func (c *Catalog) SetTopicConfigs(ctx context.Context, id ID, configs map[string]string) error {
	return c.changeTopic(ctx, id, Record{TopicConfigs: &TopicConfigs{ID: id, Configs: configs}})
}

func (c *Catalog) changeTopic(ctx context.Context, id ID, r Record) error {
	_, err := c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		if s.TopicByID(id) == nil {
			return nil, fmt.Errorf("topic %s: %w", id, ErrNoTopic)
		}
		return []Record{r}, nil
	})
	return err
}

// ForgetTopics forgets deleted topics of which nothing is left on disk. Ids that are not among Snapshot.Deleted are
// passed over.
func (c *Catalog) ForgetTopics(ctx context.Context, ids ...ID) error {
	_, err := c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		var records []Record
		for _, id := range ids {
			for _, t := range s.Deleted() {
				if t.ID == id {
					records = append(records, Record{TopicGone: &TopicGone{ID: id}})
				}
			}
		}
		return records, nil
	})
	return err
}

// SetBrokerConfigs replaces all settings that were given while running to the broker of this name, or with an empty
// name to all brokers.
func (c *Catalog) SetBrokerConfigs(ctx context.Context, broker string, configs map[string]string) error {
	_, err := c.Change(ctx, func(*Snapshot) ([]Record, error) {
		return []Record{{BrokerConfigs: &BrokerConfigs{Broker: broker, Configs: configs}}}, nil
	})
	return err
}

// NextProducerIDs sets n producer ids aside for the caller, durably, and returns the first. They are never given out
// again, so a caller takes a block (Kafka takes 1000) and hands it out from memory.
func (c *Catalog) NextProducerIDs(ctx context.Context, n int) (first int64, err error) {
	_, err = c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		first = s.producerIDs
		return []Record{{ProducerIDsSet: &ProducerIDsSet{Next: first + int64(n)}}}, nil
	})
	return first, err
}
