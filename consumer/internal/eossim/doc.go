// Package eossim is a simulation of exactly-once from end to end: processes that consume, transform and produce as package
// exactlyonce does, each made of the machines that are shipped (membership of a group, package internal/work, package
// internal/transaction), over a model of franz-go's producer and a broker that is made of the coordinators that are shipped and
// a model of partitions (package cluster), of Skein or of Kafka, with transactions of version 1 or 2. Time, the network and every fault
// follow from a [Script]; a seed makes one. Two runs of one script are the same to the last message.
//
// Its relatives: package groupsim lives through groups alone, with members of other clients; package eossim of the broker has whole brokers,
// disks and the wire, and clients that are made for it. Here it is our clients that are in question.
//
// What must hold in every run is in judge.go: the effect of each input is in the committed output once, the group's offsets are at the end of
// the input and never move back, nobody commits for a partition that is another's, no position passes a transaction that is not decided,
// and when the faults have ended everything comes to its end and nothing is left open. Who leads the group fences nobody that is in the round, and
// what a member leaves open that dies while all else is well ([Deaths]) is ended soon after its session, though the broker would not do it.
package eossim
