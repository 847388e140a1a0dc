package assign

// Protocol is a rebalance protocol: what a member does with its partitions
// while a rebalance goes on.
type Protocol int8

const (
	// Eager members revoke everything before they join.
	Eager Protocol = iota
	// Cooperative members keep what they own and revoke only what the plan takes
	// away; a partition changes hands in two rounds (KIP-429).
	Cooperative
)

func (p Protocol) String() string {
	if p == Cooperative {
		return "COOPERATIVE"
	}
	return "EAGER"
}

// Assignor plans for a group. Only the leader's runs; the coordinator and the
// other members see nothing of it but its name and its bytes. Implementations
// hold no state between calls, so that one value serves many groups at once.
type Assignor interface {
	// Name is what members agree on in JoinGroup. The protocols that a name stands
	// for must never change under the same name.
	Name() string
	// Protocols lists what the assignor supports, Eager when in doubt. A Cooperative
	// one never gives a partition away while another member still claims it.
	Protocols() []Protocol
	// Assign plans. The plan has an entry for every member, if empty, and gives a
	// partition to one member at most, who subscribes to its topic.
	Assign(Input) (Plan, error)
}

// History is what a member knows when it joins again.
type History struct {
	// Owned is the last assignment it received; nil when it never received one.
	Owned []TopicPartitions
	// Generation is the generation of that assignment, or NoGeneration.
	Generation int32
	// UserData is what that assignment carried for the assignor.
	UserData []byte
}

// Remembering is an Assignor whose members send something along with their
// subscription so that any leader can see what they had: the leader itself
// stores nothing.
type Remembering interface {
	Assignor
	// SubscriptionUserData returns what goes into Subscription.UserData, nil for none.
	SubscriptionUserData(topics []string, h History) []byte
}
