// Package producers holds what one partition knows of the idempotent and
// transactional producers that write to it: the last batches of each, so that a
// retry is recognised, and the transactions that are open, so that a reader who
// asks for committed records knows where to stop.
//
// Its place in the journey of a record: the partition looks an [Entry] up, asks
// [Entry.Check] whether the batch is next, a duplicate or refused, and keeps
// [Entry.Next] as what will hold once the batch is written. Storage applies each
// batch to the [Table] as it reaches the segment, writes the table beside the
// segments ([Table.Snapshot]) and reads it back when it opens ([Restore]).
//
// The rules are those of Apache Kafka 4.4. An Entry is a value and its methods
// return new values: a refused batch changes nothing (R-K32).
//
// Nothing here reads a clock; times are milliseconds since the Unix epoch.
// docs/format/producer-snapshot.md describes the snapshot's bytes.
package producers
