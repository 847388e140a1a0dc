package server

import "context"

// Handler decides what a request means. Its methods are called by the connections' readers, many at a time.
type Handler interface {
	// Supports tells whether this version of this request is served. A request that is not closes its connection.
	Supports(key, version int16) bool
	// Flexible tells whether this version has tagged fields: request header 2 and response header 1.
	Flexible(key, version int16) bool
	// Limits bounds what a request with this key may cost.
	Limits(key int16) Limits
	// Serve answers r now, or later from any goroutine, by exactly one of Reply, NoReply and Fail. It must not wait for a
	// disk, a peer or another request: the connection reads nothing meanwhile. What waits on purpose (a Fetch for more
	// bytes) ends its wait when ctx is done: the peer is gone, or the server is shutting down and wants the answer early.
	Serve(ctx context.Context, r *Request)
	// TooNew answers an ApiVersions request of a version that Supports refused. The body must not be read: nobody knows
	// its shape. The response is sent with header 0 (T1).
	TooNew(r *Request)
}

// Limits are bounds for the requests of one kind.
type Limits struct {
	// MaxBytes is the largest frame taken, in bytes, where that is less than Config.MaxRequestBytes; 0: it is not.
	MaxBytes int64
	// Spread is how many bytes of memory a byte of the request may become while it is served: decoded, it takes many
	// times its size. The request's memory counts so many times. 0 is 1.
	Spread int64
}
