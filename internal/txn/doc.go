// Package txn decides about transactions: which producer id and epoch a transactional id has, which partitions are in its
// transaction, and when and how that ends.
//
// Its place in the journey: a request handler of api gives an input (call.go) to the coordinator's loop, which calls
// [Machine.Step]. What a step decides comes back as records of __transaction_state, as markers for other partitions that
// become durable together with those records, as answers, and as asks: things that the machine wants done by somebody who
// can act. A transactional id goes round (R-E1):
//
//	Empty ──Add──▶ Ongoing ──End, time is up, a new producer──▶ PrepareCommit ──all markers──▶ CompleteCommit
//	  ▲              ▲                                     or   PrepareAbort    are written    CompleteAbort
//	  │              └───────────────────────────Add───────────────────────────────────────────────┘ │
//	  └──────────────────────────────────────────Init────────────────────────────────────────────────┘
//
// # One step
//
// In Kafka the end of a transaction is two phases: the decision (Prepare) becomes durable and is answered, then markers
// travel to the partitions, then the end (Complete) is noted. Between the two the producer's next request meets
// CONCURRENT_TRANSACTIONS, and readers see nothing yet. Here all partitions are at hand, so both records and all markers
// are one output, and the loop makes one output durable as a whole or not at all. The log looks as Kafka's does.
//
// Partitions that take no marker now, because they are offline, leave the old way: Prepare stays, with the partitions that
// are missing, and an Ask repeats until nothing is. The same goes on with a Prepare that a replay finds.
//
// # Epochs
//
// An epoch that was handed out never goes back, and whoever holds an older one is refused. There is one exception, the
// retry of a request that raised the epoch and whose answer was lost: value.last is the epoch that may still come with. It is
// forgotten as soon as the raised epoch is used, or another producer initialises the id.
//
// What is durable is in value, one record each, and changes in Apply alone. The rest of a transaction is lost with the
// machine: deadlines, which are set again from the records, and which connection was heard last.
package txn
