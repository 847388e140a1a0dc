package differential

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (w *groupWorld) commit() step {
	r := w.someone()
	c := commitSpec{group: w.group, version: w.version(kmsg.OffsetCommit), id: r.name, instance: r.instance, of: r.name, retention: -1}
	switch w.r.IntN(10) {
	case 0:
		c.id, c.instance = w.someID(r), w.someInstance(r)
	case 1:
		c.plus = w.somePlus()
	case 2: // a simple consumer
		c.group, c.id, c.instance, c.of = w.someGroup(), "", "", ""
	case 3:
		c.group, c.id, c.instance, c.of = w.group+"-simple", "", "", ""
	case 4:
		c.of, c.id, c.instance = "", w.someID(r), w.someInstance(r)
	case 5:
		c.group = w.someGroup()
	}
	if c.group != w.group && w.chance(2) {
		c.group = w.group + "-simple"
	}
	if c.version < 5 {
		c.retention = pick(w.world, []int64{-1, -1, 86_400_000, 604_800_000})
	}
	for range 1 + w.r.IntN(2) {
		one := w.commitTopic(c.version)
		if !slices.ContainsFunc(c.topics, func(o commitTopic) bool { return o.name == one.name }) {
			c.topics = append(c.topics, one)
		}
	}
	if w.chance(25) {
		c.topics = nil
	}
	return c.step()
}

func (w *groupWorld) commitTopic(version int16) commitTopic {
	t := w.someTopic()
	topic := commitTopic{name: t.name}
	if version >= 10 && w.chance(8) {
		topic.byID = pick(w.world, []string{"unknown", "zero"})
	}
	for range 1 + w.r.IntN(2) {
		topic.partitions = append(topic.partitions, commitPartition{
			partition: w.somePartition(t), epoch: w.someEpoch(), metadata: w.someMetadata(),
			offset: pick(w.world, []int64{0, 1, 7, 7, 1000, 1 << 40, -1, -2}),
		})
	}
	return topic
}

// someMetadata is now and then about as long as it may be; the limit counts
// UTF-16 units (R-K12).
func (w *groupWorld) someMetadata() text {
	return pick(w.world, []text{
		{}, {}, {"note", 1}, {"note", 1}, {"é", 3}, {"m", 4096}, {"m", 4097}, {"é", 4096}, {"é", 4097}, {"😀", 2048}, {"😀", 2049}, {"x", 0},
	})
}

func (w *groupWorld) fetchTopics(version int16) []fetchTopic {
	var topics []fetchTopic
	for range 1 + w.r.IntN(2) {
		t := w.someTopic()
		one := fetchTopic{name: t.name, partitions: []int32{w.somePartition(t)}}
		if slices.ContainsFunc(topics, func(o fetchTopic) bool { return o.name == t.name }) {
			continue
		}
		if w.chance(3) {
			one.partitions = []int32{0, 1, 2}
		}
		if version >= 10 && w.chance(8) {
			one.byID = pick(w.world, []string{"unknown", "zero"})
		}
		topics = append(topics, one)
	}
	return topics
}

func (w *groupWorld) offsetFetch() step {
	f := offsetFetchSpec{version: w.version(kmsg.OffsetFetch), groups: []string{w.someGroup()}, stable: w.chance(2), epoch: -1}
	f.topics = w.fetchTopics(f.version)
	switch w.r.IntN(8) {
	case 0, 1:
		f.all = f.version >= 2
	case 2:
		f.topics = []fetchTopic{}
	}
	if f.version >= 8 && w.chance(3) {
		f.groups = append(f.groups, w.group+"-missing")
	}
	if f.version >= 9 && w.chance(4) {
		f.member, f.epoch = nobody, 5 // R-K15: nobody looks
	}
	return f.step()
}

// fetchEverything asks for all offsets of a group.
func (w *groupWorld) fetchEverything(group string) step {
	return offsetFetchSpec{version: 8, groups: []string{group}, all: true, epoch: -1}.step()
}

func (w *groupWorld) offsetDelete() step {
	return offsetDeleteSpec{group: w.someGroup(), topics: w.fetchTopics(0)}.step()
}

// newTopic makes one, or one anew whose name offsets were committed under.
func (w *groupWorld) newTopic() step {
	for _, t := range w.topics {
		if t.gone {
			t.gone = false
			return w.createStep([]topicSpec{{name: t.name, partitions: t.partitions, replicas: 1}}, false)
		}
	}
	return w.createOne("plain")
}

// deleteOne deletes a topic, and with it what is committed for it. The
// coordinators hear of it a moment later.
func (w *groupWorld) deleteOne() step {
	s := w.deleteTopics()
	settled, name := s.after, strings.Fields(s.text)[2]
	s.after = func(side *side, response kmsg.Response) error {
		return errors.Join(settled(side, response), side.settleOffsets(name, response))
	}
	return s
}

// settleOffsets waits until the offsets of a deleted topic are gone, which is a
// moment after the topic, and not always even then.
func (s *side) settleOffsets(name string, response kmsg.Response) error {
	for _, t := range response.(*kmsg.DeleteTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return nil
		}
	}
	for end := time.Now().Add(oneSided); time.Now().Before(end); pause(10 * time.Millisecond) {
		listed, err := s.listsOffsetsOf(name)
		if err != nil || !listed {
			return err
		}
	}
	return nil
}

// listsOffsetsOf tells whether a group of the case has offsets of a topic.
func (s *side) listsOffsetsOf(name string) (bool, error) {
	for group := range s.cast.committed {
		response, err := s.ask(offsetFetchSpec{version: 8, groups: []string{group}, all: true}.step().request(s))
		if err != nil {
			return false, err
		}
		for _, t := range response.(*kmsg.OffsetFetchResponse).Groups[0].Topics {
			if t.Topic == name {
				return true, nil
			}
		}
	}
	return false, nil
}
