package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// world draws the steps of a case. It keeps a rough idea of what exists, so
// that most requests mean something; it never looks at answers, so that a step
// means the same when others are left out.
type world struct {
	r         *rand.Rand
	prefix    string // of the case's topic names
	ranges    map[int16]versions
	topics    []*topic
	named     int
	producers []string
	sequences map[string]int32 // next, by producer and partition
	sessions  []*session
	now       int64 // when the run began, ms; batches are hours away from it
}

// topic is the idea of a topic.
type topic struct {
	name       string
	kind       string // which configs it was made with: see topicKinds
	partitions int32
	ends       map[int32]int64 // rough log ends
	gone       bool
	// trimmed: after DeleteRecords the maximum timestamp may be one of a record
	// below the log's start, where Kafka answers it and we do not, by design.
	trimmed bool
}

type session struct {
	name  string
	epoch int32
	topic *topic
}

func newWorld(seed uint64, prefix string, ranges map[int16]versions, now int64) *world {
	return &world{
		r: rand.New(rand.NewPCG(seed, 7)), prefix: prefix, ranges: ranges, now: now,
		sequences: make(map[string]int32),
	}
}

// steps draws a case of about n steps.
func (w *world) steps(n int) []step {
	steps := []step{w.createOne("plain"), w.createOne(pick(w, topicKinds()))}
	makers := w.makers()
	for len(steps) < n {
		steps = append(steps, pickWeighted(w, makers)())
	}
	return append(steps, w.finalSteps()...)
}

type maker struct {
	weight int
	make   func() step
}

func (w *world) makers() []maker {
	return []maker{
		{6, w.createTopics}, {2, w.deleteTopics}, {2, w.createPartitions},
		{4, w.metadata}, {2, w.describeTopicPartitions}, {1, w.describeCluster}, {2, w.describeLogDirs},
		{4, w.describeConfigs}, {4, w.incrementalAlterConfigs}, {2, w.alterConfigs},
		{30, w.produce}, {4, w.initProducerID}, {3, w.describeProducers},
		{16, w.fetch}, {6, w.fetchSession}, {9, w.listOffsets}, {3, w.deleteRecords}, {3, w.offsetForLeaderEpoch},
	}
}

// finalSteps read everything back, so that no lasting difference is missed.
func (w *world) finalSteps() []step {
	var steps []step
	for _, t := range w.topics {
		steps = append(steps, w.fetchAll(t), w.listAll(t), w.describeAllProducers(t))
	}
	return steps
}

// version draws a version that both brokers know: mostly the newest, often the
// oldest.
func (w *world) version(key kmsg.Key) int16 {
	v := w.ranges[key.Int16()]
	if key == kmsg.Produce {
		v.min = 3 // 0 to 2 are advertised and refused
	}
	switch n := w.r.IntN(10); {
	case n < 5:
		return v.max
	case n < 7:
		return v.min
	default:
		return v.min + int16(w.r.IntN(int(v.max-v.min)+1))
	}
}

// newName makes a topic name that the case has not used.
func (w *world) newName() string {
	w.named++
	return fmt.Sprintf("%st%d", w.prefix, w.named)
}

// someTopic is mostly one that exists.
func (w *world) someTopic() *topic {
	if len(w.topics) > 0 && w.r.IntN(20) != 0 {
		t := w.topics[w.r.IntN(len(w.topics))]
		if !t.gone || w.r.IntN(3) == 0 {
			return t
		}
		return w.topics[0]
	}
	return &topic{name: w.prefix + "missing", kind: "plain", partitions: 1, gone: true}
}

// somePartition is mostly one that the topic has.
func (w *world) somePartition(t *topic) int32 {
	switch w.r.IntN(30) {
	case 0:
		return t.partitions
	case 1:
		return -1
	default:
		return w.r.Int32N(max(1, t.partitions))
	}
}

// someOffset is about what the partition holds.
func (w *world) someOffset(t *topic, partition int32) int64 {
	end := t.ends[partition]
	switch w.r.IntN(12) {
	case 0:
		return end + 1
	case 1:
		return end + 1000
	case 2:
		return -1
	case 3:
		return max(0, end-1)
	case 4:
		return end
	case 5, 6, 7:
		return 0
	default:
		return w.r.Int64N(end + 2)
	}
}

// someEpoch is mostly "not known" or the first.
func (w *world) someEpoch() int32 {
	return []int32{-1, -1, -1, 0, 0, 1, 5}[w.r.IntN(7)]
}

func (w *world) chance(oneIn int) bool { return w.r.IntN(oneIn) == 0 }

func pick[T any](w *world, from []T) T { return from[w.r.IntN(len(from))] }

func pickWeighted(w *world, makers []maker) func() step {
	total := 0
	for _, m := range makers {
		total += m.weight
	}
	n := w.r.IntN(total)
	for _, m := range makers {
		if n -= m.weight; n < 0 {
			return m.make
		}
	}
	return makers[0].make
}

// say makes the text of a step.
func say(request string, version int16, format string, args ...any) string {
	return strings.TrimSpace(fmt.Sprintf("%s v%d %s", request, version, fmt.Sprintf(format, args...)))
}
