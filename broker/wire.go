package broker

import (
	"fmt"
	"iter"
	"time"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/monitor"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
)

// partitionOptions is what the partitions need to know.
func (b *Broker) partitionOptions() partition.Options {
	return partition.Options{
		FS:          b.cfg.files,
		Dir:         b.cfg.Dir,
		LeaderEpoch: b.catalog.StartCount(),
		Layers:      b.layers,
		Broker:      b.settings,
		Forget:      b.catalog.ForgetTopics,
		Commit:      b.commitConfig(),
		Now:         b.cfg.now,
		Logger:      b.cfg.Logger,
		Events: partition.Events{
			Opened:  b.opened,
			Flushed: func(took time.Duration) { b.monitor.SegmentSynced(took) },
			Swept:   func(segments int) { b.monitor.Swept(segments) },
			Cleaned: func(read, kept int64) { b.monitor.Cleaned(read, kept) },
		},
	}
}

func (b *Broker) opened(partitions, offline int, took time.Duration) {
	if offline > 0 {
		b.cfg.Logger.Error("some partitions are offline: `skein log repair` tells why and what can be done", "offline", offline, "partitions", partitions)
	}
	b.cfg.Logger.Debug("the partitions are open", "partitions", partitions, "took", took)
}

// wire puts the rooms that talk to clients on top of those that keep.
func (b *Broker) wire() {
	b.monitor = monitor.New(monitor.Config{
		Started:            b.started,
		RequestMemory:      func() int64 { return b.server.Stats().RequestMemory },
		RequestMemoryLimit: b.settings().QueuedRequestMaxBytes,
		Logs:               b.logs,
		Space:              b.space,
		Groups:             func() monitor.Groups { return b.groups.metrics() },
		Transactions:       func() monitor.Transactions { return b.txns.metrics() },
		Healthy:            b.Err,
		Ready:              b.readiness,
		Profiles:           b.cfg.Profiles,
		Logger:             b.cfg.Logger,
	})
	b.pages = monitor.NewServer(b.monitor)
	b.txns = newTransactions(b)
	b.groups = newGroups(b)
	b.groups.follow(nil, b.catalog.Snapshot())
	b.txns.follow(b.catalog.Snapshot())
	b.handler = api.New(api.Deps{
		Catalog: b.catalog,
		NodeID:  b.node,
		Static:  b.config.static,
		Broker:  b.settings,
		Now:     b.cfg.now,
		Logger:  b.cfg.Logger,
		Table:   b.table,
		Groups:  b.groups,

		Transactions: b.txns,
		KafkaVersion: b.settings().KafkaVersion,
	})
	b.server = server.New(b.serverConfig(), b.handler)
	if release := b.settings().KafkaVersion; release != "" {
		b.cfg.Logger.Info("clients are shown an older release of Kafka", "release", release)
	}
}

func (b *Broker) space() (total, free int64, err error) {
	s, err := b.table.Space()
	return s.Total, s.Free, err
}

// logs yields every partition's log for a scrape.
func (b *Broker) logs() iter.Seq[monitor.Log] {
	return func(yield func(monitor.Log) bool) {
		for topic := range b.table.Topics {
			for _, p := range topic.Partitions() {
				if !yield(logOf(topic, p)) {
					return
				}
			}
		}
	}
}

func logOf(topic *partition.Topic, p *partition.Partition) monitor.Log {
	return monitor.Log{
		Topic:         topic.Name,
		Partition:     p.Index(),
		Bytes:         p.Size(),
		Segments:      p.Segments(),
		StartOffset:   p.StartOffset(),
		HighWatermark: p.HighWatermark(),
		Unstable:      p.HighWatermark() - p.LastStableOffset(),
		Online:        p.Offline() == nil,
		Damaged:       p.Damaged(),
	}
}

// serverEvents tell the monitor of connections and requests.
func (b *Broker) serverEvents() server.Events {
	return server.Events{
		ConnectionOpened: func(c server.ConnectionInfo) { b.monitor.ConnectionOpened(c.Listener) },
		ConnectionClosed: b.closed,
		RequestFinished: func(r server.RequestInfo) {
			b.monitor.RequestFinished(monitor.Request{
				Key: r.Key, ErrorCode: r.ErrorCode,
				Handling: r.Handling, Total: r.Total, BytesIn: r.BytesIn, BytesOut: r.BytesOut,
			})
		},
	}
}

// closed tells the monitor of the end of a connection, or of one that was not let
// in and so never counted as open.
func (b *Broker) closed(c server.ConnectionInfo, r server.CloseReason) {
	if r == server.ClosedLimit {
		b.monitor.ConnectionRefused(c.Listener, string(r))
		return
	}
	b.monitor.ConnectionClosed(c.Listener, string(r))
}

// commitEvents tell the monitor of rounds, and the log of what an operator
// should know.
func (b *Broker) commitEvents() commit.Events {
	log := b.cfg.Logger
	return commit.Events{
		Answers: func(answer func()) { b.server.Together(answer) },
		Round: func(r commit.RoundStats) {
			b.monitor.RoundCommitted(monitor.Round{Writes: r.Writes, WALBytes: r.WALBytes, SegmentBytes: r.DirectBytes, WALSync: r.WALSync, Took: r.Took})
		},
		SegmentSync: func(took time.Duration) { b.monitor.SegmentSynced(took) },
		Refused: func(writes int, err error) {
			b.monitor.WritesRefused(writes)
			log.Warn("writes were refused: the log could not be written", "writes", writes, "error", err)
		},
		Stuck: func(k commit.Key, err error) {
			log.Warn("a segment cannot be written; its records are safe in the write-ahead log and it is tried again", "partition", b.name(k), "error", err)
		},
		Unstuck: func(k commit.Key) { log.Info("a segment can be written again", "partition", b.name(k)) },
	}
}

// name is how people call a partition.
func (b *Broker) name(k commit.Key) string {
	topic := "deleted topic"
	if t := b.table.TopicByID(k.Topic); t != nil {
		topic = t.Name
	}
	return fmt.Sprintf("%s-%d", topic, k.Partition)
}
