package broker

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// crash is a disk as the end of a broker has left it, and what that broker had promised.
type crash struct {
	disk   *vfs.Memory
	model  *model
	power  bool      // the page cache is lost
	starts logStarts // up to where retention and DeleteRecords may have come; filled in later
	where  string
	seed   uint64
}

// logStarts is where logs begin. A topic that was made anew is another one, and what a crash leaves may be the old one.
type logStarts map[logKey]int64

type logKey struct {
	topic catalog.ID
	index int32
}

// note takes them from a broker. Those of topics that it has no more stay.
func (l logStarts) note(b *Broker) {
	for topic := range b.table.Topics {
		for _, p := range topic.Partitions() {
			l[logKey{topic.ID, p.Index()}] = p.StartOffset()
		}
	}
}

// survivor is a broker that was opened on what a crash has left.
type survivor struct {
	t testing.TB
	*crash
	b    *Broker
	wire *wire
	dice *rand.Rand
}

// check opens a broker on the disk, compares what it has with what was promised, and works with it. It runs inside a
// bubble. depth is how often it may crash again.
func (c *crash) check(t testing.TB, settings map[string]string, depth int) {
	s := &survivor{t: t, crash: c, dice: rand.New(rand.NewPCG(c.seed, 3))}
	disk := c.disk
	faults := vfs.NewFaults(disk)
	middle := make(chan []*crash, 1)
	if depth > 0 {
		at := 1 + s.dice.IntN(40) // once in the middle of the opening, if it is as long
		known := c.model          // compare puts another in its place, and may do so while the hook still runs
		faults.BeforeMutation(func(n int, op vfs.Op, name string) {
			if n == at {
				middle <- c.again(disk, known, fmt.Sprintf("opening, %d: %d %s", n, op, name))
			}
		})
	}
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: settings, files: faults})
	if err != nil {
		t.Errorf("%s: opening: %v", c.where, err)
		return
	}
	s.b = b
	faults.BeforeMutation(func(int, vfs.Op, string) {})
	var again []*crash
	select {
	case again = <-middle:
	default:
	}
	opened := disk.CrashClone(c.seed) // before anything else can happen: from now on readers see what is there
	if s.wire, err = dial(b); err != nil {
		t.Errorf("%s: %v", c.where, err)
	} else if err := s.compare(); err != nil {
		t.Errorf("%s: %v", c.where, err)
	} else {
		if depth > 0 {
			again = append(again, &crash{disk: opened, model: c.model.clone(), power: true, starts: c.starts, where: c.where + ", then opened, power cut", seed: c.seed + 1})
			again = append(again, c.again(disk, c.model, "compared")...)
		}
		if err := s.goOn(); err != nil {
			t.Errorf("%s: going on: %v", c.where, err)
		}
		if depth > 0 {
			again = append(again, c.again(disk, c.model, "gone on")...)
		}
	}
	s.stop()
	for _, next := range again {
		next.check(t, settings, depth-1)
	}
}

const dataDir = "data"

// again is crashes of the broker that has come back from one.
func (c *crash) again(disk *vfs.Memory, m *model, where string) []*crash {
	seed := c.seed*31 + 7
	known := m.clone()
	where = c.where + ", then " + where
	return []*crash{
		{disk: disk.CrashClone(seed), model: known, power: true, starts: c.starts, where: where + ", power cut", seed: seed},
		{disk: disk.KillClone(), model: known, power: c.power, starts: c.starts, where: where + ", killed", seed: seed},
	}
}

func (s *survivor) stop() {
	if s.wire != nil {
		s.wire.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.b.Shutdown(ctx); err != nil {
		s.t.Errorf("%s: shutting down: %v", s.where, err)
	}
}

// compare compares everything, and makes what was found what is promised from now on.
func (s *survivor) compare() error {
	if err := s.b.Err(); err != nil {
		return err
	}
	m := s.model.clone()
	s.model = m
	if got := s.b.catalog.StartCount(); got <= m.starts {
		return fmt.Errorf("leader epoch %d after %d", got, m.starts)
	}
	m.starts = s.b.catalog.StartCount()
	if err := s.compareTopics(); err != nil {
		return err
	}
	for _, name := range m.names() {
		for i := range m.topics[name].parts {
			if err := s.comparePartition(name, int32(i)); err != nil {
				t := m.topics[name]
				return fmt.Errorf("%s-%d: %w; %v, %d of %v are durable", name, i, err, t.configs, t.parts[i].durable, t.parts[i].acked)
			}
		}
	}
	return nil
}

// compareTopics decides whether the change under way was made, and compares the rest.
func (s *survivor) compareTopics() error {
	m, found := s.model, s.b.catalog.Snapshot()
	if p := m.pending; p != nil {
		if t := found.Topic(p.name); matches(t, p.after, p.made) {
			if p.after == nil {
				delete(m.topics, p.name)
			} else {
				if p.made {
					p.after.id = t.ID
				}
				m.topics[p.name] = p.after
			}
		}
		m.pending = nil
	}
	for _, t := range found.Topics() {
		if !matches(t, m.topics[t.Name], false) {
			return fmt.Errorf("topic %s is there: %+v, want %+v", t.Name, t, m.topics[t.Name])
		}
	}
	if got, want := len(found.Topics()), len(m.topics); got != want {
		return fmt.Errorf("%d topics are there, want %d: %v", got, want, m.names())
	}
	return nil
}

// matches says whether a topic of the catalog is as the model has it.
func matches(t *catalog.Topic, want *topicModel, anyID bool) bool {
	if t == nil || want == nil {
		return t == nil && want == nil
	}
	return (anyID || t.ID == want.id) && int(t.Partitions) == len(want.parts) && maps.Equal(t.Configs, want.configs)
}

func (s *survivor) comparePartition(name string, index int32) error {
	t := s.model.topics[name]
	p := t.parts[index]
	topic := s.b.table.Topic(name)
	if err := topic.Partition(index).Offline(); err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	got, err := s.read(name, index)
	if err != nil {
		return err
	}
	most := max(p.start, p.deleting, s.starts[logKey{topic.ID, index}])
	if t.compacted() {
		err = p.checkCompacted(got, s.power)
	} else {
		err = p.check(got, s.power, p.start, most)
	}
	if err != nil {
		return err
	}
	if t.compacted() {
		p.acked = slices.DeleteFunc(slices.Clone(p.acked), func(e entry) bool { return e.base >= got.highWatermark })
		p.durable = min(p.durable, len(p.acked))
	} else {
		p.adopt(got, s.power || !t.relaxed())
	}
	return nil
}

// read reads a partition from its start to its end.
func (s *survivor) read(name string, index int32) (got recovered, err error) {
	if got.start, err = s.wire.startOf(name, index); err != nil {
		return got, err
	}
	for offset := got.start; ; {
		f, err := s.wire.fetch(name, index, offset)
		if err != nil {
			return got, fmt.Errorf("fetching at %d: %w", offset, err)
		}
		got.highWatermark = f.highWatermark
		if len(f.records) == 0 {
			return got, nil
		}
		for b, err := range record.Batches(f.records) {
			if err != nil {
				return got, err
			}
			got.batches = append(got.batches, b)
			offset = b.Header().LastOffset() + 1
		}
	}
}

// checkCompacted: of every key the last record is there, and nothing that was not sent. lost says that what was not
// durable may be gone.
func (p *partModel) checkCompacted(got recovered, lost bool) error {
	acked := map[int64]string{} // value by offset
	latest := map[string]int64{}
	for i, e := range p.acked {
		for _, r := range recordsOf(e.batch) {
			offset := e.base + int64(r.delta)
			acked[offset] = r.key + "=" + r.value
			if !lost || i < p.durable {
				latest[r.key] = max(latest[r.key], offset)
			}
		}
	}
	found := map[int64]bool{}
	newest := map[string]int64{}
	last := int64(-1)
	for _, b := range got.batches {
		for _, r := range recordsOf(b) {
			offset := b.Header().BaseOffset + int64(r.delta)
			if offset <= last {
				return fmt.Errorf("offset %d follows %d", offset, last)
			}
			last = offset
			if want, ok := acked[offset]; ok && want != r.key+"="+r.value {
				return fmt.Errorf("at %d is %s=%s, want %s", offset, r.key, r.value, want)
			}
			if _, ok := acked[offset]; !ok && offset < p.end() {
				return fmt.Errorf("at %d is %s=%s, which was never acknowledged", offset, r.key, r.value)
			}
			found[offset], newest[r.key] = true, offset
		}
	}
	for key, offset := range latest {
		if !found[offset] && newest[key] <= offset {
			return fmt.Errorf("the last record of key %s, at %d, is lost", key, offset)
		}
	}
	return nil
}

type keyed struct {
	delta      int32
	key, value string
}

func recordsOf(b record.Batch) (all []keyed) {
	_ = record.Walk(b, nil, func(r record.Record) bool {
		all = append(all, keyed{r.OffsetDelta, string(r.Key), string(r.Value)})
		return true
	})
	return all
}

// goOn uses the broker: producers take up where they were, and everything works.
func (s *survivor) goOn() error {
	if err := s.newProducer(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(topicConfigs())) {
		if s.model.topics[name] == nil { // it was deleted, and a new one must not meet what is left of it
			if err := s.makeTopic(name); err != nil {
				return err
			}
		}
	}
	for _, name := range s.model.names() {
		t := s.model.topics[name]
		index := int32(s.dice.IntN(len(t.parts)))
		if err := s.resume(name, index, t); err != nil {
			return fmt.Errorf("%s-%d: %w", name, index, err)
		}
	}
	return nil
}

func (s *survivor) makeTopic(name string) error {
	if err := s.wire.createTopic(name, 1); err != nil {
		return err
	}
	made := s.b.catalog.Snapshot().Topic(name)
	if made == nil {
		return fmt.Errorf("topic %s cannot be created", name)
	}
	t := newTopicModel(1, nil)
	t.id = made.ID
	s.model.topics[name] = t
	return nil
}

// newProducer takes a producer id, which nobody may have had before.
func (s *survivor) newProducer() error {
	resp, err := ask[*kmsg.InitProducerIDResponse](s.wire, kmsg.NewPtrInitProducerIDRequest())
	if err != nil {
		return err
	}
	if s.model.producers[resp.ProducerID] || resp.ErrorCode != 0 {
		return fmt.Errorf("producer id %d, error %v", resp.ProducerID, failed(resp.ErrorCode))
	}
	s.model.producers[resp.ProducerID] = true
	return nil
}

// resume repeats the last batch of an idempotent producer, and sends its next, and one without a producer.
func (s *survivor) resume(name string, index int32, t *topicModel) error {
	p := t.parts[index]
	if t.compacted() {
		return s.append(name, index, p, keyedBatch(s.dice, -1, 0, 2), -1)
	}
	if e, ok := p.lastOfProducer(); ok {
		if err := s.produce(name, index, slices.Clone(e.batch), e.base); err != nil {
			return fmt.Errorf("repeating %v: %w", e, err)
		}
		h := e.header()
		if err := s.append(name, index, p, keyedBatch(s.dice, h.ProducerID, h.LastSequence()+1, 2), p.shown); err != nil {
			return fmt.Errorf("after %v: %w", e, err)
		}
	}
	return s.append(name, index, p, keyedBatch(s.dice, -1, 0, 3), p.shown)
}

// lastOfProducer is the last batch of the producer that wrote last, if the log still has it.
func (p *partModel) lastOfProducer() (entry, bool) {
	for _, e := range slices.Backward(p.acked) {
		if e.header().HasProducer() {
			return e, e.base >= p.start
		}
	}
	return entry{}, false
}

// append produces a new batch; base is where it must come to be, -1 if that does not matter.
func (s *survivor) append(name string, index int32, p *partModel, b record.Batch, base int64) error {
	sent := slices.Clone(b)
	if err := s.produce(name, index, b, base); err != nil {
		return err
	}
	if base >= 0 {
		p.acked = append(p.acked, entry{base, sent})
		p.shown = p.acked[len(p.acked)-1].last() + 1
		if !s.model.topics[name].relaxed() {
			p.durable = len(p.acked)
		}
	}
	return nil
}

func (s *survivor) produce(name string, index int32, b record.Batch, base int64) error {
	to := &toProduce{topic: name, index: index, batch: b}
	resp, err := ask[*kmsg.ProduceResponse](s.wire, produceRequest(to))
	if err != nil {
		return err
	}
	if err := to.take(resp); err != nil {
		return err
	}
	if to.code != 0 || base >= 0 && to.base != base {
		return fmt.Errorf("code %v (%s), offset %d, want %d", failed(to.code), to.message, to.base, base)
	}
	return nil
}
