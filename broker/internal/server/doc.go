// Package server carries frames between sockets and handlers. It is the first and the last stop of a request's journey:
// it reads a frame, checks its limits before it takes memory for it, hands it to the Handler, and writes the response in
// the order in which the requests came. It knows the Kafka protocol's framing and headers and nothing of any body.
//
// One connection has one goroutine, its reader, which also runs the handlers and writes what they answer at once. What a
// handler cannot answer at once is a parked slot in the connection's queue, not a parked goroutine; whoever finishes it
// later has it written by way of the outbox. An idle connection is thus one small stack.
//
// Memory has bounds that peers cannot move: request bytes by one budget (budget.go), responses by the rules of when the
// next request is taken (conn.go), and connections by counts (gate.go).
package server
