// Package record knows the bytes of Kafka's record batch, version 2: what a
// client sends in a Produce request, what a segment holds and what a Fetch
// answers are the same bytes, and this package is the only one that takes them
// apart.
//
// Its place in the journey of a record: the Produce handler gives each
// partition's bytes to a [Validator], which says whether they may be stored and
// as which code they are refused; the partition then patches the offset in place
// with [PatchOffset], since the base offset and the leader epoch lie outside the
// checksum; storage finds its way through segments with [ParseHeader] and
// [Batches]; lookups by time and the cleaner read single records with [Walk];
// the cleaner, the coordinators and tests write batches with a [Builder].
//
// The package decides and transforms, and touches nothing else: there is no
// clock, no file, no goroutine in it. The current time is an argument, always in
// milliseconds since the Unix epoch. Input is hostile until validated: no length
// that the input claims is ever allocated, no input makes it panic.
//
// docs/format/record-batch.md describes the bytes.
package record
