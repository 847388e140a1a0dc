package coordinator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// What toy machines are asked. Every answer is an int but for park's, which is the text that released it.
type (
	add     struct{ key string }          // counts up and answers the new value
	get     struct{ key string }          // answers the value and decides no records
	holds   chan struct{}                 // has the step last until it is closed
	park    struct{ door string }         // waits for open, or for timeout, which answers "late"
	open    struct{ door, key string }    // answers all who wait at the door, and counts up key unless it is empty
	several struct{ key, other string }   // counts up two keys, one in another partition
	timeout struct{ after time.Duration } // until who parks from now on is late; answered with 0
	bulky   struct {
		key   string
		bytes int
	} // add with a large record
	twice struct{} // answers its caller twice
	ends  struct { // counts up a key, and writes a marker of the key's producer into the neighbour's shards
		key    string
		shards []int32
	}
	asks struct{ key, what string } // counts up a key, unless it is empty, and asks for something
)

func (get) Reads() {}

// durable is the part of a toy's state that changes in Apply alone.
type durable map[string]int

func (d durable) apply(r machine.Record) {
	if r.Marker != nil {
		d[fmt.Sprint("markers of ", r.Producer.ID)]++
		d["a before the marker"] = d["a"] // so that the order of records is seen
		return
	}
	n, _, _ := strings.Cut(string(r.Value), " ")
	d[string(r.Key)], _ = strconv.Atoi(n)
}

// settled is durable where the records of a transaction count once it is committed.
type settled struct {
	durable
	open map[int64][]machine.Record // by producer
}

func (s settled) apply(r machine.Record) {
	switch {
	case r.Marker != nil && r.Marker.Commit:
		for _, pending := range s.open[r.Producer.ID] {
			s.durable.apply(pending)
		}
		delete(s.open, r.Producer.ID)
	case r.Marker != nil:
		delete(s.open, r.Producer.ID)
	case r.Producer.Transactional:
		s.open[r.Producer.ID] = append(s.open[r.Producer.ID], r)
	default:
		s.durable.apply(r)
	}
}

type waiter struct {
	token machine.Token
	door  string
	due   time.Time
}

// toy is a machine for tests: counters that are durable, and doors that are not.
type toy struct {
	durable durable
	waiters []waiter // in order of their coming
	late    time.Duration
	ticks   []time.Time
	loaded  int
}

func newToy() *toy { return &toy{durable: durable{}, late: time.Hour} }

func (y *toy) Apply(r machine.Record) { y.durable.apply(r) }

func (y *toy) Loaded(time.Time) machine.Output {
	y.loaded++
	return y.out(machine.Output{})
}

func (y *toy) Tick(now time.Time) machine.Output {
	y.ticks = append(y.ticks, now)
	var o machine.Output
	y.waiters = slices.DeleteFunc(y.waiters, func(w waiter) bool {
		late := !w.due.After(now)
		if late {
			o.Replies = append(o.Replies, machine.Reply{To: w.token, Value: "late"})
		}
		return late
	})
	if len(o.Replies) > 0 {
		o.Records = append(o.Records, y.record("late", 0))
	}
	return y.out(o)
}

func (y *toy) Step(now time.Time, caller machine.Token, in any) machine.Output {
	var o machine.Output
	answer := func(v any) { o.Replies = append(o.Replies, machine.Reply{To: caller, Value: v}) }
	switch in := in.(type) {
	case add:
		o.Records = append(o.Records, y.record(in.key, 0))
		answer(y.durable[in.key] + 1)
	case bulky:
		o.Records = append(o.Records, y.record(in.key, in.bytes))
		answer(y.durable[in.key] + 1)
	case several:
		o.Records = append(o.Records, y.record(in.key, 0))
		o.Group = append(o.Group, machine.Write{Topic: "other", Records: []machine.Record{{Key: []byte(in.other), Value: []byte("1")}}})
		answer(y.durable[in.key] + 1)
	case ends:
		o.Records = append(o.Records, y.record(in.key, 0))
		o.Group = markersFor(in)
		answer(y.durable[in.key] + 1)
	case asks:
		if in.key != "" {
			o.Records = append(o.Records, y.record(in.key, 0))
		}
		o.Asks = append(o.Asks, in.what)
		answer(0)
	case get:
		answer(y.durable[in.key])
	case holds:
		<-in
		answer(0)
	case timeout:
		y.late = in.after
		answer(0)
	case twice:
		answer(1)
		answer(2)
	case park:
		y.waiters = append(y.waiters, waiter{caller, in.door, now.Add(y.late)})
	case open:
		y.open(in, &o)
		answer(len(o.Replies))
	default:
		panic(fmt.Sprintf("a toy knows nothing of %T", in))
	}
	return y.out(o)
}

func (y *toy) open(in open, o *machine.Output) {
	y.waiters = slices.DeleteFunc(y.waiters, func(w waiter) bool {
		if w.door == in.door {
			o.Replies = append(o.Replies, machine.Reply{To: w.token, Value: in.door})
		}
		return w.door == in.door
	})
	if in.key != "" {
		o.Records = append(o.Records, y.record(in.key, 0))
	}
}

// record counts up a key.
func (y *toy) record(key string, padding int) machine.Record {
	return machine.Record{Key: []byte(key), Value: []byte(strconv.Itoa(y.durable[key]+1) + " " + strings.Repeat("x", padding))}
}

func (y *toy) out(o machine.Output) machine.Output {
	for _, w := range y.waiters {
		if o.Wake.IsZero() || w.due.Before(o.Wake) {
			o.Wake = w.due
		}
	}
	return o
}
