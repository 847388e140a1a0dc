package settings

import "fmt"

// Durability is when a record counts as written.
type Durability string

// The values of skein.durability.
const (
	Always   Durability = "always"
	Interval Durability = "interval"
	OS       Durability = "os"
)

// Topic is the settings of one topic as they are in force. Durations are in ms, sizes in bytes; a number that means
// "no limit" in the setting (-1, or the largest number) means it here too.
type Topic struct {
	CompressionType  string // uncompressed, gzip, snappy, lz4, zstd, or producer
	CompressionLevel int    // of CompressionType; 0 where it has no levels

	MaxMessageBytes      int
	MaxDecompressedBytes int
	LogAppendTime        bool
	TimestampBeforeMaxMs int64
	TimestampAfterMaxMs  int64
	ValidateFull         bool // compressed batches are decompressed and walked
	Durability           Durability
	FlushMessages        int64
	FlushMs              int64

	SegmentBytes       int
	SegmentMs          int64
	SegmentJitterMs    int64
	SegmentIndexBytes  int
	IndexIntervalBytes int
	FileDeleteDelayMs  int64

	Delete, Compact        bool // the cleanup policy
	RetentionMs            int64
	RetentionBytes         int64
	MinCleanableDirtyRatio float64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	DeleteRetentionMs      int64
}

// ResolveTopic returns the settings of a topic with these overrides under a broker with these layers. Names in
// overrides that are not known are passed over: they were checked when they were set, perhaps by a later version.
func ResolveTopic(l Layers, overrides map[string]string) (Topic, error) {
	r := &reader{value: func(name string) (Value, error) {
		d, _ := topicTable.Lookup(name)
		return l.topic(d, overrides)
	}}
	t := readTopic(r)
	return t, r.err
}

// CheckTopic reports what is wrong with the overrides of a topic: names, values, and values that do not go together.
func CheckTopic(l Layers, overrides map[string]string) error {
	if err := topicTable.Check(overrides); err != nil {
		return err
	}
	t, err := ResolveTopic(l, overrides)
	if err != nil {
		return err
	}
	return t.check(overrides)
}

func (t Topic) check(overrides map[string]string) error {
	if t.MinCompactionLagMs > t.MaxCompactionLagMs {
		return fmt.Errorf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			t.MinCompactionLagMs, t.MaxCompactionLagMs)
	}
	v, err := topicTable.Parse("remote.storage.enable", overrides["remote.storage.enable"])
	if err == nil && v.Truth {
		return fmt.Errorf("this broker has no tiered storage: remote.storage.enable must be false")
	}
	return nil
}

func readTopic(r *reader) Topic {
	t := Topic{
		CompressionType:      r.text("compression.type"),
		MaxMessageBytes:      r.int("max.message.bytes"),
		MaxDecompressedBytes: r.int("max.decompressed.message.bytes"),
		LogAppendTime:        r.text("message.timestamp.type") == "LogAppendTime",
		TimestampBeforeMaxMs: r.long("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:  r.long("message.timestamp.after.max.ms"),
		ValidateFull:         r.text("skein.validate.compressed") == "full",
		Durability:           Durability(r.text("skein.durability")),
		FlushMessages:        r.long("flush.messages"),
		FlushMs:              r.long("flush.ms"),

		SegmentBytes:       r.int("segment.bytes"),
		SegmentMs:          r.long("segment.ms"),
		SegmentJitterMs:    r.long("segment.jitter.ms"),
		SegmentIndexBytes:  r.int("segment.index.bytes"),
		IndexIntervalBytes: r.int("index.interval.bytes"),
		FileDeleteDelayMs:  r.long("file.delete.delay.ms"),

		Delete:                 r.has("cleanup.policy", "delete"),
		Compact:                r.has("cleanup.policy", "compact"),
		RetentionMs:            r.long("retention.ms"),
		RetentionBytes:         r.long("retention.bytes"),
		MinCleanableDirtyRatio: r.real("min.cleanable.dirty.ratio"),
		MinCompactionLagMs:     r.long("min.compaction.lag.ms"),
		MaxCompactionLagMs:     r.long("max.compaction.lag.ms"),
		DeleteRetentionMs:      r.long("delete.retention.ms"),
	}
	switch t.CompressionType {
	case "gzip", "lz4", "zstd":
		t.CompressionLevel = r.int("compression." + t.CompressionType + ".level")
	}
	return t
}
