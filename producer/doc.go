// Package producer writes records, each at most once however often it has to be sent, and in transactions together with the offsets
// of what they were made from.
//
// A Producer is idempotent by default: it waits for all replicas, and a batch that is sent again is not written again. With a
// TransactionalID it writes in transactions: Begin, Send, SendOffsets, Commit or Abort. One per process is enough for a consumer
// group, since the group's generation fences the offsets of members that are none any more (KIP-447). Package exactlyonce runs the whole loop.
//
// What may follow what in a transaction is decided by internal/transaction; this package is its shell. franz-go's client batches,
// compresses and sends (docs/decision/0011-transactions-on-kgo.md).
package producer
