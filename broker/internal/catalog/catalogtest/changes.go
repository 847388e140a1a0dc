// Package catalogtest makes single changes of a catalog for the tests of several rooms. Handlers check and change in one go
// and do without.
package catalogtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// Why a change is refused.
var (
	ErrTopicExists = errors.New("the topic exists already")
	ErrNoTopic     = errors.New("there is no such topic")
)

// CreateTopic creates one topic and returns it. An id is made when t has none.
func CreateTopic(ctx context.Context, c *catalog.Catalog, t catalog.Topic) (*catalog.Topic, error) {
	if t.ID == (catalog.ID{}) {
		id, err := c.NewTopicID()
		if err != nil {
			return nil, err
		}
		t.ID = id
	}
	_, err := c.Change(ctx, func(s *catalog.Snapshot) ([]catalog.Record, error) {
		if s.Topic(t.Name) != nil {
			return nil, fmt.Errorf("creating topic %s: %w", t.Name, ErrTopicExists)
		}
		return []catalog.Record{{TopicCreated: &t}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// DeleteTopic deletes a topic. It stays among Snapshot.Deleted until ForgetTopics.
func DeleteTopic(ctx context.Context, c *catalog.Catalog, id catalog.ID) error {
	return changeTopic(ctx, c, id, catalog.Record{TopicDeleted: &catalog.TopicDeleted{ID: id}})
}

// AddPartitions raises the number of partitions of a topic.
func AddPartitions(ctx context.Context, c *catalog.Catalog, id catalog.ID, partitions int32) error {
	return changeTopic(ctx, c, id, catalog.Record{PartitionsSet: &catalog.PartitionsSet{ID: id, Partitions: partitions}})
}

// SetTopicConfigs replaces all settings of a topic.
func SetTopicConfigs(ctx context.Context, c *catalog.Catalog, id catalog.ID, configs map[string]string) error {
	return changeTopic(ctx, c, id, catalog.Record{TopicConfigs: &catalog.TopicConfigs{ID: id, Configs: configs}})
}

func changeTopic(ctx context.Context, c *catalog.Catalog, id catalog.ID, r catalog.Record) error {
	_, err := c.Change(ctx, func(s *catalog.Snapshot) ([]catalog.Record, error) {
		if s.TopicByID(id) == nil {
			return nil, fmt.Errorf("topic %s: %w", id, ErrNoTopic)
		}
		return []catalog.Record{r}, nil
	})
	return err
}

// SetBrokerConfigs replaces all settings that were given while running to the broker of this name, or with an empty name to
// all brokers.
func SetBrokerConfigs(ctx context.Context, c *catalog.Catalog, broker string, configs map[string]string) error {
	_, err := c.Change(ctx, func(*catalog.Snapshot) ([]catalog.Record, error) {
		return []catalog.Record{{BrokerConfigs: &catalog.BrokerConfigs{Broker: broker, Configs: configs}}}, nil
	})
	return err
}
