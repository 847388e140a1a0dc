package server

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
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

	frameBytes int64                 // size field included
	tooNew     bool                  // an ApiVersions of a version that is not served
	flexible   bool                  // has response header 1
	frame      atomic.Pointer[block] // what Body lies in; nil once released
	lease      lease
	buffers    []*block // Buffer's
	head       [headMax]byte

	next   *Request // in Conn.queue; guarded by Conn.mu, as result is while it is unfinished. Then the writer has both.
	result result
}

// result is what a handler made of a request.
type result struct {
	outcome  outcome
	response Response
	err      error // of Fail
	at       time.Time
	size     int64 // of the whole response frame
	memory   int64 // of it, what is held in memory
}

type outcome uint8

const (
	unfinished outcome = iota
	replied
	silent // NoReply
	failed
)

// Response is what Reply sends: Body first, then Chunks in order. The server adds the frame size and the response header.
// Nothing of it may lie in Request.Body, whose memory Reply gives back.
type Response struct {
	Body   []byte
	Chunks []Chunk
	// ErrorCode is the error that the metrics count the request under; it is not sent.
	ErrorCode int16
	// ThrottleMs is for how long the connection is not read after this response, in milliseconds (KIP-219: the client hears
	// of it first).
	ThrottleMs int
	// Release, when set, is called once the response has been written or dropped: until then its bytes and files must
	// stay as they are. It is called on a writer and must not wait.
	Release func()
}

// Chunk is a piece of a response: bytes, and after them a range of a file when File.Len is not 0.
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
func (r *Request) Reply(resp Response) {
	size, memory := resp.sizes()
	size += sizeField + responseHeaderSize(r.flexible)
	if size-sizeField > math.MaxInt32 {
		resp.release()
		r.Fail(fmt.Errorf("a response of %d bytes to request %d v%d does not fit a frame", size, r.Key, r.Version))
		return
	}
	r.finish(result{outcome: replied, response: resp, size: size, memory: memory})
}

// NoReply finishes r without a response: a Produce with acks=0, once it is appended.
func (r *Request) NoReply() { r.finish(result{outcome: silent}) }

// Fail finishes r by closing the connection, after the responses before it have been written.
func (r *Request) Fail(err error) { r.finish(result{outcome: failed, err: err}) }

// Contain contains, when it is deferred, a panic to the request's connection: one broken request must not take the broker
// from everybody else. It is as loud as it can be. The server does so around Serve; a handler that goes on with r on
// another goroutine does it there. The body is abandoned, since whatever the handler began may still read it.
func (r *Request) Contain() {
	p := recover()
	if p == nil {
		return
	}
	r.Conn.server.logs.panicked(r, p, debug.Stack())
	r.abandonBody()
	if !r.Conn.finish(r, result{outcome: failed, err: errPanic}) {
		r.Conn.abort(ending{ClosedFailed, errPanic})
	}
}

var errPanic = errors.New("the handler panicked")

// finish hands the result on. A second one is a bug of the handler and may have used memory that was no longer its own:
// it is logged, and nothing of it is sent.
func (r *Request) finish(res result) {
	if !r.Conn.finish(r, res) {
		r.Conn.server.logs.finishedTwice(r)
		res.response.release()
	}
}

// ReleaseBody gives Body's memory back before the request is finished. Handlers that park a request for long and have
// read all of it call it, so that waiting requests do not hold the memory that others need.
func (r *Request) ReleaseBody() {
	if b := r.frame.Swap(nil); b != nil {
		r.Conn.server.budget.release(&r.lease)
		r.Conn.server.pools.put(b)
	}
}

// abandonBody gives the memory back to the budget but not to the pools, since somebody may still use it.
func (r *Request) abandonBody() {
	if r.frame.Swap(nil) != nil {
		r.Conn.server.budget.release(&r.lease)
	}
}

// Hold keeps what comes behind r on its connection from being started, until Proceed or until r is finished. It is for a
// Produce that cannot append yet: what is sent behind it must not overtake it. It is called in Serve.
func (r *Request) Hold() {
	c := r.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.result.outcome == unfinished {
		c.queue.held = r
	}
}

// Proceed ends a Hold, from any goroutine. It must come before r is finished.
func (r *Request) Proceed() {
	c := r.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.proceed(r)
	c.wakeReader()
}

// Buffer returns an empty slice with room for size bytes to build a response in. The server takes it back once r is
// finished and its response written or dropped. Only the handler that holds r may call it, before it finishes r.
func (r *Request) Buffer(size int) []byte {
	b := r.Conn.server.pools.get(size)
	r.buffers = append(r.buffers, b)
	return b.b[:0]
}

// drop lets go of everything that r held, once its response is written or will never be.
func (r *Request) drop() {
	r.result.response.release()
	r.result.response = Response{}
	for _, b := range r.buffers {
		r.Conn.server.pools.put(b)
	}
	r.buffers = nil
}

// sizes returns how many bytes resp has, and how many of them are held in memory.
func (resp *Response) sizes() (size, memory int64) {
	memory = int64(len(resp.Body))
	size = memory
	for i := range resp.Chunks {
		c := &resp.Chunks[i]
		memory += int64(len(c.Bytes))
		size += int64(len(c.Bytes)) + c.File.Len
	}
	return size, memory
}

func (resp *Response) release() {
	if resp.Release != nil {
		resp.Release()
	}
}
