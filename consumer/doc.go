// Package consumer reads topics, alone or as a member of a consumer group whose partitions do not stop when others come and go.
//
// A group is cooperative without any configuration, and moves from and to EAGER assignors in one rolling bounce
// (docs/decision/0008-one-bounce.md). The life of a member is decided by internal/membership; this package is its shell: one
// goroutine owns the machine and does what it says (driver.go), a table says whose partitions are and how far they are read (table.go),
// and franz-go fetches.
//
// The callbacks of a Listener run inside Poll, Unsubscribe and Close, on the goroutine that calls those: what earlier polls
// handed out is done with by then.
package consumer
