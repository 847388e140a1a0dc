package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// world runs a machine as the coordinator's loop does: what a step decides is applied, written and answered. A shadow
// machine is given the records alone, and must know the same offsets after every step (R-D16).
type world struct {
	t        scripts.Failer
	settings Settings
	now      time.Time
	wake     time.Time
	m        *Machine
	shadow   *Machine
	log      []machine.Record
	last     []machine.Record // since it was emptied
	callers  map[machine.Token]string
	next     machine.Token
	answers  []answered
}

// answered is a reply with the name of who had asked.
type answered struct {
	who   string
	value any
}

func offsetSettings() Settings {
	return Settings{
		MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, MaxSize: 1000,
		OffsetsRetention: 7 * 24 * time.Hour, OffsetsRetentionCheck: 10 * time.Minute, OffsetMetadataMax: 4096,
	}
}

func newWorld(t scripts.Failer, s Settings) *world {
	w := &world{t: t, settings: s, now: time.UnixMilli(1_700_000_000_000).UTC(), callers: map[machine.Token]string{}}
	w.restart()
	return w
}

// restart replays the log into a machine that knows nothing.
func (w *world) restart() {
	w.m, w.shadow = New(w.settings), New(w.settings)
	for _, r := range w.log {
		w.m.Apply(r)
		w.shadow.Apply(r)
	}
	w.take(w.m.Loaded(w.now))
}

func (w *world) step(who string, in any) {
	w.next++
	w.callers[w.next] = who
	w.take(w.m.Step(w.now, w.next, in))
	w.ticks(w.now)
}

// ask is step for what is answered at once.
func (w *world) ask(in any) any {
	w.t.Helper()
	w.answers = nil
	w.step("asker", in)
	if len(w.answers) != 1 || w.answers[0].who != "asker" {
		w.t.Fatalf("%T: answers %v", in, w.answers)
	}
	return w.answers[0].value
}

func (w *world) take(o machine.Output) {
	w.t.Helper()
	w.last, w.wake = append(w.last, o.Records...), o.Wake
	for _, r := range o.Records {
		r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
		w.apply(r)
	}
	for _, r := range o.Replies {
		w.answers = append(w.answers, answered{w.callers[r.To], r.Value})
		delete(w.callers, r.To)
	}
	w.compare()
}

// compare fails when a replay knows anything else.
func (w *world) compare() {
	w.t.Helper()
	if live, replayed := dumpOffsets(w.m), dumpOffsets(w.shadow); live != replayed {
		w.t.Fatalf("live state:\n%s\nafter a replay:\n%s", live, replayed)
	}
	if live, replayed := dumpProducers(w.m), dumpProducers(w.shadow); live != replayed {
		w.t.Fatalf("producers:\n%s\nafter a replay:\n%s", live, replayed)
	}
}

func (w *world) apply(r machine.Record) {
	w.log = append(w.log, r)
	w.m.Apply(r)
	w.shadow.Apply(r)
}

func (w *world) advance(d time.Duration) {
	until := w.now.Add(d)
	w.ticks(until)
	w.now = until
}

func (w *world) ticks(until time.Time) {
	w.t.Helper()
	for n := 0; !w.wake.IsZero() && !w.wake.After(until); n++ {
		if n > 100_000 {
			w.t.Fatalf("the machine wants a tick at %v for ever", w.wake)
		}
		if w.wake.After(w.now) {
			w.now = w.wake
		}
		w.take(w.m.Tick(w.now))
	}
}

// dumpOffsets writes down every committed offset, and checks the index on the way.
func dumpOffsets(m *Machine) string {
	var b strings.Builder
	seen := map[*topicOffsets]bool{}
	stored := 0
	for _, name := range slices.Sorted(maps.Keys(m.groups)) {
		for _, t := range m.groups[name].offsets.topics {
			if t.group != name || t.topic.in[t.place] != t || m.offsets.topics[t.topic.name] != t.topic {
				fmt.Fprintf(&b, "%s: %s is not where the index says\n", name, t.topic.name)
			}
			seen[t] = true
			stored += len(t.list)
			for _, c := range t.list {
				fmt.Fprintf(&b, "%s %s/%d %s\n", name, t.topic.name, c.partition, dumpCommit(c))
			}
			b.WriteString(dumpOpen(t))
		}
	}
	indexed := 0
	for _, t := range m.offsets.topics {
		indexed += len(t.in)
	}
	if indexed != len(seen) || int(m.offsets.stored) != stored {
		fmt.Fprintf(&b, "index: %d of %d lists, %d of %d offsets\n", indexed, len(seen), m.offsets.stored, stored)
	}
	return b.String()
}

func dumpCommit(c committed) string {
	d := commitDetail{expires: noExpiry}
	if c.more != nil {
		d = *c.more
	}
	var id topicID
	if c.id != nil {
		id = *c.id
	}
	return fmt.Sprintf("%d epoch %d at %d expires %d id %x metadata %q", c.offset, c.leaderEpoch, c.at, d.expires, id[:2], d.metadata)
}

// commitOf makes a request of one partition.
func commitOf(group, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = 8, group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, offset, -1
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return r
}

// commit sends r, which must be of one partition, and returns its code.
func (w *world) commit(r *kmsg.OffsetCommitRequest) int16 {
	w.t.Helper()
	return w.ask(Commit{Request: r}).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

// fetch returns what is committed for one partition.
func (w *world) fetch(group, topic string, partition int32) kmsg.OffsetFetchResponseGroupTopicPartition {
	w.t.Helper()
	asked := kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{partition}}
	got := w.ask(Fetch{Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{asked}}).(*kmsg.OffsetFetchResponseGroup)
	return got.Topics[0].Partitions[0]
}

func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
