package broker

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
)

// configuration is the broker settings in force: what the operator gave, and
// what was changed while running over it.
type configuration struct {
	static  map[string]string
	current atomic.Pointer[settings.Broker]
	layers  atomic.Pointer[settings.Layers]
}

// refresh takes over the dynamic settings of a snapshot; nil has none.
func (c *configuration) refresh(s *catalog.Snapshot) {
	l := settings.Layers{Static: c.static}
	if s != nil {
		first, err := settings.ResolveBroker(l) // the node id is never dynamic
		if err == nil {
			l.DynamicDefault = s.BrokerConfigs("")
			l.DynamicBroker = s.BrokerConfigs(strconv.Itoa(int(first.NodeID)))
		}
	}
	resolved, err := settings.ResolveBroker(l)
	if err != nil {
		return // what was in force stays: the change was checked before it was made
	}
	c.layers.Store(&l)
	c.current.Store(&resolved)
}

// settings are the broker settings in force.
func (b *Broker) settings() *settings.Broker { return b.config.current.Load() }

// layers are the settings by who gave them.
func (b *Broker) layers() settings.Layers { return *b.config.layers.Load() }

// serverConfig is what the settings say to the server.
func (b *Broker) serverConfig() server.Config {
	s := b.settings()
	return server.Config{
		MaxRequestBytes: int64(s.SocketRequestMaxBytes),
		Connections:     connectionLimits(s),
		IdleTimeout:     idle(s.ConnectionsMaxIdleMs),
		RequestMemory:   requestMemory(s.QueuedRequestMaxBytes),
		Logger:          b.cfg.Logger,
		Events:          b.serverEvents(),
	}
}

func connectionLimits(s *settings.Broker) server.ConnectionLimits {
	return server.ConnectionLimits{
		Max:            limit(s.MaxConnections),
		MaxPerIP:       limit(s.MaxConnectionsPerIP),
		PerIPOverrides: s.ConnectionsPerIP,
	}
}

// limit turns Kafka's "as many as there are" into the server's "no limit", and
// its "none" into the server's.
func limit(n int) int {
	switch n {
	case math.MaxInt32:
		return 0
	case 0:
		return -1
	default:
		return n
	}
}

// idle turns a negative time, for never, into one that never comes, and none at all, which to the server means its
// default, into very little.
func idle(ms int64) time.Duration {
	if ms < 0 || ms > int64(math.MaxInt64/time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(ms, 1)) * time.Millisecond
}

func requestMemory(bytes int64) int64 {
	if bytes < 0 {
		return math.MaxInt64
	}
	return bytes
}

// commitConfig is what the settings say to the committer.
func (b *Broker) commitConfig() commit.Config {
	s := b.settings()
	return commit.Config{
		DirectBytes:     s.WALDirectBytes,
		FileBytes:       s.WALFileBytes,
		CheckpointBytes: s.WALBytes,
		Events:          b.commitEvents(),
		OnFatal:         b.fail,
	}
}
