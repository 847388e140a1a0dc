// Package onebounce is an exhaustive model of a classic consumer group whose members move between the EAGER and the
// COOPERATIVE protocol. It is the proof behind the rules that the consumer follows (docs/requirements.md, R-C11 to
// R-C18): every order of events of a small group is walked through, and two promises are looked at in every state:
//
//   - INV1: no partition is owned by two members that both belong to the group's generation;
//   - INV2: no commit of a partition is accepted from a member after the partition was given to another.
//
// It compares rules by which a member may choose its protocol. Those that others proposed break the promises within ten
// steps; [Withhold], which a client follows alone with any broker, and [Union], with a broker's help, keep them.
//
// Three members share two partitions. The coordinator admits, votes, waits and answers as Kafka's does; leaders may plan
// anything that their assignor allows. Members are bounced, crash and come back, are expelled while they live, miss
// a round, lose the answer to a JoinGroup, and may be static (KIP-345); the coordinator fails over between rounds. How
// often each of these happens and how many generations there are is bounded by the [Model]; the order is not.
//
// Not in it: a coordinator that fails in the middle of a round, and two live processes with one group.instance.id. The
// simulation of the code that is shipped is for these.
package onebounce
