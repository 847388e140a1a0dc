package assign

// NoGeneration is the generation of a member that never finished a rebalance,
// or whose encoding has no place for one.
const NoGeneration int32 = -1

// TopicPartitions is one topic and some of its partitions.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// Subscription is what a member tells the leader of its group through JoinGroup.
type Subscription struct {
	// Topics is what the member wants, in any order. Unknown names are skipped.
	Topics []string
	// UserData belongs to the assignor; nil is none.
	UserData []byte
	// Owned is what the member claims to have (since version 1). It is hostile
	// input: claims may be stale, double, out of range or of foreign topics.
	Owned []TopicPartitions
	// Generation is when Owned was assigned (since version 2), NoGeneration
	// when unknown.
	Generation int32
	// Rack is where the member runs, client.rack (since version 3); "" is unknown.
	Rack string
}

// Member is one member of a group as its leader sees it.
type Member struct {
	// ID is the member id that the coordinator gave out, unique in the group.
	ID string
	// InstanceID is the group.instance.id of a static member, "" for others. Static
	// members come first in every order, so that a restart changes nothing.
	InstanceID string
	Subscription
}

// Topic is what the cluster's metadata says of a topic.
type Topic struct {
	Name string
	// Partitions counts them; they are numbered from 0. Zero or less means that the
	// topic has no metadata, and nobody gets anything of it.
	Partitions int32
	// Racks lists, by partition, the racks of all replicas, offline ones too. Nil, or
	// an empty list for a partition, means unknown: it suits every member.
	Racks [][]string
	// Weights holds a weight per partition, such as its lag or its bytes per
	// second, for the Weighted assignor; all others ignore it. Negative weights
	// count as 0, missing ones as 1.
	Weights []int64
}

// Input is one group to plan for. Nothing in it is changed or kept by an
// assignor, except that a Plan shares the topic names.
type Input struct {
	Members []Member
	// Topics may hold more than the group subscribes to.
	Topics []Topic
}
