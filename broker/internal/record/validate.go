package record

import "errors"

// Rules is what a topic asks of the batches that are produced to it.
type Rules struct {
	MaxBytes  int   // max.message.bytes, of the whole batch as sent; 0 is no limit
	Compacted bool  // cleanup.policy has compact: every record needs a key
	Now       int64 // the broker's clock
	// A record's timestamp may lie this far from Now; 0 or less on either side is
	// no limit there (message.timestamp.before.max.ms and .after.max.ms).
	BeforeMaxMs, AfterMaxMs int64
	LogAppendTime           bool   // message.timestamp.type: stamp the batch with Now
	Target                  Target // compression.type; the zero value keeps what the producer chose
	// HeaderOnly skips the inflation of compressed batches
	// (validate.compressed=header); a compacted topic or a Target overrules it.
	HeaderOnly bool
	// Internal marks the broker's own batches, which may be control batches.
	Internal bool
}

// Target is the codec that a topic's compression.type sets. The zero value is
// compression.type=producer: batches stay as they were sent.
type Target struct {
	Recode bool // false: keep, whatever follows
	Codec  Codec
	Level  int // of gzip, lz4 and zstd in Kafka's numbers; 0 is the codec's default
}

// Accepted is a batch that may be stored.
type Accepted struct {
	Header Header // of Bytes
	// Bytes is the batch to store: the input itself, perhaps re-stamped in place,
	// or a new batch in memory of its own when Recoded.
	Bytes   Batch
	Recoded bool
	// MaxTimestamp is the largest timestamp of the records, Now with
	// LogAppendTime; OffsetDeltaOfMax the first record that has it.
	MaxTimestamp     int64
	OffsetDeltaOfMax int32
}

// Validator checks what clients produce. It keeps buffers and decoders between
// calls and may be used by one goroutine at a time; the zero value is ready.
type Validator struct {
	dec Decompressors
}

// Validate checks b, the records that a client sent for one partition, and
// returns what to store. The error is a *Refusal. b may be changed in place: the
// attributes, the max timestamp and the checksum.
func (v *Validator) Validate(b []byte, r Rules) (Accepted, error) {
	return Accepted{}, errors.New("not built yet")
}
