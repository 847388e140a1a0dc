package coordinator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// routes are the shards that a transaction of a key reaches into; the key's place says which shard of the origin it is of.
var routes = []ends{{"k", []int32{0, 1}}, {"l", []int32{2, 0}}, {"m", []int32{1, 2, 0}}, {"n", []int32{1}}, {"o", []int32{2, 1}}, {"p", []int32{0, 2}}}

func pairActs() *rapid.Generator[act] {
	return rapid.Custom(func(t *rapid.T) act {
		a := act{shard: rapid.Int32Range(0, rapidShards-1).Draw(t, "shard"), n: rapid.IntRange(1, 4).Draw(t, "n")}
		switch kind := rapid.IntRange(0, 15).Draw(t, "kind"); {
		case kind < 5:
			route := rapid.IntRange(0, len(routes)-1).Draw(t, "route")
			a.kind, a.shard, a.in = "origin", int32(route%rapidShards), routes[route]
		case kind < 6:
			a.kind, a.in = rapid.SampledFrom([]string{"origin", "early"}).Draw(t, "how"), add{"a"}
		case kind < 9:
			a.kind, a.in = "neighbour", rapid.SampledFrom([]any{add{"a"}, get{"a"}, park{"door"}, open{"door", "b"}, several{"a", "other"}}).Draw(t, "in")
		case kind < 13:
			a.kind = "settle"
		default:
			a.kind = []string{"fail", "refuse", "pass"}[kind-13]
		}
		return a
	})
}

// Whatever happens among two coordinators in whatever order: nobody is lost, markers are in all logs or in none, and each
// machine knows what its log says. Things happen at once as well as one after the other.
func TestSequencesOfPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sequence := rapid.SliceOfN(pairActs(), 1, 60).Draw(rt, "sequence")
		pace := rapid.IntRange(1, 5).Draw(rt, "at once")
		stop := rapid.SampledFrom([]string{"", "", "origin", "neighbour", "all at once"}).Draw(rt, "shut down with all under way")
		synctest.Test(t, func(t *testing.T) { playPair(t, sequence, pace, stop) })
		if t.Failed() {
			rt.FailNow()
		}
	})
}

func playPair(t *testing.T, sequence []act, pace int, stop string) {
	p := newPair(t, rapidShards, 1+pace%3)
	synctest.Wait()
	for i, a := range sequence {
		p.play(a)
		if i%pace == 0 {
			synctest.Wait()
		}
	}
	p.disk.set(func() { p.disk.refused = nil })
	if ended, cancel := context.WithCancel(context.Background()); stop != "" {
		cancel()
		switch stop {
		case "origin":
			p.shut()
		case "neighbour":
			p.neighbour.shut()
		default:
			_ = p.Shutdown(ended)
			_ = p.neighbour.Shutdown(ended)
		}
	} else {
		cancel()
		p.settle()
		p.pass(time.Minute) // for what is loaded again
		p.settle()
		p.expectTruth()
	}
	p.shut()
	p.neighbour.shut()
	p.expectAllAnswered()
	p.neighbour.expectAllAnswered()
	p.expectWhole()
}

func (p *pair) play(a act) {
	switch a.kind {
	case "origin":
		p.ask(a.shard, a.String(), a.in)
	case "early":
		p.askEarly(a.shard, a.String(), a.in)
		p.neighbour.askEarly(a.shard, a.String(), a.in)
	case "neighbour":
		p.neighbour.ask(a.shard, a.String(), a.in)
	case "settle", "fail":
		var err error
		if a.kind == "fail" {
			err = errDisk
		}
		p.disk.settle(min(a.n, p.disk.pending()), err)
	case "refuse":
		p.disk.set(func() {
			if p.disk.refused == nil {
				p.disk.refused = errDisk
			} else {
				p.disk.refused = nil
			}
		})
	case "pass":
		p.pass(time.Duration(a.n) * time.Second)
	}
}

// expectWhole checks that a transaction is in every log that it is for as often as in its origin's, and that who was told of one
// was told the truth.
func (p *pair) expectWhole() {
	p.t.Helper()
	for i, route := range routes {
		n := p.disk.state(int32(i % rapidShards))[route.key]
		for _, shard := range route.shards {
			if got := p.disk.state(neighbours + shard)[fmt.Sprint("markers of ", route.key[0])]; got != n {
				p.t.Errorf("%s ended %d times, shard %d has %d markers", route.key, n, shard, got)
			}
		}
		for _, a := range p.calls {
			if strings.HasPrefix(a.name, fmt.Sprintf("origin %d %+v ", i%rapidShards, route)) && a.err == nil && a.value.(int) > n {
				p.t.Errorf("%s was answered %v, its log says %d", a.name, a.value, n)
			}
		}
	}
}
