package settings

import "regexp"

// Words that more than one setting allows.
func codecs() oneOf     { return oneOf{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"} }
func policies() anyOf   { return anyOf{"compact", "delete"} }
func clocks() oneOf     { return oneOf{"CreateTime", "LogAppendTime"} }
func durability() oneOf { return oneOf{"always", "interval", "os"} }
func depths() oneOf     { return oneOf{"full", "header"} }

const (
	int32Max = 1<<31 - 1
	int64Max = 1<<63 - 1

	forever      = "9223372036854775807"
	week         = "604800000"
	day          = "86400000"
	recordMax    = "2147483639"
	segmentMin   = 1 << 20
	zstdLevelMin = -1 << 17
)

// logSettings are about the log as a whole: what is accepted, how it is cut into segments, how long it is kept.
func logSettings() []Def {
	const group = "Log"
	return []Def{
		{Name: "compression.type", Group: group, Type: String, Default: "producer", Valid: codecs(), Synonyms: []string{"compression.type"},
			Doc: "The codec in which batches are stored. With producer they stay as they were sent; any other value makes the broker store them in that codec, at the cost of re-encoding batches that came in another one."},
		{Name: "compression.gzip.level", Group: group, Type: Int, Default: "-1", Valid: bounds{min: 1, max: 9}.or(-1), Synonyms: []string{"compression.gzip.level"},
			Doc: "How hard gzip tries when the broker re-encodes to gzip; -1 is gzip's own default."},
		{Name: "compression.lz4.level", Group: group, Type: Int, Default: "9", Valid: between(1, 17), Synonyms: []string{"compression.lz4.level"},
			Doc: "How hard lz4 tries when the broker re-encodes to lz4."},
		{Name: "compression.zstd.level", Group: group, Type: Int, Default: "3", Valid: between(zstdLevelMin, 22), Synonyms: []string{"compression.zstd.level"},
			Doc: "How hard zstd tries when the broker re-encodes to zstd; negative levels are faster and compress less."},
		{Name: "max.message.bytes", Group: group, Type: Int, Default: "1048588", Valid: between(0, int32Max), Synonyms: []string{"message.max.bytes"},
			Doc: "The largest batch that is accepted, as it is on the wire. A larger one is refused with MESSAGE_TOO_LARGE, and clients then split it."},
		{Name: "max.decompressed.message.bytes", Group: group, Type: Int, Default: recordMax, Valid: between(1, 2147483639), Synonyms: []string{"max.decompressed.message.bytes"},
			Doc: "The largest single record, after decompression, that is accepted."},
		{Name: "message.timestamp.type", Group: group, Type: String, Default: "CreateTime", Valid: clocks(), Synonyms: []string{"log.message.timestamp.type"},
			Doc: "Whose clock stamps the records: the producer's (CreateTime) or the broker's at the moment of the append (LogAppendTime)."},
		{Name: "message.timestamp.before.max.ms", Group: group, Type: Long, Default: forever, Valid: atLeast(0), Synonyms: []string{"log.message.timestamp.before.max.ms"},
			Doc: "How far a producer's timestamp may lie behind the broker's clock. Older records are refused with INVALID_TIMESTAMP. Without effect under LogAppendTime."},
		{Name: "message.timestamp.after.max.ms", Group: group, Type: Long, Default: "3600000", Valid: atLeast(0), Synonyms: []string{"log.message.timestamp.after.max.ms"},
			Doc: "How far a producer's timestamp may lie ahead of the broker's clock. Records from further ahead are refused with INVALID_TIMESTAMP. Without effect under LogAppendTime."},
		{Name: "cleanup.policy", Group: group, Type: List, Default: "delete", Valid: policies(), Synonyms: []string{"log.cleanup.policy"},
			Doc: "How old data goes: delete drops whole segments by age and size, compact keeps the last record of each key. Both may be named; with an empty list everything is kept."},
		{Name: "retention.ms", Group: group, Type: Long, Default: week, Valid: atLeast(-1), Synonyms: []string{"log.retention.ms"},
			Doc: "Under the delete policy, the age of a segment's newest record at which the segment is deleted; -1 keeps it for ever."},
		{Name: "retention.bytes", Group: group, Type: Long, Default: "-1", Synonyms: []string{"log.retention.bytes"},
			Doc: "Under the delete policy, the size of a partition above which its oldest segments are deleted; a negative value sets no limit."},
		{Name: "segment.bytes", Group: group, Type: Int, Default: "1073741824", Valid: between(segmentMin, int32Max), Synonyms: []string{"log.segment.bytes"},
			Doc: "The size at which a new segment file is begun. Retention and compaction work on whole segments that are no longer written."},
		{Name: "segment.ms", Group: group, Type: Long, Default: week, Valid: atLeast(1), Synonyms: []string{"log.roll.ms"},
			Doc: "The time after which a new segment is begun even if the current one is not full."},
		{Name: "segment.jitter.ms", Group: group, Type: Long, Default: "0", Valid: atLeast(0), Synonyms: []string{"log.roll.jitter.ms"},
			Doc: "Up to this much, chosen at random for each segment, is taken off segment.ms, so that many partitions do not begin new segments at the same moment."},
		{Name: "segment.index.bytes", Group: group, Type: Int, Default: "10485760", Valid: between(4, int32Max), Synonyms: []string{"log.index.size.max.bytes"},
			Doc: "The largest size of a segment's offset index. A new segment is begun when the index is full."},
		{Name: "index.interval.bytes", Group: group, Type: Int, Default: "4096", Valid: between(0, int32Max), Synonyms: []string{"log.index.interval.bytes"},
			Doc: "How many bytes of log lie between two entries of the offset index. Smaller values find a record faster and make larger indexes."},
		{Name: "preallocate", Group: group, Type: Boolean, Default: "false", Synonyms: []string{"log.preallocate"},
			Doc: "Whether a new segment file takes its full size on disk at once. Kept and shown without effect."},
		{Name: "file.delete.delay.ms", Group: group, Type: Long, Default: "60000", Valid: atLeast(0), Synonyms: []string{"log.segment.delete.delay.ms"},
			Doc: "How long the files of a deleted segment stay on disk, for readers that are still at work on them."},
		{Name: "flush.messages", Group: group, Type: Long, Default: forever, Valid: atLeast(1), Synonyms: []string{"log.flush.interval.messages"},
			Doc: "With skein.durability set to interval or os: force the log to disk after this many records."},
		{Name: "flush.ms", Group: group, Type: Long, Default: forever, Valid: atLeast(0), Synonyms: []string{"log.flush.interval.ms"},
			Doc: "With skein.durability set to interval or os: force the log to disk when a record has waited this long."},
		{Name: "skein.durability", Group: group, Type: String, Default: "always", Valid: durability(), Synonyms: []string{"skein.durability"},
			Doc: "When a record counts as written. always: an acknowledged record is on disk. interval: it is in the operating system's memory and forced to disk every skein.durability.interval.ms. os: the operating system decides when to write it. The last two can lose acknowledged records in a power cut, not in a crash of the broker."},
		{Name: "skein.validate.compressed", Group: group, Type: String, Default: "full", Valid: depths(), Synonyms: []string{"skein.validate.compressed"},
			Doc: "How compressed batches are checked on arrival. full: they are decompressed and every record is read, so that no batch is stored that a consumer cannot read. header: only the checksum and the header are checked, for producers that can be trusted. Compacted topics are always checked in full."},
	}
}

// compactionSettings are about logs with the compact policy.
func compactionSettings() []Def {
	const group = "Compaction"
	return []Def{
		{Name: "min.cleanable.dirty.ratio", Group: group, Type: Double, Default: "0.5", Valid: share{0, 1}, Synonyms: []string{"log.cleaner.min.cleanable.ratio"},
			Doc: "The share of a log that must be new since the last compaction before it is compacted again. Higher values compact less often and leave more superseded records on disk."},
		{Name: "min.compaction.lag.ms", Group: group, Type: Long, Default: "0", Valid: atLeast(0), Synonyms: []string{"log.cleaner.min.compaction.lag.ms"},
			Doc: "How long a record stays as it is before compaction may remove it."},
		{Name: "max.compaction.lag.ms", Group: group, Type: Long, Default: forever, Valid: atLeast(1), Synonyms: []string{"log.cleaner.max.compaction.lag.ms"},
			Doc: "The age at which a record must be compacted, whatever min.cleanable.dirty.ratio says. A new segment is begun after this time, if it is shorter than segment.ms."},
		{Name: "delete.retention.ms", Group: group, Type: Long, Default: day, Valid: atLeast(0), Synonyms: []string{"log.cleaner.delete.retention.ms"},
			Doc: "How long a tombstone, a record with a null value, is kept after compaction. A consumer that reads the log from its beginning within this time sees every deletion."},
	}
}

// otherTopicSettings are accepted and shown, since tools set them, but a single broker has nothing to do for most of
// them.
func otherTopicSettings() []Def {
	const group = "Replication and tiered storage"
	replicas := pattern{regexp.MustCompile(`^(\*|\d+:\d+)$`), "* or a list of partition:broker"}
	return []Def{
		{Name: "min.insync.replicas", Group: group, Type: Int, Default: "1", Valid: between(1, int32Max), Synonyms: []string{"min.insync.replicas"},
			Doc: "How many replicas must have a record before acks=all is answered. One broker is one replica; larger values are kept and shown without effect."},
		{Name: "unclean.leader.election.enable", Group: group, Type: Boolean, Default: "false", Synonyms: []string{"unclean.leader.election.enable"},
			Doc: "Whether a replica that lacks records may become leader. Kept and shown without effect."},
		{Name: "leader.replication.throttled.replicas", Group: group, Type: List, Default: "", Valid: throttled{replicas},
			Doc: "Replicas whose leader throttles replication. Kept and shown without effect."},
		{Name: "follower.replication.throttled.replicas", Group: group, Type: List, Default: "", Valid: throttled{replicas},
			Doc: "Replicas whose follower throttles replication. Kept and shown without effect."},
		{Name: "remote.storage.enable", Group: group, Type: Boolean, Default: "false",
			Doc: "Whether old segments go to tiered storage. This broker has none, so true is refused."},
		{Name: "remote.log.copy.disable", Group: group, Type: Boolean, Default: "false",
			Doc: "Whether copying to tiered storage is stopped. Kept and shown without effect."},
		{Name: "remote.log.delete.on.disable", Group: group, Type: Boolean, Default: "false",
			Doc: "Whether data in tiered storage is deleted when it is turned off. Kept and shown without effect."},
		{Name: "remote.copy.lag.ms", Group: group, Type: Long, Default: "0", Valid: atLeast(-1), Synonyms: []string{"log.remote.copy.lag.ms"},
			Doc: "The age at which a segment may be copied to tiered storage. Kept and shown without effect."},
		{Name: "remote.copy.lag.bytes", Group: group, Type: Long, Default: "-1", Valid: atLeast(-1), Synonyms: []string{"log.remote.copy.lag.bytes"},
			Doc: "How much newer data must follow a segment before it may be copied to tiered storage. Kept and shown without effect."},
		{Name: "local.retention.ms", Group: group, Type: Long, Default: "-2", Valid: atLeast(-2), Synonyms: []string{"log.local.retention.ms"},
			Doc: "How long a segment stays on the broker's disk when tiered storage has it too; -2 means retention.ms. Kept and shown without effect."},
		{Name: "local.retention.bytes", Group: group, Type: Long, Default: "-2", Valid: atLeast(-2), Synonyms: []string{"log.local.retention.bytes"},
			Doc: "How much of a partition stays on the broker's disk when tiered storage has it too; -2 means retention.bytes. Kept and shown without effect."},
		{Name: "errors.deadletterqueue.group.enable", Group: group, Type: Boolean, Default: "false",
			Doc: "Whether share groups may send records that cannot be processed to this topic. Kept and shown without effect."},
	}
}
