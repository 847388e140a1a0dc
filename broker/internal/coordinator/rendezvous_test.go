package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// markersFor is the group that ends decides, in the order in which it names the shards. The key's first byte is the producer.
func markersFor(in ends) (group []machine.Write) {
	for _, shard := range in.shards {
		group = append(group, machine.Write{
			Topic: "neighbour", Partition: shard,
			Producer: machine.Producer{Transactional: true, ID: int64(in.key[0]), Epoch: 1}, Marker: &machine.Marker{Commit: true},
		})
	}
	return group
}

// pair is a coordinator and its neighbour, over one disk.
type pair struct {
	*house
	neighbour *house
}

// inPair runs a test on a pair of so many shards each, with one worker each. Everybody must be answered once in the end, and
// what every machine knows must be what its log says.
func inPair(t *testing.T, shards int, test func(p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, shards, 1)
		synctest.Wait()
		test(p)
		p.settle()
		p.expectTruth()
		p.shut()
		p.neighbour.shut()
		p.expectAllAnswered()
		p.neighbour.expectAllAnswered()
	})
}

func newPair(t *testing.T, shards, workers int) *pair {
	d := newDisk()
	p := &pair{newHouse(t, d, shards, 0), newHouse(t, d, shards, neighbours)}
	p.neighbour.cfg.Workers = workers
	p.neighbour.Coordinator = Open(p.neighbour.cfg)
	p.cfg.Neighbour = func(topic string) *Coordinator {
		if topic == "neighbour" {
			return p.neighbour.Coordinator
		}
		return nil
	}
	p.Coordinator = Open(p.cfg)
	t.Cleanup(func() { // when the test has failed
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Shutdown(ended)
		_ = p.neighbour.Shutdown(ended)
	})
	return p
}

func newHouse(t *testing.T, d *disk, shards int, first int32) *house {
	h := &house{t: t, disk: d, toys: map[int32]*toy{}}
	h.cfg = Config{
		Shards: shards, Workers: 1,
		Open: func(shard int32) (Log, error) { return d.open(first + shard) },
		Machine: func(shard int32) machine.Machine {
			y := newToy()
			h.mu.Lock()
			defer h.mu.Unlock()
			h.toys[shard] = y
			return y
		},
	}
	return h
}

// settle lets everything that waits for the disk go well.
func (p *pair) settle() {
	synctest.Wait()
	for p.disk.pending() > 0 {
		p.disk.settle(1, nil)
		synctest.Wait()
	}
}

// expectTruth compares every machine with its log. Nothing may be under way.
func (p *pair) expectTruth() {
	p.t.Helper()
	for first, h := range map[int32]*house{0: p.house, neighbours: p.neighbour} {
		for _, s := range h.shards {
			if s.condition != active {
				continue
			}
			if got, want := s.machine.(*toy).durable, p.disk.state(first+s.number); !maps.Equal(got, want) {
				p.t.Errorf("shard %d of %d knows %v, its log says %v", s.number, first, got, want)
			}
		}
	}
}

func (p *pair) expectMarkers(producer byte, want ...int) {
	p.t.Helper()
	got := make([]int, len(want))
	for shard := range want {
		got[shard] = p.disk.state(neighbours + int32(shard))[fmt.Sprint("markers of ", producer)]
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("markers of %c: %v, want %v", producer, got, want)
	}
}

// One append has everything, every machine knows it at once, and nobody's answer goes out before it is durable.
func TestMarkersReachTheNeighbours(t *testing.T) {
	inPair(t, 3, func(p *pair) {
		before := p.neighbour.ask(1, "before", add{"a"})
		synctest.Wait()
		end := p.ask(0, "end", ends{"x", []int32{2, 1}})
		synctest.Wait()
		if n := p.disk.pending(); n != 2 {
			t.Fatalf("%d appends are under way", n)
		}
		after := p.neighbour.ask(2, "after", get{fmt.Sprint("markers of ", 'x')})
		more := p.neighbour.ask(1, "more", add{"a"})
		synctest.Wait()
		if before.told+end.told+after.told+more.told > 0 {
			t.Fatal("somebody was told before anything was durable")
		}
		p.disk.settle(1, nil)
		p.neighbour.expectAnswer(before, 1, nil)
		if synctest.Wait(); end.told+after.told > 0 {
			t.Fatal("somebody was told before the end was durable")
		}
		p.disk.settle(1, nil)
		p.expectAnswer(end, 1, nil)
		p.neighbour.expectAnswer(after, 1, nil)
		p.settle()
		p.neighbour.expectAnswer(more, 2, nil)
		p.expectMarkers('x', 0, 1, 1)
	})
}

// Transactions whose shards cross, from several shards at a time, wait for each other, but not in a circle.
func TestMarkersOfManyCross(t *testing.T) {
	inPair(t, 3, func(p *pair) {
		orders := [][]int32{{0, 1, 2}, {2, 1, 0}, {1, 0}, {2, 0}, {1}}
		for i := range 60 {
			p.ask(int32(i%3), fmt.Sprint("end ", i), ends{"x", orders[i%len(orders)]})
			p.neighbour.ask(int32(i%3), fmt.Sprint("other ", i), add{"a"})
		}
		p.settle()
		p.expectMarkers('x', 48, 48, 36)
		for _, a := range append(p.calls, p.neighbour.calls...) {
			if a.told != 1 || a.err != nil {
				t.Errorf("%s was told %d times: %v", a.name, a.told, a.err)
			}
		}
	})
}

// After an append that has failed all whose logs it was for are loaded again.
func TestMarkersThatFail(t *testing.T) {
	inPair(t, 3, func(p *pair) {
		end := p.ask(0, "end", ends{"x", []int32{0, 1}})
		synctest.Wait()
		behind := p.ask(0, "behind", add{"b"})
		parked := p.neighbour.ask(1, "parked", park{"door"})
		other := p.neighbour.ask(2, "other", park{"door"})
		synctest.Wait()
		p.disk.settle(1, errDisk)
		p.expectAnswer(end, nil, ErrNotCoordinator)
		p.neighbour.expectAnswer(parked, nil, ErrNotCoordinator)
		p.settle()
		p.expectAnswer(behind, nil, ErrNotCoordinator)
		if other.told != 0 {
			t.Error("a shard that has no part in it was loaded again")
		}
		p.expectMarkers('x', 0, 0, 0)
		again := p.ask(0, "again", ends{"x", []int32{0, 1}})
		p.settle()
		p.expectAnswer(again, 1, nil)
		p.expectMarkers('x', 1, 1, 0)
	})
}

// What is refused before anything was appended costs the neighbours nothing.
func TestMarkersThatAreRefused(t *testing.T) {
	inPair(t, 2, func(p *pair) {
		p.disk.set(func() { p.disk.refused = errDisk })
		parked := p.neighbour.ask(1, "parked", park{"door"})
		before := p.neighbour.ask(0, "before", add{"a"})
		synctest.Wait()
		end := p.ask(0, "end", ends{"x", []int32{0, 1}})
		p.expectAnswer(end, nil, ErrNotCoordinator)
		p.disk.set(func() { p.disk.refused = nil })
		p.settle()
		p.neighbour.expectAnswer(before, 1, nil)
		if parked.told != 0 {
			t.Error("the neighbour was loaded again")
		}
		again := p.ask(0, "again", ends{"x", []int32{0, 1}})
		p.settle()
		p.expectAnswer(again, 1, nil)
		p.expectMarkers('x', 1, 1)
	})
}

// A neighbour that is being loaded, that takes no records or that is gone has no log to lend, and nothing is written.
func TestMarkersForNeighboursThatCannot(t *testing.T) {
	cases := map[string]func(p *pair) (restore func()){
		"loading": func(p *pair) func() {
			gate := make(chan struct{})
			p.disk.set(func() { p.disk.reading = gate })
			p.neighbour.ask(1, "lost", add{"a"})
			synctest.Wait()
			p.disk.settle(1, errDisk)
			synctest.Wait()
			p.disk.set(func() { p.disk.reading = nil }) // the others are loaded
			return func() { close(gate) }
		},
		"shut down": func(p *pair) func() {
			p.neighbour.shut()
			return func() {}
		},
	}
	for name, hinder := range cases {
		t.Run(name, func(t *testing.T) {
			inPair(t, 2, func(p *pair) {
				restore := hinder(p)
				if p.neighbour.Serves(1) {
					t.Error("it serves")
				}
				end := p.ask(0, "end", ends{"x", []int32{0, 1}})
				other := p.ask(1, "other", add{"b"})
				p.settle()
				p.expectAnswer(end, nil, ErrNotCoordinator)
				p.expectAnswer(other, 1, nil)
				p.expectMarkers('x', 0, 0)
				restore()
				synctest.Wait()
				if name != "shut down" {
					again := p.ask(0, "again", ends{"x", []int32{0, 1}})
					p.settle()
					p.expectAnswer(again, 1, nil)
				}
			})
		})
	}
}

// A partition that is twice in a group is refused by the log, and nobody waits for himself.
func TestMarkersTwiceForOneShard(t *testing.T) {
	inPair(t, 2, func(p *pair) {
		if v := p.shards[0].visits(markersFor(ends{"x", []int32{1, 0, 1}})); v != nil {
			t.Errorf("%d visits", len(v))
		}
	})
}

// What ends while everything is under way has everybody answered.
func TestShutdownAmongMarkers(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, stop := range map[string]func(p *pair){
		"in order":      func(p *pair) { p.shut(); p.neighbour.shut() },
		"other order":   func(p *pair) { p.neighbour.shut(); p.shut() },
		"at once":       func(p *pair) { _ = p.Shutdown(ended); _ = p.neighbour.Shutdown(ended) },
		"other at once": func(p *pair) { _ = p.neighbour.Shutdown(ended); _ = p.Shutdown(ended) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, 3, 1)
				synctest.Wait()
				for i := range 30 {
					p.ask(int32(i%3), fmt.Sprint("end ", i), ends{"x", []int32{int32(i+1) % 3, int32(i) % 3}})
					p.neighbour.ask(int32(i%3), fmt.Sprint("other ", i), add{"a"})
				}
				stop(p)
				p.settle()
				p.expectAllAnswered()
				p.neighbour.expectAllAnswered()
			})
		})
	}
}

// The deadlines of a neighbour's machine are kept.
func TestNeighboursTickAfterwards(t *testing.T) {
	inPair(t, 1, func(p *pair) {
		p.neighbour.ask(0, "time", timeout{time.Minute})
		late := p.neighbour.ask(0, "late", park{"door"})
		end := p.ask(0, "end", ends{"x", []int32{0}})
		p.settle()
		p.expectAnswer(end, 1, nil)
		p.pass(time.Minute)
		p.settle()
		p.neighbour.expectAnswer(late, "late", nil)
	})
}

// What an admin writes goes past the machine's decisions, not past its knowledge.
func TestWrite(t *testing.T) {
	inPair(t, 1, func(p *pair) {
		var told []error
		note := func(err error) { told = append(told, err) }
		marker := machine.Record{Producer: machine.Producer{Transactional: true, ID: 'x'}, Marker: &machine.Marker{}}
		p.neighbour.Write(0, []machine.Record{marker}, note)
		p.settle()
		p.neighbour.Write(0, []machine.Record{marker}, note)
		synctest.Wait()
		p.disk.settle(1, errDisk)
		synctest.Wait()
		if len(told) != 2 || told[0] != nil || !errors.Is(told[1], ErrNotCoordinator) {
			t.Errorf("told %v", told)
		}
		if known := p.neighbour.toy(0).durable[fmt.Sprint("markers of ", 'x')]; known != 1 {
			t.Errorf("%d markers are known", known)
		}
	})
}

// An ask is handed out when what it stands on is durable, and not if it is lost.
func TestAsksAreHandedOut(t *testing.T) {
	var asked []any
	inHouse(t, 1, func(h *house) { h.cfg.Ask = func(shard int32, ask any) { asked = append(asked, shard, ask) } }, func(h *house) {
		h.asks("now", asks{what: "at once"})
		h.asks("later", asks{"a", "later"})
		h.asks("too", asks{what: "behind it"})
		if want := []any{int32(0), "at once"}; !slices.Equal(asked, want) {
			t.Errorf("handed out: %v, want %v", asked, want)
		}
		h.disk.settle(1, nil)
		synctest.Wait()
		if want := []any{int32(0), "at once", int32(0), "later", int32(0), "behind it"}; !slices.Equal(asked, want) {
			t.Errorf("handed out: %v, want %v", asked, want)
		}
		h.asks("lost", asks{"a", "lost"})
		h.disk.settle(1, errDisk)
		synctest.Wait()
		if len(asked) != 6 {
			t.Errorf("handed out: %v", asked)
		}
	})
}
