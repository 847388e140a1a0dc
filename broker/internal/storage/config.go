package storage

// Config is how a log is kept: the topic settings that storage obeys, resolved.
// Durations are ms, sizes bytes.
type Config struct {
	SegmentBytes    int64 // segment.bytes
	SegmentMs       int64 // segment.ms, by record timestamps
	SegmentJitterMs int64 // segment.jitter.ms
	IndexBytes      int64 // segment.index.bytes, of one index
	IndexInterval   int64 // index.interval.bytes

	Delete            bool  // cleanup.policy has delete
	Compact           bool  // cleanup.policy has compact
	RetentionMs       int64 // retention.ms, -1: for ever
	RetentionBytes    int64 // retention.bytes, -1: no limit
	FileDeleteDelayMs int64 // file.delete.delay.ms

	MinCompactionLagMs int64 // min.compaction.lag.ms
	MaxCompactionLagMs int64 // max.compaction.lag.ms
	DeleteRetentionMs  int64 // delete.retention.ms
}

// DefaultConfig is what Kafka 4.4 does without any setting.
func DefaultConfig() Config {
	const day, forever = 24 * 3600 * 1000, 1<<63 - 1
	return Config{
		SegmentBytes:       1 << 30,
		SegmentMs:          7 * day,
		IndexBytes:         10 << 20,
		IndexInterval:      4096,
		Delete:             true,
		RetentionMs:        7 * day,
		RetentionBytes:     -1,
		FileDeleteDelayMs:  60_000,
		MaxCompactionLagMs: forever,
		DeleteRetentionMs:  day,
	}
}

// rollMs is how old a segment may become: segment.ms, or less where compaction must
// come sooner, since it never touches the active segment.
func (c *Config) rollMs() int64 {
	if c.Compact && c.MaxCompactionLagMs > 0 {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}
