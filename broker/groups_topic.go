package broker

import (
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/settings"
)

// offsetsTopic is Kafka's name for the topic of groups and their offsets.
const offsetsTopic = "__consumer_offsets"

// config is a coordinator over the topic.
func (g *groups) config(topic *catalog.Topic) coordinator.Config {
	b := g.broker
	g.warn(topic, "offsets.topic.num.partitions")
	set := groupSettings(b.settings().Groups)
	return coordinator.Config{
		Shards: int(topic.Partitions),
		Open: func(shard int32) (coordinator.Log, error) {
			return g.openLog(topic.ID, shard, record.Codec(b.settings().Groups.OffsetsTopicCompressionNumber))
		},
		Machine: func(int32) machine.Machine { return group.New(set) },
		Loaded:  func(shard int32, step coordinator.Step) { g.loaded(topic.ID, shard, step) },
		Now:     b.cfg.now,
		Logger:  b.cfg.Logger.With("topic", offsetsTopic),
		Events: coordinator.Events{
			Loaded: func(_ int32, _ int64, took time.Duration) { b.monitor.CoordinatorLoaded(took) },
		},
	}
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
