package broker

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/skeinstream/skein/broker/internal/record"
)

// model is what a broker has promised to its clients, and what they have asked for and have no answer to yet. What a
// crash leaves must have the first, and may have the second, whole, or not.
type model struct {
	mu        sync.Mutex // guards all of it, and keeps a crash from falling between a promise and its note
	topics    map[string]*topicModel
	pending   *change        // under way
	producers map[int64]bool // ids that were handed out
	starts    int32          // number of the last start
}

// topicModel is one topic.
type topicModel struct {
	id      [16]byte
	configs map[string]string
	parts   []*partModel
}

// partModel is one partition.
type partModel struct {
	acked    []entry // answered, by offset
	sent     []entry // no answer yet, in the order in which they were sent
	durable  int     // so many of acked survive a power cut
	start    int64   // DeleteRecords has been answered with it
	deleting int64   // and is under way to it
	shown    int64   // high watermark that a reader has seen, and that must never be taken back
}

// entry is one batch. Its checksum is its identity: offsets and leader epoch are outside of it.
type entry struct {
	base  int64
	batch record.Batch // as it was sent
}

func (e entry) header() record.Header { return e.batch.Header() }
func (e entry) last() int64           { return e.base + int64(e.header().LastOffsetDelta) }

// change is a change of the catalog: afterwards the topic is as given, or gone.
type change struct {
	name  string
	after *topicModel // nil: deleted
	made  bool        // it is a new topic, whose id is not known before the answer
}

func newModel() *model {
	return &model{topics: map[string]*topicModel{}, producers: map[int64]bool{}, starts: -1}
}

// clone returns a copy that stays as it is. The caller holds mu.
func (m *model) clone() *model {
	c := &model{topics: map[string]*topicModel{}, producers: maps.Clone(m.producers), starts: m.starts}
	for name, t := range m.topics {
		c.topics[name] = t.clone()
	}
	if m.pending != nil {
		p := *m.pending
		if p.after != nil {
			p.after = p.after.clone()
		}
		c.pending = &p
	}
	return c
}

func (t *topicModel) clone() *topicModel {
	c := &topicModel{id: t.id, configs: t.configs}
	for _, p := range t.parts {
		own := *p // acked only grows, and what grows is not looked at
		own.acked, own.sent = slices.Clip(p.acked), slices.Clone(p.sent)
		c.parts = append(c.parts, &own)
	}
	return c
}

func newTopicModel(partitions int, configs map[string]string) *topicModel {
	t := &topicModel{configs: configs}
	t.grow(partitions)
	return t
}

func (t *topicModel) grow(partitions int) {
	for len(t.parts) < partitions {
		t.parts = append(t.parts, new(partModel))
	}
}

// relaxed says that acknowledged records may be lost in a power cut.
func (t *topicModel) relaxed() bool {
	mode := t.configs["skein.durability"]
	return mode == "interval" || mode == "os"
}

func (t *topicModel) compacted() bool { return t.configs["cleanup.policy"] == "compact" }

// names are the topics in order, those that may be among them.
func (m *model) names() []string { return slices.Sorted(maps.Keys(m.topics)) }

// acknowledge notes the answer to the oldest batch that was sent with this content.
func (m *model) acknowledge(topic string, index int32, batch record.Batch, code int16, base int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.topics[topic]
	if t == nil || int(index) >= len(t.parts) {
		return
	}
	p := t.parts[index]
	at := slices.IndexFunc(p.sent, func(e entry) bool { return e.header().CRC == batch.Header().CRC })
	if at < 0 {
		return // it was sent to a topic that is gone
	}
	e := p.sent[at]
	p.sent = slices.Delete(slices.Clone(p.sent), at, at+1)
	if code != 0 {
		return
	}
	e.base = base
	p.acked = append(p.acked, e)
	if !t.relaxed() && (m.pending == nil || m.pending.name != topic) {
		p.durable = len(p.acked)
	}
}

// end is where the next acknowledged batch will be.
func (p *partModel) end() int64 {
	if n := len(p.acked); n > 0 {
		return p.acked[n-1].last() + 1
	}
	return p.start
}

func (e entry) String() string {
	h := e.header()
	return fmt.Sprintf("%d+%d(%08x)", e.base, h.Count, h.CRC)
}

// recovered is what a log was found to hold.
type recovered struct {
	start, highWatermark int64
	batches              []record.Batch
}

// check compares a log with what it must and may hold. Below minStart everything may be gone. power says that the page
// cache is lost.
func (p *partModel) check(got recovered, power bool, minStart, maxStart int64) error {
	if got.start < minStart || got.start > maxStart {
		return fmt.Errorf("it begins at %d, which must be between %d and %d", got.start, minStart, maxStart)
	}
	must := len(p.acked)
	if power {
		must = p.durable
	}
	at := 0 // in what was sent in all
	for at < len(p.acked) && p.acked[at].last() < got.start {
		at++
	}
	all := append(slices.Clip(p.acked), p.sent...)
	end := got.start
	for i, b := range got.batches {
		h := b.Header()
		if err := b.Verify(); err != nil {
			return fmt.Errorf("batch at %d: %w", h.BaseOffset, err)
		}
		if i > 0 && h.BaseOffset != end {
			return fmt.Errorf("a batch begins at %d, where %d is next", h.BaseOffset, end)
		}
		end = h.LastOffset() + 1
		if at >= len(all) {
			return fmt.Errorf("the batch at %d was never sent, or was refused", h.BaseOffset)
		}
		want := all[at]
		if want.header().CRC != h.CRC || at < len(p.acked) && want.base != h.BaseOffset {
			return fmt.Errorf("at %d is %08x, want %v", h.BaseOffset, h.CRC, want)
		}
		at++
	}
	if at < must {
		return fmt.Errorf("%v was acknowledged and is lost; the log ends at %d", p.acked[at], end)
	}
	if got.highWatermark != end {
		return fmt.Errorf("the high watermark is %d, and the batches end at %d", got.highWatermark, end)
	}
	if got.highWatermark < p.shown && !(power && p.durable < len(p.acked)) {
		return fmt.Errorf("the high watermark is %d, and readers have seen %d", got.highWatermark, p.shown)
	}
	return nil
}

// adopt makes what was found acknowledged: readers of the broker that found it have it from now on.
func (p *partModel) adopt(got recovered, durable bool) {
	kept := p.acked[:0:0]
	for _, e := range p.acked {
		if e.last() < got.start {
			kept = append(kept, e)
		}
	}
	sent := append(slices.Clip(p.acked), p.sent...)
	for _, b := range got.batches {
		for _, e := range sent {
			if e.header().CRC == b.Header().CRC {
				e.base = b.Header().BaseOffset
				kept = append(kept, e)
				break
			}
		}
	}
	p.acked, p.sent, p.shown = kept, nil, got.highWatermark
	if durable {
		p.durable = len(kept)
	}
	p.start, p.deleting = max(p.start, min(p.deleting, got.start)), 0 // what retention deletes may come back
}
