package work

import (
	"errors"
	"testing"
	"time"
)

// life is a machine and its time. Partitions are those of topic t.
type life struct {
	t    *testing.T
	m    *Machine
	now  time.Time
	last Output
}

func born(t *testing.T, cfg Config) *life {
	l := &life{t: t, m: New(cfg), now: time.Unix(1000, 0)}
	l.sees(Begun{}, "renew")
	l.sees(Renewed{}, "poll")
	return l
}

// owns has it get partitions 0 to n-1 in generation 1.
func owns(t *testing.T, cfg Config, n int32) *life {
	l := born(t, cfg)
	var list []Partition
	for i := range n {
		list = append(list, tp(i))
	}
	l.sees(Assigned{Partitions: list, Generation: 1}, "release")
	l.sees(Polled{Generation: 1}, "poll")
	return l
}

// sees gives an input, and compares what comes of it.
func (l *life) sees(in Input, want string) {
	l.t.Helper()
	l.last = l.m.Step(l.now, in)
	if got := l.last.String(); got != want {
		l.t.Errorf("%T%+v: %s, want %s", in, in, got, want)
	}
}

func (l *life) wait(d time.Duration) { l.now = l.now.Add(d) }

// processes reads and processes n records of a partition, from an offset on; the transaction is open then.
func (l *life) processes(p int32, from int64, n int) {
	l.t.Helper()
	if got := l.m.Step(l.now, got(1, p, n)); got.Act != Process || got.Records != n {
		l.t.Fatalf("it does not process: %s", got)
	}
	l.last = l.m.Step(l.now, done(p, from+int64(n), n))
}

func tp(i int32) Partition { return Partition{Topic: "t", Partition: i} }

func got(generation, p int32, n int) Polled {
	return Polled{Generation: generation, Batches: []Batch{{tp(p), n}}}
}

func done(p int32, to int64, n int) Processed {
	return Processed{Reached: []Reached{at(p, to)}, Records: []Count{{tp(p), n}}}
}

func at(p int32, to int64) Reached { return Reached{tp(p), Offset{At: to, LeaderEpoch: 1}} }

func committed(generation int32) Committed {
	return Committed{Used: generation, Generation: generation}
}

var errTest = errors.New("trouble")
