package assign_test

import (
	"fmt"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// FuzzSticky reads a group from bytes: hostile claims, any subscription, racks
// and generations. Verify is the oracle; the cooperative form of the same group
// settles in two rounds.
func FuzzSticky(f *testing.F) {
	f.Add([]byte("\x03\x02\x04\x03\x07\x05\x06\x01\x00\x02\x11\x22\x33"), uint8(0))
	f.Add([]byte("\x08\x05\x09\x09\x09\x01\x02"), uint8(4))
	f.Fuzz(func(t *testing.T, b []byte, options uint8) {
		in := groupOf(b)
		opt := randomOptions(int(options % 9))
		prove(t, in, opt)
		a := assign.CooperativeSticky{Options: opt}
		next := after(in, mustPlan(t, a, in))
		o := newOracle(next)
		of := o.flatten(t, mustPlan(t, a, next))
		o.complete(t, of)
		if n := o.moved(of); n > 0 {
			t.Fatalf("%+v: the second round revokes %d", in, n)
		}
	})
}

// groupOf spends bytes on a group: counts, subscriptions as bits, then claims.
func groupOf(b []byte) assign.Input {
	next := func() int {
		if len(b) == 0 {
			return 0
		}
		v := b[0]
		b = b[1:]
		return int(v)
	}
	var in assign.Input
	members, topics := 1+next()%8, 1+next()%6
	racks := []string{"", "a", "b"}
	for t := range topics {
		topic := assign.Topic{Name: fmt.Sprintf("t%d", t), Partitions: int32(next() % 10)}
		if kind := next(); kind%3 == 0 {
			for p := range topic.Partitions {
				topic.Racks = append(topic.Racks, racks[1+(kind>>2+int(p))%2:][:1])
			}
		}
		in.Topics = append(in.Topics, topic)
	}
	for i := range members {
		bits := next()
		m := assign.Member{ID: fmt.Sprintf("m%d", i)}
		m.Rack, m.Generation = racks[bits>>6%3], int32(bits>>5&1)
		for t := range topics {
			if bits>>t&1 == 1 {
				m.Topics = append(m.Topics, in.Topics[t].Name)
			}
		}
		in.Members = append(in.Members, m)
	}
	for len(b) > 0 {
		m, claim := &in.Members[next()%members], next()
		m.Owned = append(m.Owned, list(in.Topics[claim%topics].Name, int32(claim/topics%12)-1))
	}
	return in
}
