// Package coordinator runs machines: it gives them what callers ask, makes durable what they decide, and answers when it
// is. It knows neither groups nor transactions.
//
// Its place in the journey of a JoinGroup: the handler calls [Coordinator.Do] with an input and a function, and the
// connection reads on. A shard is a partition of an internal topic with the [machine.Machine] whose log it is. It belongs to
// one of a few workers, which drains what waits, steps the machine through each input, applies the records at once, appends
// them all together, and calls the functions when that append, and every one before it, is durable. While nothing is under
// way a caller does the same himself (turn.go). Nobody waits on a goroutine
// of his own: who has no answer yet is an entry in a table of the shard, under the token that the machine knows him by.
//
// Since a machine is changed before its records are durable, nothing that it says may leave the shard earlier. So every
// answer waits for the appends before it, also that of a step that has only read; without such appends it is given at
// once. What is read is therefore never older than what was acknowledged, and never taken back.
//
// When an append fails the machine is ahead of its log. There is no way to wind it back, and none is needed: everybody who
// waits is told to ask again ([ErrNotCoordinator]), the machine is dropped, and a new one is made from the log. That is the
// same code that a start runs, so that it works when it is needed. docs/decision/0005-coordinators.md says why.
package coordinator
