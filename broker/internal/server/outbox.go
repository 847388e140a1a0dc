package server

import (
	"runtime"
	"slices"
	"sync"
)

// outbox is the connections with answers that nobody writes yet. Writers take them out, one after the other, a few goroutines
// that live as long as there are any: one for each answer would cost more than most answers. Whoever is about to give some
// answers says so (Together). If they turn out to be for no more than a few connections he writes them himself, which on an idle
// machine spares the client the time until another goroutine runs.
//
// None of them waits for a peer: what a socket does not take at once goes on on a goroutine of that connection's own.
type outbox struct {
	mu       sync.Mutex
	ready    []*Conn // first come, first served; their writing is set
	taken    int     // of ready
	together int     // calls of Together
	writers  int
	most     int // writers
	work     sync.WaitGroup
}

// fewConns is for how many connections Together writes the answers itself.
const fewConns = 2

func (o *outbox) start() { o.most = runtime.GOMAXPROCS(0) }

// put has c's answers written.
func (o *outbox) put(c *Conn) {
	o.mu.Lock()
	if o.taken > o.waiting() { // writers that never come to the end would let it grow for ever
		o.ready, o.taken = slices.Delete(o.ready, 0, o.taken), 0
	}
	o.ready = append(o.ready, c)
	if o.together == 0 || o.waiting() > fewConns {
		o.hire()
	}
	o.mu.Unlock()
}

// waiting is how many connections are there. The caller holds mu.
func (o *outbox) waiting() int { return len(o.ready) - o.taken }

// hire sees to it that somebody takes out what is there. The caller holds mu.
func (o *outbox) hire() {
	if o.writers < min(o.most, o.waiting()) {
		o.writers++
		o.work.Go(o.write)
	}
}

// take takes the first connection out, nil when there is none. The caller holds mu.
func (o *outbox) take() *Conn {
	if o.waiting() == 0 {
		clear(o.ready)
		o.ready, o.taken = o.ready[:0], 0
		return nil
	}
	c := o.ready[o.taken]
	o.taken++
	return c
}

// write is a writer.
func (o *outbox) write() {
	for c := o.next(); c != nil; c = o.next() {
		c.writeQuick()
	}
}

// next is what a writer takes; nil ends it.
func (o *outbox) next() *Conn {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.take()
	if c == nil {
		o.writers--
	}
	return c
}

// Together calls answer, which answers requests, any number of them and on this goroutine. Their responses are written after
// it, at the latest. It does not wait for peers.
func (s *Server) Together(answer func()) {
	o := &s.outbox
	o.mu.Lock()
	o.together++
	o.mu.Unlock()
	defer o.apart()
	answer()
}

// apart writes what is little, or has it written.
func (o *outbox) apart() {
	o.mu.Lock()
	o.together--
	var few [fewConns]*Conn
	switch n := o.waiting(); {
	case o.together > 0 || n == 0 || o.writers > 0:
	case n <= fewConns:
		for i := range n {
			few[i] = o.take()
		}
	default:
		o.hire()
	}
	o.mu.Unlock()
	for _, c := range few {
		if c != nil {
			c.writeQuick()
		}
	}
}
