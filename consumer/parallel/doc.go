// Package parallel works on the records of a consumer side by side, and keeps what a consumer promises: nothing that is not done is
// committed, and a partition is given up only when nobody works on it any more.
//
// A program that hands records to goroutines of its own loses records in two ways. It commits how far it has read, while an earlier record
// is still being worked on, and ends. Or it goes on working on a partition that is another member's by now. There are two ways not to:
//
// Processor does all of it: workers take records as they are ready, those of one key in their order; a partition that is behind is paused;
// what was begun is finished before the partition is given up; what is done is committed up to the first record that is not.
//
// Work is for programs with goroutines of their own: it is told what begins and what is done, commits what may be, and makes the
// group wait, within its deadline, until what was begun of a partition is over.
//
// Both are on top of what package consumer shows to everybody.
package parallel
