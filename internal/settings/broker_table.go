package settings

import (
	"math"
	"regexp"
)

// nodeSettings say who this broker is and where it lives.
func nodeSettings() []Def {
	const group = "Node"
	return []Def{
		{Name: "node.id", Group: group, Type: Int, Default: "1", Valid: between(0, int32Max),
			Doc: "The number by which clients know this broker."},
		{Name: "broker.rack", Group: group, Type: String, Unset: true,
			Doc: "The rack or zone this broker stands in, told to clients. Without it they are told none."},
		{Name: "log.dirs", Group: group, Type: List, Default: "skein-data", Valid: single{},
			Doc: "The directory that holds all data of this broker. One broker at a time may use it."},
	}
}

// connectionSettings are about listening, frames, and what one client may take.
func connectionSettings() []Def {
	const group = "Connections"
	url := regexp.MustCompile(`^[A-Za-z0-9_.-]+://(\[[0-9A-Fa-f:.%]+\]|[^:/\[\]]*):\d{1,5}$`)
	listener := pattern{url, "a list of NAME://host:port"}
	return []Def{
		{Name: "listeners", Group: group, Type: List, Default: "PLAINTEXT://127.0.0.1:9092", Valid: listener,
			Doc: "Where the broker listens: NAME://host:port, several separated by commas. Each needs a name of its own. Port 0 takes any free port, an empty host means every address of the machine."},
		{Name: "advertised.listeners", Group: group, Type: List, Unset: true, Valid: listener,
			Doc: "What clients that came through the listener of the same name are told to connect to. A listener that is not named here advertises the address on which it listens."},
		{Name: "socket.request.max.bytes", Group: group, Type: Int, Default: "104857600", Valid: between(1, int32Max),
			Doc: "The largest request. A larger one is refused before memory is taken for it, and its connection is closed."},
		{Name: "queued.max.request.bytes", Group: group, Type: Long, Default: "67108864", Valid: bounds{min: 1, max: int64Max}.or(-1),
			Doc: "How many bytes of requests may be in memory at the same time over all connections. When they are reached, reading waits; -1 sets no limit. One request that is larger than the bound is still let through. When responses that wait to be read take as much, connections whose peer has read nothing for five seconds are closed."},
		{Name: "max.connections", Group: group, Type: Int, Default: "2147483647", Valid: between(0, int32Max), Dynamic: true,
			Doc: "How many connections are served at the same time, over all listeners. Further ones wait until one of them ends."},
		{Name: "max.connections.per.ip", Group: group, Type: Int, Default: "2147483647", Valid: between(0, int32Max), Dynamic: true,
			Doc: "How many connections are served at the same time from one address. Further ones are closed at once."},
		{Name: "max.connections.per.ip.overrides", Group: group, Type: String, Default: "", Dynamic: true,
			Doc: "IP addresses with a limit of their own in place of max.connections.per.ip: address:limit, several separated by commas. Host names and ranges of addresses are refused."},
		{Name: "connections.max.idle.ms", Group: group, Type: Long, Default: "600000", Valid: atLeast(-1),
			Doc: "A connection without traffic for this long is closed; a negative value never closes one."},
		{Name: "fetch.max.bytes", Group: group, Type: Int, Default: "57671680", Valid: between(1024, int32Max),
			Doc: "The most bytes of records that one fetch is answered with, whatever the client asks for. A first batch that is larger is still sent whole."},
		{Name: "max.incremental.fetch.session.cache.slots", Group: group, Type: Int, Default: "1000", Valid: between(0, int32Max),
			Doc: "How many fetch sessions are remembered. With 0 every fetch names all its partitions."},
		{Name: "max.request.partition.size.limit", Group: group, Type: Int, Default: "2000", Valid: between(1, int32Max),
			Doc: "How many partitions one answer to DescribeTopicPartitions holds at most."},
		{Name: "skein.emulate.kafka.version", Group: group, Type: String, Unset: true, Valid: oneOf(KafkaReleases()),
			Doc: "A release of Kafka, to see how a program does on an old broker. Only the requests that it had are served, in the versions that it had, and only its transaction.version is announced, so that clients do what they would do there. What it had in versions that are not served any more is not served. In all else the broker stays as it is."},
	}
}

// newTopicSettings say how topics come and go.
func newTopicSettings() []Def {
	const group = "Topics"
	return []Def{
		{Name: "num.partitions", Group: group, Type: Int, Default: "1", Valid: between(1, int32Max),
			Doc: "How many partitions a topic gets that is created without saying how many."},
		{Name: "default.replication.factor", Group: group, Type: Int, Default: "1", Valid: between(1, 32767),
			Doc: "How many replicas a topic gets that is created without saying how many. One broker can hold one; with any other value such a creation fails."},
		{Name: "auto.create.topics.enable", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether a topic is created when a client asks for its metadata and allows it."},
		{Name: "delete.topic.enable", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether topics may be deleted."},
	}
}

// storageSettings are about the disk and the work in the background.
func storageSettings() []Def {
	const group = "Storage"
	return []Def{
		{Name: "log.retention.check.interval.ms", Group: group, Type: Long, Default: "300000", Valid: atLeast(1),
			Doc: "How often the broker looks for segments that retention lets go."},
		{Name: "log.cleaner.enable", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether compacted topics are compacted. Turned off, they grow without end."},
		{Name: "log.cleaner.threads", Group: group, Type: Int, Default: "1", Valid: between(1, int32Max), Dynamic: true,
			Doc: "How many partitions may be compacted at the same time. One is, whatever the number: kept and shown without effect."},
		{Name: "log.cleaner.backoff.ms", Group: group, Type: Long, Default: "15000", Valid: atLeast(0), Dynamic: true,
			Doc: "How long the cleaner rests when it finds nothing to compact."},
		{Name: "log.cleaner.dedupe.buffer.size", Group: group, Type: Long, Default: "134217728", Valid: atLeast(1 << 20), Dynamic: true,
			Doc: "The memory that the cleaner may use to remember keys. A log with more keys than fit is compacted in several passes."},
		{Name: "log.cleaner.io.max.bytes.per.second", Group: group, Type: Double, Default: "1.7976931348623157E308", Valid: share{1, math.MaxFloat64}, Dynamic: true,
			Doc: "How fast the cleaner may read and write, both together."},
		{Name: "log.flush.offset.checkpoint.interval.ms", Group: group, Type: Int, Default: "60000", Valid: between(0, int32Max),
			Doc: "How often the broker records up to where each partition is known to be on disk. Recovery after a crash begins there."},
		{Name: "num.recovery.threads.per.data.dir", Group: group, Type: Int, Default: "2", Valid: between(1, int32Max), Dynamic: true,
			Doc: "How many partitions are opened at the same time when the broker starts."},
		{Name: "producer.id.expiration.ms", Group: group, Type: Int, Default: day, Valid: between(1, int32Max), Dynamic: true,
			Doc: "How long a partition remembers an idempotent producer that sends nothing. A producer that comes back later is accepted as a new one."},
		{Name: "skein.durability.interval.ms", Group: group, Type: Long, Default: "1000", Valid: atLeast(1), Dynamic: true,
			Doc: "With skein.durability set to interval: how often what was written is forced to disk."},
		{Name: "skein.disk.reserve.bytes", Group: group, Type: Long, Default: "134217728", Valid: atLeast(0), Dynamic: true,
			Doc: "Free disk space that is left alone. When less is free, writes are refused with KAFKA_STORAGE_ERROR, reads go on, and writing resumes by itself when there is space again."},
		{Name: "skein.wal.bytes", Group: group, Type: Long, Default: "268435456", Valid: atLeast(1 << 20),
			Doc: "The size of the write-ahead log at which its oldest part is brought into the segments and dropped. It bounds how long recovery takes after a crash."},
		{Name: "skein.wal.file.bytes", Group: group, Type: Long, Default: "67108864", Valid: atLeast(1 << 16),
			Doc: "The size of one file of the write-ahead log."},
		{Name: "skein.wal.direct.bytes", Group: group, Type: Long, Default: "262144", Valid: atLeast(1),
			Doc: "When at least this much waits for one partition, it is written straight to its segment and not to the write-ahead log first."},
	}
}
