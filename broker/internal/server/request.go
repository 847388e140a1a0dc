package server

import (
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// Request is one request of one connection, from its frame to its response.
type Request struct {
	Key, Version  int16
	CorrelationID int32
	// ClientID is "" both for the empty and the null client id; HasClientID tells them apart.
	ClientID    string
	HasClientID bool
	// Body is what follows the request header. It may be kept and written to until Reply, NoReply, Fail or ReleaseBody is
	// called, and not a moment longer: its memory then carries another request.
	Body []byte
	Conn *Conn
	// Received is when the last byte of the frame was here.
	Received time.Time
}

// Response is what Reply sends: Body first, then Chunks in order. The server adds the frame size and the response header.
type Response struct {
	Body   []byte
	Chunks []Chunk
	// ErrorCode is the error that the metrics count the request under; it is not sent.
	ErrorCode int16
	// ThrottleMs is for how long the connection is not read after this response, in milliseconds (KIP-219: the client hears of it first).
	ThrottleMs int
	// Release, when set, is called once the response has been written or dropped: until then its bytes and files must
	// stay as they are. It is called on a writer and must not wait.
	Release func()
}

// Chunk is a piece of a response: bytes, or a range of a file when File is set.
type Chunk struct {
	Bytes []byte
	File  FileRange
}

// FileRange names bytes of a file that do not change until the response is released. Long ranges leave by sendfile where
// the system and the connection can.
type FileRange struct {
	File     vfs.File
	Pos, Len int64
}

// Reply answers r. Exactly one of Reply, NoReply and Fail is called for a request, once, from any goroutine; none waits.
func (r *Request) Reply(resp Response) {}

// NoReply finishes r without a response: a Produce with acks=0, once it is appended.
func (r *Request) NoReply() {}

// Fail finishes r by closing the connection, after the responses before it have been written.
func (r *Request) Fail(err error) {}

// ReleaseBody gives Body's memory back before the request is finished. Handlers that park a request for long and have
// read all of it call it, so that waiting requests do not hold the memory that others need.
func (r *Request) ReleaseBody() {}

// Buffer returns an empty slice with room for size bytes to build a response in. The server takes it back once r is
// finished and its response written or dropped.
func (r *Request) Buffer(size int) []byte { return make([]byte, 0, size) }
