package broker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/group"
	"github.com/skeinstream/skein/broker/internal/machine"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/settings"
)

// offsetsTopic is Kafka's name for the topic of groups and their offsets.
const offsetsTopic = "__consumer_offsets"

// makeTopic makes the topic of the groups, unless somebody has.
func (g *groups) makeTopic(ctx context.Context) error {
	s := g.broker.settings().Groups
	id, err := g.broker.catalog.NewTopicID()
	if err != nil {
		return fmt.Errorf("creating %s: %w", offsetsTopic, err)
	}
	topic := &catalog.Topic{
		ID: id, Name: offsetsTopic, Internal: true, Partitions: s.OffsetsTopicPartitions, CreatedMs: g.broker.cfg.now().UnixMilli(),
		Configs: map[string]string{
			"cleanup.policy":   "compact",
			"compression.type": "producer",
			"segment.bytes":    strconv.Itoa(s.OffsetsTopicSegmentBytes),
		},
	}
	made := false
	_, err = g.broker.catalog.Change(ctx, func(s *catalog.Snapshot) ([]catalog.Record, error) {
		if s.Topic(offsetsTopic) != nil {
			return nil, nil
		}
		made = true
		return []catalog.Record{{TopicCreated: topic}}, nil
	})
	if err != nil {
		g.broker.cfg.Logger.Error("the topic of consumer groups cannot be created", "error", err)
		return fmt.Errorf("creating %s: %w", offsetsTopic, err)
	}
	if made {
		g.broker.cfg.Logger.Info("topic created", "topic", offsetsTopic, "id", id.String(), "partitions", topic.Partitions)
	}
	return nil
}

// config is a coordinator over the topic. It has as many shards as the topic has partitions, whatever the settings say by
// now: a group stays where its offsets are (FR-C21).
func (g *groups) config(topic *catalog.Topic) coordinator.Config {
	b := g.broker
	s := b.settings().Groups
	if topic.Partitions != s.OffsetsTopicPartitions {
		b.cfg.Logger.Warn("offsets.topic.num.partitions is not what the topic has: the topic stays as it is, so that no group loses its offsets",
			"topic", topic.Partitions, "setting", s.OffsetsTopicPartitions)
	}
	if t := b.table.TopicByID(topic.ID); t != nil && (t.Settings().Delete || !t.Settings().Compact) {
		b.cfg.Logger.Warn("the topic of consumer groups is not compacted only, so that committed offsets will be deleted with its old segments", "topic", offsetsTopic)
	}
	set := groupSettings(s)
	return coordinator.Config{
		Shards:  int(topic.Partitions),
		Open:    func(shard int32) (coordinator.Log, error) { return g.openLog(topic.ID, shard) },
		Machine: func(int32) machine.Machine { return group.New(set) },
		Loaded:  func(shard int32, step coordinator.Step) { g.loaded(topic.ID, shard, step) },
		Now:     b.cfg.now,
		Logger:  b.cfg.Logger.With("topic", offsetsTopic),
		Events: coordinator.Events{
			Loaded: func(_ int32, _ int64, took time.Duration) { b.monitor.CoordinatorLoaded(took) },
		},
	}
}

func (g *groups) openLog(topic catalog.ID, shard int32) (coordinator.Log, error) {
	t := g.broker.table.TopicByID(topic)
	if t == nil || t.Partition(shard) == nil {
		return nil, fmt.Errorf("opening partition %d of %s: it does not exist", shard, offsetsTopic)
	}
	return coordinator.NewPartitionLog(t.Partition(shard), coordinator.LogOptions{
		Table: g.broker.table,
		Codec: record.Codec(g.broker.settings().Groups.OffsetsTopicCompressionNumber),
		Now:   g.broker.cfg.now,
	}), nil
}

// groupSettings is what the settings say to the groups.
func groupSettings(s settings.Groups) group.Settings {
	return group.Settings{
		MinSessionTimeout:     milliseconds(s.MinSessionTimeoutMs),
		MaxSessionTimeout:     milliseconds(s.MaxSessionTimeoutMs),
		InitialRebalanceDelay: milliseconds(s.InitialRebalanceDelayMs),
		MaxSize:               s.MaxSize,
		OffsetsRetention:      milliseconds(s.OffsetsRetentionMs),
		OffsetsRetentionCheck: milliseconds(s.OffsetsRetentionCheckMs),
		OffsetMetadataMax:     s.OffsetMetadataMax,
		UnionAdmission:        s.UnionAdmission,
		ProtocolsPersisted:    s.PersistProtocols,
		CommitOwnershipCheck:  s.CommitOwnershipCheck,
	}
}

// milliseconds is so many of them, and not more than a hundred years, with which times can be reckoned.
func milliseconds(ms int64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(ms, most.Milliseconds())) * time.Millisecond
}
