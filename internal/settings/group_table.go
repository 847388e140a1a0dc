package settings

// groupSettings are about consumer groups and the offsets that they commit.
func groupSettings() []Def {
	const group = "Consumer groups"
	return []Def{
		{Name: "group.min.session.timeout.ms", Group: group, Type: Int, Default: "6000", Valid: between(0, int32Max),
			Doc: "The shortest session timeout that a member of a group may ask for. A member that sends no heartbeat for its session timeout leaves its group."},
		{Name: "group.max.session.timeout.ms", Group: group, Type: Int, Default: "1800000", Valid: between(0, int32Max),
			Doc: "The longest session timeout that a member of a group may ask for."},
		{Name: "group.initial.rebalance.delay.ms", Group: group, Type: Int, Default: "3000", Valid: between(0, int32Max),
			Doc: "How long an empty group waits for more members after the first has come, so that those that start together share one round."},
		{Name: "group.max.size", Group: group, Type: Int, Default: "2147483647", Valid: between(1, int32Max),
			Doc: "How many members a group may have. Further ones are refused with GROUP_MAX_SIZE_REACHED."},
		{Name: "offset.metadata.max.bytes", Group: group, Type: Int, Default: "4096", Valid: between(0, int32Max),
			Doc: "How long the metadata may be that a client commits with an offset, in UTF-16 units. Longer ones are refused with OFFSET_METADATA_TOO_LARGE."},
		{Name: "offsets.retention.minutes", Group: group, Type: Int, Default: "10080", Valid: between(1, int32Max),
			Doc: "How long committed offsets are kept that no member of their group needs: from when the group became empty, or from their commit where the group does not subscribe the topic."},
		{Name: "offsets.retention.check.interval.ms", Group: group, Type: Long, Default: "600000", Valid: atLeast(1),
			Doc: "How often the broker looks for offsets that need not be kept."},
		{Name: "offsets.commit.timeout.ms", Group: group, Type: Int, Default: "5000", Valid: between(1, int32Max),
			Doc: "How long a commit waits for replicas. One broker is one replica, and a commit is answered when it is on disk or has failed: kept and shown without effect."},
		{Name: "offsets.topic.num.partitions", Group: group, Type: Int, Default: "50", Valid: between(1, topicPartitionsMax),
			Doc: "How many partitions the topic __consumer_offsets gets when it is created. Groups are spread over them. A topic that exists keeps the partitions that it has."},
		{Name: "offsets.topic.segment.bytes", Group: group, Type: Int, Default: "104857600", Valid: between(segmentMin, int32Max),
			Doc: "The topic setting segment.bytes that __consumer_offsets gets when it is created. What a group has changed is compacted once its segment is full, so that large ones make a start take longer."},
		{Name: "offsets.topic.replication.factor", Group: group, Type: Int, Default: "1", Valid: between(1, 32767),
			Doc: "How many replicas __consumer_offsets gets when it is created. One broker holds one, whatever the number: kept and shown without effect."},
		{Name: "offsets.topic.compression.codec", Group: group, Type: Int, Default: "0", Valid: between(0, 4),
			Doc: "What the records of groups are compressed with: 0 nothing, 1 gzip, 2 snappy, 3 lz4, 4 zstd."},
		{Name: "skein.group.union.admission", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether a client may join a group with assignors that only the members' other lists allow: the group then falls back to one that all have, instead of refusing the client with INCONSISTENT_GROUP_PROTOCOL. It makes a rolling downgrade in one step possible."},
		{Name: "skein.group.persist.protocols", Group: group, Type: Boolean, Default: "true",
			Doc: "Whether all assignors that a member has named are kept in __consumer_offsets, not only the one that was chosen, so that a restart of the broker causes no rebalance."},
		{Name: "skein.group.commit.ownership.check", Group: group, Type: Boolean, Default: "false",
			Doc: "Whether a commit for a partition that the current generation has given to another member is refused, with ILLEGAL_GENERATION. Any member may commit partitions that nobody was given."},
	}
}

// topicPartitionsMax is how many partitions a topic may be created with at once.
const topicPartitionsMax = 10_000
