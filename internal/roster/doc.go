// Package roster is what members of a group let each other know behind the user data of their assignors, so that a leader, whoever that
// is, sees who was there before and is not any more (docs/format/roster.md, docs/decision/0010-fencing-the-dead.md).
//
// A member publishes a few bytes with its subscription, and repeats what it was told that others publish; a leader tells each of them
// some of the others with its assignment. No leader stores anything: what is known of a member outlives it, and the leader too, with those
// who were told of it. Members of other clients publish nothing, are told nothing, and look at none of it.
package roster
