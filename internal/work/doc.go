// Package work decides what a consume-transform-produce loop does next: process, commit, abort, go back, make another producer, stop.
//
// It is the machine of package exactlyonce, and lies here so that simulations may import it together with the machines of the consumer and
// of the broker. The loop is one goroutine, which does one act after the other and tells the machine how each has ended: Step takes what has
// happened and returns the next act. A callback of the consumer comes in the middle of a Poll: what it asks for is done before it returns,
// which is what the act Release says.
//
// What must hold (R-F6, R-F7):
//
//   - one transaction is open at a time, and its offsets are those of all that was processed since it began, and of nothing else;
//   - a partition with progress in it is not given up before it is committed or aborted, or it is left in doubt and never committed
//     afterwards: then the producer is replaced, which ends it one way or the other, and the group's offsets say which;
//   - after a transaction that was not committed, every partition that it touched goes back to the group's committed offset;
//   - partitions that stay are not disturbed by others that go: a generation that changes under an open transaction has it committed in the new
//     one.
package work
