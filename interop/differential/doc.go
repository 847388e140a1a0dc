// Package differential asks two brokers the same questions and compares every
// field of their answers. The questions are sequences of hand-made requests,
// right and wrong, drawn from a seed; the brokers are a real Apache Kafka,
// which decides what is right, and the broker under test.
//
// A run is made of cases. A case has topics of its own and a list of steps; a
// step builds one request for each side, since topic ids, producer ids, fetch
// sessions and leader epochs are each broker's own. Answers are rendered as
// lines of text in which those are replaced by names; whatever then differs is
// a difference. Those that are wanted are listed in allowed.go, each with the
// line of docs/differences.md that gives the reason.
//
// Kafka ends a transaction in two phases, and answers CONCURRENT_TRANSACTIONS in between, which Skein never does: it is asked
// again until it answers something else, and waited for until it has ended what it was told to end.
//
// Members of groups have connections of their own, since their requests may wait
// for other members: see lockstep.go. Fixed sequences about groups are scripts in
// testdata, without the answers.
//
// The first step of a case whose answers differ ends the case, since after it
// the two logs need not be alike; the case is then made smaller by leaving
// steps out, and printed.
package differential
