package settings

// Transactions is the settings of transactions in force.
type Transactions struct {
	MaxTimeoutMs           int64
	IDExpirationMs         int64
	IDExpirationCheckMs    int64
	AbortCheckMs           int64
	PartitionVerification  bool
	RefuseLateRequests     bool
	StateTopicPartitions   int32
	StateTopicSegmentBytes int
}

func readTransactions(r *reader) Transactions {
	return Transactions{
		MaxTimeoutMs:           r.long("transaction.max.timeout.ms"),
		IDExpirationMs:         r.long("transactional.id.expiration.ms"),
		IDExpirationCheckMs:    r.long("transaction.remove.expired.transaction.cleanup.interval.ms"),
		AbortCheckMs:           r.long("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		PartitionVerification:  r.truth("transaction.partition.verification.enable"),
		RefuseLateRequests:     r.truth("skein.transaction.refuse.late.requests"),
		StateTopicPartitions:   r.int32("transaction.state.log.num.partitions"),
		StateTopicSegmentBytes: r.int("transaction.state.log.segment.bytes"),
	}
}
