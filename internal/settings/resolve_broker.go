package settings

import (
	"errors"
	"fmt"
)

// Broker is the broker settings as they are in force, without the defaults for topics, which ResolveTopic reads.
type Broker struct {
	NodeID    int32
	Rack      string // empty: none
	DataDir   string
	Listeners []Listener

	SocketRequestMaxBytes int
	QueuedRequestMaxBytes int64 // -1: no limit
	MaxConnections        int
	MaxConnectionsPerIP   int
	ConnectionsPerIP      map[string]int // the addresses with a limit of their own
	ConnectionsMaxIdleMs  int64          // negative: never
	FetchMaxBytes         int
	FetchSessions         int
	PartitionsPerAnswer   int
	KafkaVersion          string // the release that is emulated; empty: none

	NumPartitions            int32
	DefaultReplicationFactor int16
	AutoCreateTopics         bool
	DeleteTopics             bool

	Groups       Groups
	Transactions Transactions

	RetentionCheckIntervalMs int64
	CleanerEnable            bool
	CleanerBackoffMs         int64
	CleanerDedupeBufferBytes int64
	CleanerBytesPerSecond    float64
	CheckpointIntervalMs     int64
	RecoveryThreads          int
	ProducerIDExpirationMs   int64

	DurabilityIntervalMs int64
	DiskReserveBytes     int64
	WALBytes             int64
	WALFileBytes         int64
	WALDirectBytes       int64
}

// ResolveBroker returns the broker settings in force under these layers. Names that are not known are passed over;
// CheckBroker reports them.
func ResolveBroker(l Layers) (Broker, error) {
	r := &reader{value: func(name string) (Value, error) {
		d, _ := brokerTable.Lookup(name)
		v, _, err := l.broker(d)
		return v, err
	}}
	b := readBroker(r)
	if r.err != nil {
		return b, r.err
	}
	var badListeners, badLimits error
	b.Listeners, badListeners = listeners(r.list("listeners"), r.list("advertised.listeners"))
	b.ConnectionsPerIP, badLimits = limitsPerIP(r.text("max.connections.per.ip.overrides"))
	return b, errors.Join(badListeners, badLimits)
}

// CheckBroker reports what is wrong with the static layer: names, values, and values that do not go together.
func CheckBroker(static map[string]string) error {
	if err := brokerTable.Check(static); err != nil {
		return err
	}
	return Layers{Static: static}.checkTogether()
}

// CheckDynamic reports what is wrong with a change of a dynamic layer: settings that cannot be changed while the broker
// runs, names, values, and values that do not go together. changed is that layer as it would be, l all of them.
func CheckDynamic(l Layers, changed map[string]string) error {
	for name := range changed {
		if d, ok := brokerTable.Lookup(name); ok && !d.Dynamic {
			return fmt.Errorf("cannot update these configs dynamically: %s", name)
		}
	}
	if err := brokerTable.Check(changed); err != nil {
		return err
	}
	return l.checkTogether()
}

// checkTogether reports values that do not go together.
func (l Layers) checkTogether() error {
	b, err := ResolveBroker(l)
	if err != nil {
		return err
	}
	t, err := ResolveTopic(l, nil)
	return errors.Join(err, b.check(), t.check(nil))
}

func (b Broker) check() error {
	if b.WALFileBytes > b.WALBytes {
		return fmt.Errorf("skein.wal.file.bytes (%d) is more than skein.wal.bytes (%d)", b.WALFileBytes, b.WALBytes)
	}
	return b.Groups.check()
}

func readBroker(r *reader) Broker {
	return Broker{
		NodeID:  r.int32("node.id"),
		Rack:    r.text("broker.rack"),
		DataDir: r.text("log.dirs"),

		SocketRequestMaxBytes: r.int("socket.request.max.bytes"),
		QueuedRequestMaxBytes: r.long("queued.max.request.bytes"),
		MaxConnections:        r.int("max.connections"),
		MaxConnectionsPerIP:   r.int("max.connections.per.ip"),
		ConnectionsMaxIdleMs:  r.long("connections.max.idle.ms"),
		FetchMaxBytes:         r.int("fetch.max.bytes"),
		FetchSessions:         r.int("max.incremental.fetch.session.cache.slots"),
		PartitionsPerAnswer:   r.int("max.request.partition.size.limit"),
		KafkaVersion:          r.text("skein.emulate.kafka.version"),

		NumPartitions:            r.int32("num.partitions"),
		DefaultReplicationFactor: int16(r.int("default.replication.factor")),
		AutoCreateTopics:         r.truth("auto.create.topics.enable"),
		DeleteTopics:             r.truth("delete.topic.enable"),

		Groups:       readGroups(r),
		Transactions: readTransactions(r),

		RetentionCheckIntervalMs: r.long("log.retention.check.interval.ms"),
		CleanerEnable:            r.truth("log.cleaner.enable"),
		CleanerBackoffMs:         r.long("log.cleaner.backoff.ms"),
		CleanerDedupeBufferBytes: r.long("log.cleaner.dedupe.buffer.size"),
		CleanerBytesPerSecond:    r.real("log.cleaner.io.max.bytes.per.second"),
		CheckpointIntervalMs:     r.long("log.flush.offset.checkpoint.interval.ms"),
		RecoveryThreads:          r.int("num.recovery.threads.per.data.dir"),
		ProducerIDExpirationMs:   r.long("producer.id.expiration.ms"),

		DurabilityIntervalMs: r.long("skein.durability.interval.ms"),
		DiskReserveBytes:     r.long("skein.disk.reserve.bytes"),
		WALBytes:             r.long("skein.wal.bytes"),
		WALFileBytes:         r.long("skein.wal.file.bytes"),
		WALDirectBytes:       r.long("skein.wal.direct.bytes"),
	}
}
