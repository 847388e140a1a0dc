package settings

// transactionSettings are about transactions.
func transactionSettings() []Def {
	const group = "Transactions"
	return []Def{
		{Name: "transaction.max.timeout.ms", Group: group, Type: Int, Default: "900000", Valid: between(1, int32Max),
			Doc: "The longest transaction timeout that a producer may ask for. A transaction that is open for longer than its producer's timeout is aborted."},
		{Name: "transactional.id.expiration.ms", Group: group, Type: Int, Default: "604800000", Valid: between(1, int32Max),
			Doc: "How long a transactional id is remembered that nobody uses. A producer that comes back later has to be initialised again."},
		{Name: "transaction.remove.expired.transaction.cleanup.interval.ms", Group: group, Type: Int, Default: "3600000", Valid: between(1, int32Max),
			Doc: "How often the broker looks for transactional ids that need not be remembered."},
		{Name: "transaction.abort.timed.out.transaction.cleanup.interval.ms", Group: group, Type: Int, Default: "10000", Valid: between(1, int32Max),
			Doc: "After how long the abort of a transaction that is out of time is tried again, when it could not be done. The first try comes when the time is up."},
		{Name: "transaction.partition.verification.enable", Group: group, Type: Boolean, Default: "true", Dynamic: true,
			Doc: "Whether the first batch of a transaction in a partition is refused when the transaction does not have the partition. Without this check, which clients of KIP-890 do not need, a batch that comes late can leave a transaction open for ever."},
		{Name: "transaction.state.log.num.partitions", Group: group, Type: Int, Default: "50", Valid: between(1, topicPartitionsMax),
			Doc: "How many partitions the topic __transaction_state gets when it is created. Transactional ids are spread over them. A topic that exists keeps the partitions that it has."},
		{Name: "transaction.state.log.segment.bytes", Group: group, Type: Int, Default: "104857600", Valid: between(segmentMin, int32Max),
			Doc: "The topic setting segment.bytes that __transaction_state gets when it is created. What a transactional id has changed is compacted once its segment is full, so that large ones make a start take longer."},
		{Name: "transaction.state.log.replication.factor", Group: group, Type: Int, Default: "1", Valid: between(1, 32767),
			Doc: "How many replicas __transaction_state gets when it is created. One broker holds one, whatever the number: kept and shown without effect."},
		{Name: "transaction.state.log.min.isr", Group: group, Type: Int, Default: "1", Valid: between(1, int32Max),
			Doc: "How many replicas of __transaction_state have to have a record. One broker holds one, whatever the number: kept and shown without effect."},
		{Name: "skein.transaction.refuse.late.requests", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether a request of a transactional producer is left undone, and its connection closed, when it comes over a connection that the producer has given up for a newer one: it was held up on its way, and would end, open or add to another transaction than it was sent for. A client that still uses the connection comes again over another. This is about clients before KIP-890; false behind proxies that spread one client over several connections."},
	}
}
