// Package eossim is a simulation of exactly-once on a whole broker: transactional producers of every protocol, groups that
// consume, transform and produce, and readers, over a network that delays, loses and repeats, while the broker and the clients
// crash. All of it follows from one seed. What the clients have done and seen is a history, and package history judges it.
//
// Only tests import it. Who runs it gives it a broker and a bubble of testing/synctest, so that time is fake:
//
//	synctest.Test(t, func(*testing.T) { result = eossim.Run(seed, open) })
//
// # What a seed decides
//
// Every decision is drawn from dice of its own place (one client, one connection, the disk, the fate of the broker), which the
// seed has loaded, so that what one goroutine does moves nobody else's dice. Time passes in the network and in syncs of the
// write-ahead log alone, by spans that hardly ever agree to the nanosecond: at each instant one thing begins, and everything that
// follows from it comes to rest before the next instant. Requests meet in the broker because they wait there for the disk.
//
// So two runs of one seed tell the same history, and a test compares their hashes. What is not decided is the order in which
// the goroutines of the broker do what belongs to one instant, such as the work of two coordinator shards after one round of
// the log: the Go scheduler decides that. The test lets goroutines run one at a time and keeps the garbage collector away, and then
// that order hardly ever changes, but a machine that is busy with other things can still change it. A failing seed is
// therefore tried several times when it is replayed. SKEIN_SIM_PROCS gives that up for goroutines that really run at once.
package eossim
