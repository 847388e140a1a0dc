// Package ages finds out, before anything is written, how old the brokers of a cluster are: whether they can tell the offsets of a member that
// was taken for dead from those of its successor. Inside a transaction they can since Kafka 2.5 (KIP-447): a TxnOffsetCommit of version
// 3 says the generation. An older broker gets it without, and takes everybody's. A client library sends what the broker understands and
// says nothing of what it leaves out, so somebody has to ask.
package ages
