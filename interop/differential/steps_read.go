package differential

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchAt is one partition of a fetch.
type fetchAt struct {
	place
	offset      int64
	epoch, last int32 // current leader epoch; epoch of the last record read
	max         int32
}

func (f fetchAt) String() string {
	return fmt.Sprintf("%s@%d epoch %d last %d max %d", f.place, f.offset, f.epoch, f.last, f.max)
}

type fetchLimits struct {
	wait, min, max int32
	isolation      int8
}

func (w *world) someLimits() fetchLimits {
	l := fetchLimits{wait: 30, min: pick(w, []int32{0, 1, 1, 1, 1 << 20}), max: 1 << 20, isolation: int8(w.r.IntN(2))}
	if w.chance(4) {
		l.max = pick(w, []int32{0, 1, 100, 1000})
	}
	if w.chance(40) {
		l.isolation = 2
	}
	return l
}

func (w *world) fetch() step {
	version := w.version(kmsg.Fetch)
	limits := w.someLimits()
	var at []fetchAt
	for range 1 + w.r.IntN(2) {
		p := w.somePlace()
		if len(at) > 0 && at[0].place == p {
			continue
		}
		at = append(at, w.fetchSomewhere(p))
	}
	sessionID, sessionEpoch := int32(0), int32(-1)
	if w.chance(12) {
		sessionID, sessionEpoch = 12345, int32(w.r.IntN(3))
	}
	return step{
		text: say("Fetch", version, "%+v session %d epoch %d %v", limits, sessionID, sessionEpoch, at),
		request: func(s *side) kmsg.Request {
			request := newFetch(version, limits)
			request.SessionID, request.SessionEpoch = sessionID, sessionEpoch
			for _, f := range at {
				addFetch(s, request, f)
			}
			return request
		},
	}
}

func (w *world) fetchSomewhere(p place) fetchAt {
	f := fetchAt{place: p, offset: w.someOffset(p.topic, p.partition), epoch: -1, last: -1, max: 1 << 20}
	if w.chance(4) {
		f.epoch = w.someEpoch()
	}
	if w.chance(6) {
		f.last = w.someEpoch()
	}
	if w.chance(4) {
		f.max = pick(w, []int32{0, 1, 150, 1000})
	}
	return f
}

func newFetch(version int16, l fetchLimits) *kmsg.FetchRequest {
	request := kmsg.NewPtrFetchRequest()
	request.Version, request.ReplicaID = version, -1
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes, request.IsolationLevel = l.wait, l.min, l.max, l.isolation
	request.SessionEpoch = -1
	return request
}

func addFetch(s *side, request *kmsg.FetchRequest, f fetchAt) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = f.partition, f.offset, f.max
	partition.CurrentLeaderEpoch, partition.LastFetchedEpoch = s.epoch(f.topic.name, f.epoch), s.epoch(f.topic.name, f.last)
	for i := range request.Topics {
		if request.Topics[i].Topic == f.topic.name {
			request.Topics[i].Partitions = append(request.Topics[i].Partitions, partition)
			return
		}
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = f.topic.name, s.id(f.topic.name)
	t.Partitions = append(t.Partitions, partition)
	request.Topics = append(request.Topics, t)
}

// fetchAll reads every partition of a topic from its beginning.
func (w *world) fetchAll(t *topic) step {
	version := w.ranges[kmsg.Fetch.Int16()].max
	limits := fetchLimits{wait: 10, min: 0, max: 16 << 20}
	return step{
		text: say("Fetch", version, "everything of %s", t.name),
		request: func(s *side) kmsg.Request {
			request := newFetch(version, limits)
			for p := range t.partitions {
				addFetch(s, request, fetchAt{place: place{t, p}, epoch: -1, last: -1, max: 4 << 20})
			}
			return request
		},
	}
}

// fetchSession opens a fetch session or goes on with one: unchanged, with a
// partition more or less, with a wrong epoch, or closing it.
func (w *world) fetchSession() step {
	version := max(7, w.version(kmsg.Fetch))
	if len(w.sessions) == 0 || w.chance(4) {
		return w.openSession(version)
	}
	se := pick(w, w.sessions)
	how := pick(w, []string{"unchanged", "unchanged", "moved", "moved", "forget", "wrong epoch", "close"})
	epoch := se.epoch
	f := w.fetchSomewhere(place{se.topic, w.somePartition(se.topic)})
	limits := fetchLimits{wait: 10, min: 0, max: 1 << 20}
	switch how {
	case "wrong epoch":
		epoch += 3
	case "close":
		epoch = -1
	default:
		se.epoch++
	}
	return step{
		text: say("Fetch", version, "session %s epoch %d %s %v", se.name, epoch, how, f),
		request: func(s *side) kmsg.Request {
			request := newFetch(version, limits)
			request.SessionID, request.SessionEpoch = s.sessions[se.name], epoch
			if how == "moved" || how == "close" {
				addFetch(s, request, f)
			}
			if how == "forget" {
				gone := kmsg.NewFetchRequestForgottenTopic()
				gone.Topic, gone.TopicID, gone.Partitions = se.topic.name, s.id(se.topic.name), []int32{f.partition}
				request.ForgottenTopics = append(request.ForgottenTopics, gone)
			}
			return request
		},
	}
}

func (w *world) openSession(version int16) step {
	se := &session{name: fmt.Sprint("s", len(w.sessions)+1), epoch: 1, topic: w.someTopic()}
	w.sessions = append(w.sessions, se)
	limits := fetchLimits{wait: 10, min: 0, max: 1 << 20}
	var at []fetchAt
	for p := range se.topic.partitions {
		at = append(at, fetchAt{place: place{se.topic, p}, epoch: -1, last: -1, max: 1 << 20})
	}
	return step{
		text: say("Fetch", version, "new session %s %v", se.name, at),
		request: func(s *side) kmsg.Request {
			request := newFetch(version, limits)
			request.SessionEpoch = 0
			for _, f := range at {
				addFetch(s, request, f)
			}
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			s.sessions[se.name] = response.(*kmsg.FetchResponse).SessionID
			return nil
		},
	}
}

func (w *world) listOffsets() step {
	p := w.somePlace()
	times := []int64{-1, -1, -2, -2, -3, -4, -5, -6, -7, -100, 0, w.now - 5*hour, w.now - 12*hour, w.now - 20*hour, w.now + 10*hour}
	return w.listStep(w.version(kmsg.ListOffsets), []place{p}, pick(w, times), w.someEpoch(), int8(w.r.IntN(2)))
}

func (w *world) listAll(t *topic) step {
	var all []place
	for p := range t.partitions {
		all = append(all, place{t, p})
	}
	return w.listStep(w.ranges[kmsg.ListOffsets.Int16()].max, all, pick(w, []int64{-1, -2, -3}), -1, 0)
}

func (w *world) listStep(version int16, at []place, time int64, epoch int32, isolation int8) step {
	if time == -3 && (at[0].topic.trimmed || at[0].topic.kind == "append time") {
		time = -1 // by the broker's clock two batches may be equally late
	}
	return step{
		text: say("ListOffsets", version, "%v time %d epoch %d isolation %d", at, time, epoch, isolation),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrListOffsetsRequest()
			request.Version, request.ReplicaID, request.IsolationLevel, request.TimeoutMillis = version, -1, isolation, 5000
			one := kmsg.NewListOffsetsRequestTopic()
			one.Topic = at[0].topic.name
			for _, p := range at {
				partition := kmsg.NewListOffsetsRequestTopicPartition()
				partition.Partition, partition.Timestamp = p.partition, time
				partition.CurrentLeaderEpoch = s.epoch(p.topic.name, epoch)
				one.Partitions = append(one.Partitions, partition)
			}
			request.Topics = append(request.Topics, one)
			return request
		},
	}
}

func (w *world) deleteRecords() step {
	version := w.version(kmsg.DeleteRecords)
	p := w.somePlace()
	offset := w.someOffset(p.topic, p.partition)
	if w.chance(10) {
		offset = -2
	}
	p.topic.trimmed = true
	return w.trimStep(p, offset, version)
}

func (w *world) trimStep(p place, offset int64, version int16) step {
	return step{
		text: say("DeleteRecords", version, "%s before %d", p, offset),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDeleteRecordsRequest()
			request.Version, request.TimeoutMillis = version, 10_000
			one := kmsg.NewDeleteRecordsRequestTopic()
			one.Topic = p.topic.name
			partition := kmsg.NewDeleteRecordsRequestTopicPartition()
			partition.Partition, partition.Offset = p.partition, offset
			one.Partitions = append(one.Partitions, partition)
			request.Topics = append(request.Topics, one)
			return request
		},
	}
}

func (w *world) offsetForLeaderEpoch() step {
	version := w.version(kmsg.OffsetForLeaderEpoch)
	p := w.somePlace()
	current, asked := w.someEpoch(), w.someEpoch()
	replica := pick(w, []int32{-1, -1, -2})
	return step{
		text: say("OffsetForLeaderEpoch", version, "%s current %d asked %d replica %d", p, current, asked, replica),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrOffsetForLeaderEpochRequest()
			request.Version, request.ReplicaID = version, replica
			one := kmsg.NewOffsetForLeaderEpochRequestTopic()
			one.Topic = p.topic.name
			partition := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			partition.Partition = p.partition
			partition.CurrentLeaderEpoch = s.epoch(p.topic.name, current)
			partition.LeaderEpoch = s.epoch(p.topic.name, asked)
			one.Partitions = append(one.Partitions, partition)
			request.Topics = append(request.Topics, one)
			return request
		},
	}
}
