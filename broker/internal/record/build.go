package record

// Builder builds one batch. Set the fields, call Append for each record, then
// Bytes. The zero value of every field is what a plain producer sends, save
// ProducerID: [NewBuilder] sets that and its fellows to -1.
type Builder struct {
	BaseOffset    int64
	LeaderEpoch   int32
	Codec         Codec
	Level         int // as in Target
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
	Control       bool
	// LogAppendTime, when not 0, is the time that all records get.
	LogAppendTime int64
	// DeleteHorizon, when not 0, is written as the batch's delete horizon.
	DeleteHorizon int64
	// LastOffsetDelta, when larger than the last record's, is written instead: a
	// batch keeps its span when compaction takes records from it.
	LastOffsetDelta int32

	records []byte
	count   int32
}

// NewBuilder returns a builder for a batch without producer.
func NewBuilder(base int64) *Builder {
	return &Builder{BaseOffset: base, ProducerID: noProducerID, ProducerEpoch: noProducerEpoch, BaseSequence: noSequence}
}

// Append adds a record with the next offset. A nil key or value is null.
func (b *Builder) Append(timestamp int64, key, value []byte, headers ...RecordHeader) *Builder {
	return b
}

// AppendRecord adds a record with r's own offset delta, which must be above that
// of the last.
func (b *Builder) AppendRecord(r Record) *Builder { return b }

// Bytes returns the batch, checksum included, in memory of its own. The builder
// may be used further: Reset begins the next batch.
func (b *Builder) Bytes() Batch { return nil }

// Marker is the kind of an end-of-transaction marker.
type Marker int16

// The kinds of markers that end a transaction.
const (
	Abort  Marker = 0
	Commit Marker = 1
)

// ControlMarker is the batch that ends a producer's transaction in one
// partition: one control record with key (version 0, kind) and value (version
// 0, coordinator epoch).
func ControlMarker(kind Marker, producerID int64, producerEpoch int16, coordinatorEpoch int32, timestamp int64) Batch {
	return nil
}

// ParseMarker reads the marker of a control batch. ok is false when the batch
// holds none, or one of a kind unknown here.
func ParseMarker(b Batch) (kind Marker, coordinatorEpoch int32, ok bool) { return 0, 0, false }
