package eossim

import (
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/simulation"
)

// partition is one of a topic.
type partition = cluster.Partition

// Where effects go: the output, or the letters of what cannot be processed.
const (
	outputTopic  = "out"
	lettersTopic = "dead"
	outputs      = 3
)

// world is a run under way.
type world struct {
	*simulation.Clock
	script  *Script
	seams   seams
	net     *simulation.Network
	cluster *cluster.Cluster
	inputs  []assign.Topic // by name
	feeds   map[partition]*feed
	feeder  *simulation.Dice
	procs   map[string]*process
	order   []*process
	tries   map[source]int // of records that cannot be processed at first
	judge   judge

	connections uint64 // that were opened
}

// source is an input record.
type source struct {
	at     partition
	offset int64
}

// effect is an output record.
type effect struct{ of source }

// feed is who writes an input partition.
type feed struct{ open bool }

func newWorld(s *Script, with seams, tracing bool) *world {
	w := &world{
		Clock: simulation.NewClock(tracing), script: s, seams: with, feeds: map[partition]*feed{},
		feeder: simulation.NewDice(s.Seed, "feeder"), procs: map[string]*process{}, tries: map[source]int{},
	}
	w.net = &simulation.Network{Clock: w.Clock, Dice: simulation.NewDice(s.Seed, "network"), Lost: s.Lost, Twice: s.Twice, LateOnes: s.Late}
	w.judge = newJudge(w)
	topics := []assign.Topic{{Name: outputTopic, Partitions: outputs}, {Name: lettersTopic, Partitions: 1}}
	for _, t := range s.Topics {
		topics = append(topics, assign.Topic{Name: t.Name, Partitions: t.Partitions})
	}
	w.cluster = cluster.New(
		cluster.Config{Kafka: s.Broker == "kafka", Version2: s.Version == 2, Fences: s.Fences}, w.Clock, s.Seed, topics, &w.judge)
	for _, t := range s.Topics {
		w.setPartitions(t.Name, t.Partitions)
	}
	return w
}

// setPartitions makes a topic of inputs, or gives it more partitions.
func (w *world) setPartitions(name string, partitions int32) {
	at := slices.IndexFunc(w.inputs, func(t assign.Topic) bool { return t.Name == name })
	if at >= 0 && w.inputs[at].Partitions >= partitions {
		return
	}
	w.inputs = slices.DeleteFunc(slices.Clone(w.inputs), func(t assign.Topic) bool { return t.Name == name })
	w.inputs = append(w.inputs, assign.Topic{Name: name, Partitions: partitions})
	slices.SortFunc(w.inputs, func(a, b assign.Topic) int { return strings.Compare(a.Name, b.Name) })
	for i := range partitions {
		p := partition{Topic: name, Index: i}
		w.cluster.Make(p)
		if w.feeds[p] == nil {
			w.feeds[p] = &feed{}
		}
	}
}

// inputPartitions are all inputs, in order.
func (w *world) inputPartitions() (list []partition) {
	for _, t := range w.inputs {
		for i := range t.Partitions {
			list = append(list, partition{Topic: t.Name, Index: i})
		}
	}
	return list
}

// upstream is the producer of all transactions in inputs.
const upstream = 7

// produce lets records come until the calm: some in transactions, of which some are aborted.
func (w *world) produce() {
	d := w.feeder
	for _, at := range w.inputPartitions() {
		l, f := w.cluster.Log(at), w.feeds[at]
		switch {
		case f.open && (w.net.Calm || d.N(3) == 0):
			l.Mark(machine.Producer{Transactional: true, ID: upstream}, d.N(4) > 0)
			f.open = false
		case w.net.Calm:
		case f.open || d.N(6) == 0:
			l.Begin(upstream, make([]any, 1+d.N(2))...)
			f.open = true
		default:
			l.Write(make([]any, d.N(3))...)
		}
	}
	if !w.net.Calm {
		w.After(700*time.Millisecond, w.produce)
	}
}

// fails says that a record cannot be processed now. Some never can be, others can after a while.
func (w *world) fails(of source) bool {
	d := simulation.NewDice(w.script.Seed+uint64(of.offset), of.at.String())
	if !d.In(w.script.Poison) {
		return false
	}
	w.tries[of]++
	return w.tries[of] <= simulation.Pick(d, 1, 2, 100)
}
