// Package groupsim is a simulation of consumer groups: the members that package membership makes of our consumer, beside
// faithful models of older and of other consumers, in a group that package internal/group coordinates, as our broker or as
// Kafka's. Time, the network, the users and every fault follow from a [Script]; a seed makes one. Two runs of one script are
// the same to the last message.
//
// It stands behind package onebounce: that one walks through every order of events of a small group by the rules, this one
// lives through long lives of larger groups with the code that is shipped.
//
// What must hold in every run is in judge.go: no two live members own one partition (INV1), no commit is taken from a member
// whose partition is another's (INV2), no record is lost, no committed offset moves back, leaders plan the fewest moves, and
// when the faults have ended the group is whole again within three generations. [Result.Rows] tells which rows of the matrix
// of upgrades (R-C.3 of docs/requirements.md) a run came through.
//
// A member of a script is one letter and what it offers, the preferred name first:
//
//	D[cooperative-sticky,range]   our consumer, which changes its protocol by itself
//	T[cooperative-sticky]         our consumer with Config.Static
//	O[range]                      a consumer of Kafka before 2.4: EAGER, and blind to what others own
//	S[range,cooperative-sticky]   a consumer of Kafka since 2.4: one protocol for its whole life
//	F[cooperative-sticky,range]   a consumer that follows what was selected, as franz-go does
//	K[uniform]                    a member of the new protocol (KIP-848), to which a group of Kafka's is converted
//	N, C, L[…]                    ways to upgrade in one bounce that were proposed and are wrong (docs/decision/0008)
package groupsim
