// Package group decides what happens to consumer groups of the classic protocol: who is a member, when a generation ends
// and the next begins, what everybody is answered, and which offsets are committed.
//
// Its place in the journey: a request handler of api gives an input (call.go) to the coordinator's loop, which calls
// [Machine.Step]. What a step decides comes back as records for the log, answers that wait until those are durable, and the
// next moment at which the machine wants to be called. A caller who must wait, a Join for the others and a Sync for the
// leader, is a token in the member's state; each is answered exactly once (R-K31).
//
// A group goes round (R-D1):
//
//	Empty ──join──▶ PreparingRebalance ──all have joined, or time is up──▶ CompletingRebalance
//	  ▲                  ▲        │                                                │      │
//	  └──nobody is left──┼────────┘       ◀──a member changes or goes──────────────┘      │
//	                     └──a member changes or goes── Stable ◀──the leader's Sync────────┘
//
// What is durable is apart from what is not. The log has the committed offsets, and of each group the metadata of its last
// round that was completed or left nobody (Group.stored): both change in Apply alone. The rest of a Group is the round
// under way, lost with the machine: after a restart a group is Stable as it was, or Empty, and members go on without a
// rebalance since all that they have offered is in the record (R-C3, R-D16).
//
// What is given to a Step belongs to the machine from then on, bytes within it too.
package group
