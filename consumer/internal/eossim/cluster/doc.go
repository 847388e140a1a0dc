// Package cluster is the other side of a simulation of exactly-once: one broker with the coordinators that are shipped
// (packages internal/group and internal/txn) and a model of partitions, which hold batches and markers, know their producers'
// epochs and sequences, and tell readers how far all transactions are decided.
//
// Two brokers are modelled. Skein's ends a transaction in one step: the decision and all markers become durable together.
// Kafka's decides first and answers, and the markers come one after the other, so that the producer's next request may be too
// early and readers see a part of it before the rest.
package cluster
