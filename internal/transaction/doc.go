// Package transaction decides what a transactional producer does next: which request follows which, what an answer means, and what may
// be said to the user. It holds no connection and no clock; package producer acts for it.
//
// franz-go's client batches records, numbers them and ends transactions, but it leaves holes: it commits though a record failed, it sends
// nothing when only offsets were added, it forgets whether an EndTxn whose answer was lost was carried out, and from some refusals its
// producer id never recovers. The machine stands above it and closes them (docs/decision/0011-transactions-on-kgo.md):
//
//   - a transaction of which a record failed, or within which the epoch was raised, is never committed (FR-H9);
//   - an EndTxn without an answer is sent again, with the same producer id and epoch, until the broker says what has become of it (R-K24);
//   - who is refused proves whether it is still the producer of its transactional id, by an InitProducerId that names its id and epoch
//     (KIP-360): a transaction that was only too slow ends in an abort, and only a successor is the end of the producer;
//   - what was sent by hand and has lost its answer may still arrive: before the next transaction begins, the epoch is raised past it (FR-H4).
//
// A call is begun by Begin, Commit or Abort. Then Step says what to do and Answer takes what came of it, until a Step says Return.
package transaction
