package api

// Groups is the coordinator of groups as the handlers see it. None of its methods waits; each calls done exactly once,
// from any goroutine, also before it returns, and done must not wait either: it is called on the goroutine that all groups
// of the shard depend on.
//
// The errors are coordinator.ErrLoading, coordinator.ErrNotCoordinator (compare with errors.Is), and others when the topic
// of the groups cannot be made, which to a client is COORDINATOR_NOT_AVAILABLE.
type Groups interface {
	// Prepare sees to it that there is a coordinator: it makes the topic of the groups if that is missing.
	Prepare(done func(error))
	// Do gives an input of package group to the shard that the group is in, after Prepare. The reply is what package group
	// says about the input. Requests that name several groups, and one that is about all groups, come one group at a time.
	Do(group string, in any, done func(reply any, err error))
	// All gives an input (List, Count) to every shard, and done gets what each has answered, in no order. An error is that
	// of any shard. When there is no topic of the groups yet there are no replies, and none is made.
	All(in any, done func(replies []any, err error))
}
