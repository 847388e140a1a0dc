package settings

import "fmt"

// Groups is the settings of consumer groups in force.
type Groups struct {
	MinSessionTimeoutMs     int64
	MaxSessionTimeoutMs     int64
	InitialRebalanceDelayMs int64
	MaxSize                 int
	UnionAdmission          bool
	PersistProtocols        bool
	CommitOwnershipCheck    bool

	OffsetMetadataMax             int // UTF-16 units
	OffsetsRetentionMs            int64
	OffsetsRetentionCheckMs       int64
	OffsetsTopicPartitions        int32
	OffsetsTopicSegmentBytes      int
	OffsetsTopicCompressionNumber int8 // of the codec, as in a batch
}

func readGroups(r *reader) Groups {
	return Groups{
		MinSessionTimeoutMs:     r.long("group.min.session.timeout.ms"),
		MaxSessionTimeoutMs:     r.long("group.max.session.timeout.ms"),
		InitialRebalanceDelayMs: r.long("group.initial.rebalance.delay.ms"),
		MaxSize:                 r.int("group.max.size"),
		UnionAdmission:          r.truth("skein.group.union.admission"),
		PersistProtocols:        r.truth("skein.group.persist.protocols"),
		CommitOwnershipCheck:    r.truth("skein.group.commit.ownership.check"),

		OffsetMetadataMax:             r.int("offset.metadata.max.bytes"),
		OffsetsRetentionMs:            times(r.long("offsets.retention.minutes"), 60_000),
		OffsetsRetentionCheckMs:       r.long("offsets.retention.check.interval.ms"),
		OffsetsTopicPartitions:        r.int32("offsets.topic.num.partitions"),
		OffsetsTopicSegmentBytes:      r.int("offsets.topic.segment.bytes"),
		OffsetsTopicCompressionNumber: int8(r.int("offsets.topic.compression.codec")),
	}
}

func (g Groups) check() error {
	if g.MinSessionTimeoutMs > g.MaxSessionTimeoutMs {
		return fmt.Errorf("group.min.session.timeout.ms (%d) is more than group.max.session.timeout.ms (%d)", g.MinSessionTimeoutMs, g.MaxSessionTimeoutMs)
	}
	return nil
}
