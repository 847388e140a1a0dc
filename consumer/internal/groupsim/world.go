package groupsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
)

// world is a run under way.
type world struct {
	script *Script
	seams  seams
	now    time.Time
	start  time.Time
	events queue
	dice   *dice // of the network
	calm   bool

	topics []assign.Topic // of the cluster, by name
	epoch  int            // of topics: it counts their changes
	logs   map[partition]*log
	co     *coordinator
	procs  map[string]*process
	order  []*process
	judge  judge

	tracing bool
	trace   strings.Builder
}

// seams are where a test makes what is shipped wrong, to see that it is found out. The zero value changes nothing.
type seams struct {
	on      bool                               // the run goes on after the first violation
	request func(p *process, req any)          // before it is sent
	admit   func(w *world, request any)        // before the coordinator takes it
	commit  func(p *process, next int64) int64 // what is committed in the place of what was reached
}

// at has something done at a moment, in order of moments and then of calls.
func (w *world) at(t time.Time, do func()) { w.events.push(t.Sub(w.start), do) }

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

// say writes into the trace.
func (w *world) say(format string, args ...any) {
	if w.tracing {
		fmt.Fprintf(&w.trace, "%9.3fs ", w.now.Sub(w.start).Seconds())
		fmt.Fprintf(&w.trace, format+"\n", args...)
	}
}

// partition is one of a topic.
type partition struct {
	topic string
	index int32
}

func (p partition) String() string { return fmt.Sprintf("%s-%d", p.topic, p.index) }

// log is a partition's records: their number, and how many have been processed without a gap.
type log struct {
	end       int64
	processed int64
	committed int64
	twice     int64  // processed again
	given     string // who it was assigned to last
	foul      bool   // the last commit was not by that one
}

// lives says that a partition is there.
func (w *world) lives(p partition) bool {
	i := slices.IndexFunc(w.topics, func(t assign.Topic) bool { return t.Name == p.topic })
	return i >= 0 && p.index < w.topics[i].Partitions
}

// setTopic makes, changes or, with 0 partitions, takes away a topic.
func (w *world) setTopic(name string, partitions int32) {
	w.topics = slices.DeleteFunc(slices.Clone(w.topics), func(t assign.Topic) bool { return t.Name == name })
	if partitions > 0 {
		w.topics = append(w.topics, assign.Topic{Name: name, Partitions: partitions})
		slices.SortFunc(w.topics, func(a, b assign.Topic) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range partitions {
		if at := (partition{name, i}); w.logs[at] == nil {
			w.logs[at] = &log{}
		}
	}
	w.epoch++
	w.judge.disturbed()
}

// produce lets records come until the calm.
func (w *world) produce() {
	if w.calm {
		return
	}
	for _, t := range w.topics {
		for i := range t.Partitions {
			w.logs[partition{t.Name, i}].end += int64(w.dice.n(3))
		}
	}
	w.after(time.Second, w.produce)
}
