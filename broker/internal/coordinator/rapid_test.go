package coordinator

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/skeinstream/skein/internal/machine"
)

// act is one thing that happens in a sequence.
type act struct {
	kind  string
	shard int32
	in    any
	n     int
}

func (a act) String() string { return fmt.Sprintf("%s %d %+v %d", a.kind, a.shard, a.in, a.n) }

const rapidShards = 3

func acts() *rapid.Generator[act] {
	keys, doors := rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"door", "window"})
	return rapid.Custom(func(t *rapid.T) act {
		a := act{shard: rapid.Int32Range(0, rapidShards-1).Draw(t, "shard"), n: rapid.IntRange(0, 3).Draw(t, "n")}
		switch kind := rapid.IntRange(0, 16).Draw(t, "kind"); {
		case kind < 9:
			a.kind = "ask"
			a.in = rapid.OneOf(
				rapid.Map(keys, func(k string) any { return add{k} }),
				rapid.Map(keys, func(k string) any { return get{k} }),
				rapid.Map(keys, func(k string) any { return bulky{k, flightBytes / 2} }),
				rapid.Map(keys, func(k string) any { return several{k, "other"} }),
				rapid.Map(doors, func(d string) any { return park{d} }),
				rapid.Map(doors, func(d string) any { return open{d, ""} }),
				rapid.Map(doors, func(d string) any { return open{d, "a"} }),
				rapid.Map(rapid.IntRange(1, 5), func(s int) any { return timeout{time.Duration(s) * time.Second} }),
			).Draw(t, "in")
		case kind < 13:
			a.kind = "settle"
		case kind == 13:
			a.kind = "fail"
		case kind == 14:
			a.kind = "pass"
		default:
			a.kind = []string{"refuse", "allow"}[kind-15]
		}
		return a
	})
}

// Whatever happens in whatever order: nobody is lost, nobody is told twice, what was acknowledged is in the log, and the
// machine knows exactly what its log and what is on the way there say.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sequence := rapid.SliceOfN(acts(), 1, 60).Draw(rt, "sequence")
		stop := rapid.Bool().Draw(rt, "shut down with all under way")
		var fault string
		synctest.Test(t, func(t *testing.T) { fault = playAll(t, sequence, stop) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// player plays a sequence against a house and notes the first fault.
type player struct {
	*house
	fault string
}

func playAll(t *testing.T, sequence []act, stop bool) string {
	h := &house{t: t, disk: newDisk(), toys: map[int32]*toy{}}
	h.cfg = Config{Shards: rapidShards, Workers: 2, Open: h.disk.open, Machine: func(shard int32) machine.Machine {
		y := newToy()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.toys[shard] = y
		return y
	}}
	h.Coordinator = Open(h.cfg)
	p := &player{house: h}
	for _, a := range sequence {
		p.play(a)
		synctest.Wait()
		for shard := range int32(rapidShards) {
			p.check(shard, a)
		}
	}
	if !stop {
		for h.disk.pending() > 0 {
			h.disk.settle(1, nil)
		}
		synctest.Wait()
	}
	h.shut()
	for _, a := range h.calls {
		if a.told != 1 {
			p.fail("%s was told %d times", a.name, a.told)
		}
	}
	return p.fault
}

func (p *player) fail(format string, args ...any) {
	if p.fault == "" {
		p.fault = fmt.Sprintf(format, args...)
	}
}

func (p *player) play(a act) {
	switch a.kind {
	case "ask":
		p.askChecked(a)
	case "settle", "fail":
		var err error
		if a.kind == "fail" {
			err = errDisk
		}
		p.disk.settle(min(a.n, p.disk.pending()), err)
	case "pass":
		p.pass(time.Duration(a.n) * time.Second)
	case "refuse":
		p.disk.set(func() { p.disk.refusal = errDisk })
	case "allow":
		p.disk.set(func() { p.disk.refusal = nil })
	}
}

// askChecked is ask, and checks at the moment of the answer that what it says is in the log.
func (p *player) askChecked(a act) {
	call := &asked{name: a.String()}
	p.mu.Lock()
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	p.Do(a.shard, a.in, func(value any, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		call.told++
		if key, told := keyOf(a.in); told && err == nil && p.disk.state(a.shard)[key] < value.(int) {
			p.fail("%s was answered %v before that was in the log", a, value)
		}
	})
}

func keyOf(in any) (string, bool) {
	switch in := in.(type) {
	case add:
		return in.key, true
	case get:
		return in.key, true
	case bulky:
		return in.key, true
	case several:
		return in.key, true
	}
	return "", false
}

// check compares what the machine of a shard knows with its log and with what is on the way there.
func (p *player) check(shard int32, after act) {
	s := p.shards[shard]
	if s.condition != active {
		return
	}
	state := p.disk.state(shard)
	p.disk.mu.Lock()
	for _, w := range p.disk.waiting {
		if w.log == s.log {
			for _, r := range w.records {
				state.apply(r)
			}
		}
	}
	p.disk.mu.Unlock()
	for _, f := range s.flights[s.sent:] {
		for _, r := range f.records {
			state.apply(r)
		}
	}
	if got := s.machine.(*toy).durable; !maps.Equal(got, state) {
		p.fail("after %s shard %d knows %v, its log says %v", after, shard, got, state)
	}
}
