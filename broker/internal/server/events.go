package server

import "time"

// Events are called as things happen, when set. They are called on the goroutines that serve: they must be short and
// must not call back into the server.
type Events struct {
	ConnectionOpened func(ConnectionInfo)
	ConnectionClosed func(ConnectionInfo, CloseReason)
	// RequestFinished is called once a request's response has been written, or has turned out to be none.
	RequestFinished func(RequestInfo)
}

// ConnectionInfo names a connection.
type ConnectionInfo struct {
	ID       uint64
	Listener string
	Remote   string
}

// CloseReason says in one word why a connection ended; it is a metrics label, so there are few.
type CloseReason string

// Why connections end.
const (
	ClosedByPeer     CloseReason = "peer"     // end of stream or reset
	ClosedIdle       CloseReason = "idle"     // nothing asked for longer than Config.IdleTimeout
	ClosedInvalid    CloseReason = "invalid"  // bytes that are no request this server takes
	ClosedFailed     CloseReason = "failed"   // a handler called Fail, or panicked
	ClosedSlow       CloseReason = "slow"     // held request memory that others waited for, or did not read its responses
	ClosedLimit      CloseReason = "limit"    // refused: too many connections from one address
	ClosedByShutdown CloseReason = "shutdown" // the server is shutting down
)

// RequestInfo describes one finished request.
type RequestInfo struct {
	Key, Version int16
	ErrorCode    int16 // Response.ErrorCode
	// Handling is from Received until the handler finished the request, Total until its response was written, if it has one.
	Handling, Total   time.Duration
	BytesIn, BytesOut int64 // whole frames, size fields included
}
