package record

// Rules is what a topic asks of the batches that are produced to it.
type Rules struct {
	MaxBytes     int   // max.message.bytes, of the batch as sent and as stored; 0 is no limit
	SegmentBytes int   // segment.bytes: a batch must fit a segment; 0 is no limit
	RecordMax    int   // max.decompressed.message.bytes, of each record of a compressed batch; 0 is no limit
	InflatedMax  int64 // what a batch may inflate to; 0 is the larger of 128 MiB and 128 MaxBytes
	Compacted    bool  // cleanup.policy has compact: every record needs a key
	Now          int64 // the broker's clock
	// A record's timestamp must lie in [Now-BeforeMaxMs, Now+AfterMaxMs], unless
	// it has none or the topic uses LogAppendTime: message.timestamp.before.max.ms
	// and .after.max.ms as they are set, where math.MaxInt64 is no limit.
	BeforeMaxMs, AfterMaxMs int64
	LogAppendTime           bool   // message.timestamp.type: stamp the batch with Now
	Target                  Target // compression.type; the zero value keeps what the producer chose
	// HeaderOnly spares the inflation of compressed batches
	// (validate.compressed=header): their records are then taken on trust. A
	// compacted topic and a Target that differs overrule it.
	HeaderOnly bool
	// Internal marks the broker's own batches, which may be control batches.
	Internal bool
	// ZstdRefused is set for Produce before version 7, whose clients may not use
	// zstd.
	ZstdRefused bool
}

// Target is the codec that a topic's compression.type sets. The zero value is
// compression.type=producer: batches stay as they were sent.
type Target struct {
	Recode bool // false: keep, whatever follows
	Codec  Codec
	Level  int // compression.gzip.level and so on, in Kafka's numbers; 0 is the default
}

// recodes reports whether a batch has to be re-encoded. The level does not count:
// like Kafka, we keep what already has the right codec, and markers as they are.
func (r *Rules) recodes(h Header) bool {
	return r.Target.Recode && r.Target.Codec != h.Codec() && !h.Control()
}

func (r *Rules) inflatedMax() int64 {
	if r.InflatedMax > 0 {
		return r.InflatedMax
	}
	return max(inflatedMaxDefault, 128*int64(r.MaxBytes))
}

// Accepted is a batch that may be stored.
type Accepted struct {
	Header Header // of Bytes
	// Bytes is the batch to store: the input itself, perhaps re-stamped in place,
	// or a new batch in memory of its own when Recoded.
	Bytes   Batch
	Recoded bool
	// MaxTimestamp is the largest timestamp of the records, Now with
	// LogAppendTime, -1 when none has one; OffsetDeltaOfMax is the first record
	// that has it (the last record's when the records were not looked at).
	MaxTimestamp     int64
	OffsetDeltaOfMax int32
}
