package groupsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/simulation"
)

// world is a run under way.
type world struct {
	*simulation.Clock
	script *Script
	seams  seams
	net    *simulation.Network

	topics []assign.Topic // of the cluster, by name
	epoch  int            // of topics: it counts their changes
	logs   map[partition]*log
	co     *coordinator
	procs  map[string]*process
	order  []*process
	judge  judge
}

// seams are where a test makes what is shipped wrong, to see that it is found out. The zero value changes nothing.
type seams struct {
	on      bool                               // the run goes on after the first violation
	request func(p *process, req any)          // before it is sent
	admit   func(w *world, request any)        // before the coordinator takes it
	commit  func(p *process, next int64) int64 // what is committed in the place of what was reached
	forgets bool                               // the coordinator does what Kafka does in one corner (kafka.upgrade)
	strict  bool                               // what a conversion of Kafka's takes from under members is held against them (taken)
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
	if w.net.Calm {
		return
	}
	for _, t := range w.topics {
		for i := range t.Partitions {
			w.logs[partition{t.Name, i}].end += int64(w.net.Dice.N(3))
		}
	}
	w.After(time.Second, w.produce)
}
