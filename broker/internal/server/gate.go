package server

import (
	"net"
	"net/netip"
	"sync"
)

// gate counts connections. At the limit for all, newcomers wait, in the listen queue behind the one at the gate; over the
// limit for one address they are turned away, as Kafka does both.
type gate struct {
	mu        sync.Mutex
	changed   sync.Cond
	max       int // 0: no limit; less: nobody passes
	perIP     int // likewise
	overrides map[netip.Addr]int
	total     int
	byIP      map[netip.Addr]int
	closed    bool
}

func newGate(limits ConnectionLimits) *gate {
	g := &gate{byIP: map[netip.Addr]int{}}
	g.changed.L = &g.mu
	g.limit(limits)
	return g
}

// limit changes the limits. Who is in stays in.
func (g *gate) limit(limits ConnectionLimits) {
	overrides := make(map[netip.Addr]int, len(limits.PerIPOverrides))
	for host, limit := range limits.PerIPOverrides {
		if addr, err := netip.ParseAddr(host); err == nil {
			overrides[addr.Unmap()] = limit
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.max, g.perIP, g.overrides = limits.Max, limits.MaxPerIP, overrides
	g.changed.Broadcast()
}

// entry is one connection's place behind the gate.
type entry struct{ addr netip.Addr }

// passage is what the gate said.
type passage int

const (
	passed passage = iota
	tooManyOfAddress
	gateClosed
)

// enter waits for a place.
func (g *gate) enter(remote net.Addr) (entry, passage) {
	e := entry{addressOf(remote)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full(e.addr) {
		return entry{}, tooManyOfAddress
	}
	for g.max != 0 && g.total >= g.max && !g.closed {
		g.changed.Wait()
	}
	if g.closed {
		return entry{}, gateClosed
	}
	g.total++
	if e.addr.IsValid() {
		g.byIP[e.addr]++
	}
	return e, passed
}

func (g *gate) full(addr netip.Addr) bool {
	if !addr.IsValid() {
		return false // memory connections have no address
	}
	if limit, ok := g.overrides[addr]; ok {
		return g.byIP[addr] >= limit
	}
	return g.perIP != 0 && g.byIP[addr] >= g.perIP
}

func (g *gate) leave(e entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if e.addr.IsValid() {
		if g.byIP[e.addr]--; g.byIP[e.addr] == 0 {
			delete(g.byIP, e.addr)
		}
	}
	g.changed.Signal()
}

// close lets everybody who waits go away.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.changed.Broadcast()
}

func addressOf(remote net.Addr) netip.Addr {
	if t, ok := remote.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
