package differential

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// side is one of the two brokers and what it has named differently from the
// other: ids, producers, sessions, epochs.
type side struct {
	name   string
	conn   conn
	began  time.Time
	prefix string // of the case's topic names

	ids       map[string][16]byte // by topic name; a deleted topic keeps its last one
	topics    map[[16]byte]string // the name behind an id, "deleted NAME" when gone
	epochs    map[string]int32    // leader epoch that a topic's partitions began with
	producers map[string]producer // by the case's name for them
	sessions  map[string]int32    // fetch sessions, likewise
	ranges    map[int16]versions  // what the broker advertises
	cast      *cast               // the members of groups
	actors    map[string]*actor   // transactional producers, by the case's name for them
	pids      map[int64]string    // the names of their ids
	named     map[string]int      // how many ids a transactional id has had
	cameAgain int                 // requests that met CONCURRENT_TRANSACTIONS
}

type producer struct {
	id    int64
	epoch int16
}

type versions struct{ min, max int16 }

func newSide(name, addr string) (*side, error) {
	s := &side{name: name, conn: conn{addr: addr}, began: time.Now()}
	s.forget("")
	request := kmsg.NewPtrApiVersionsRequest()
	response, err := s.conn.exchange(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its API versions: %w", name, err)
	}
	s.ranges = make(map[int16]versions)
	for _, k := range response.(*kmsg.ApiVersionsResponse).ApiKeys {
		s.ranges[k.ApiKey] = versions{k.MinVersion, k.MaxVersion}
	}
	return s, nil
}

// forget begins a new case.
func (s *side) forget(prefix string) {
	s.prefix = prefix
	s.ids = make(map[string][16]byte)
	s.topics = make(map[[16]byte]string)
	s.epochs = make(map[string]int32)
	s.producers = make(map[string]producer)
	s.sessions = make(map[string]int32)
	s.actors = make(map[string]*actor)
	s.pids = make(map[int64]string)
	s.named = make(map[string]int)
	if s.cast != nil {
		s.cast.leave()
	}
	s.cast = newCast(s.conn.addr)
}

// id is the id of a topic; of one that never existed, an id that no topic has.
func (s *side) id(topic string) [16]byte {
	if id, ok := s.ids[topic]; ok {
		return id
	}
	sum := sha256.Sum256([]byte("no such topic " + topic))
	return [16]byte(sum[:16])
}

// topicName is how answers name the topic with this id.
func (s *side) topicName(id [16]byte) string {
	if id == ([16]byte{}) {
		return "id zero"
	}
	if name, ok := s.topics[id]; ok {
		return "id of " + name
	}
	return "id unknown"
}

// epoch turns a case's epoch, counted from the topic's first, into the
// broker's. Negative ones mean themselves.
func (s *side) epoch(topic string, fromFirst int32) int32 {
	if fromFirst < 0 {
		return fromFirst
	}
	return s.epochs[topic] + fromFirst
}

func (s *side) producer(name string) producer {
	if p, ok := s.producers[name]; ok {
		return p
	}
	if name == "" {
		return producer{-1, -1}
	}
	return producer{nobodysProducer, 0}
}

func (s *side) producerName(id int64) string {
	if id == -1 {
		return "-1"
	}
	if name, known := s.pids[id]; known {
		return "producer of " + name
	}
	for name, p := range s.producers {
		if p.id == id {
			return "producer " + name
		}
	}
	if id == nobodysProducer {
		return "producer never given"
	}
	return "producer unknown"
}

// ask has one request answered, and learns the names in the answer.
func (s *side) ask(request kmsg.Request) (kmsg.Response, error) {
	response, err := s.conn.exchange(request)
	if err == nil {
		s.learn(response)
	}
	return response, err
}

func (s *side) learn(response kmsg.Response) {
	switch r := response.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range r.Topics {
			if t.ErrorCode == 0 && t.TopicID != ([16]byte{}) {
				s.learnTopic(t.Topic, t.TopicID)
			}
		}
	case *kmsg.FetchResponse:
		withoutLaterAborts(r)
	case *kmsg.MetadataResponse:
		for _, t := range r.Topics {
			if t.Topic != nil && t.ErrorCode == 0 && r.Version >= 10 {
				s.learnTopic(*t.Topic, t.TopicID)
				s.learnEpoch(*t.Topic, t.Partitions)
			}
		}
	}
}

func (s *side) learnTopic(name string, id [16]byte) {
	if old, ok := s.ids[name]; ok && old != id {
		s.topics[old] = "deleted " + name
		delete(s.epochs, name)
	}
	s.ids[name], s.topics[id] = id, name
}

func (s *side) learnEpoch(name string, partitions []kmsg.MetadataResponseTopicPartition) {
	if _, known := s.epochs[name]; !known && len(partitions) > 0 {
		s.epochs[name] = partitions[0].LeaderEpoch
	}
}

// settle waits until topics are served: Kafka applies its own answers a moment
// after giving them.
func (s *side) settle(topics ...string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		waiting, err := s.unsettled(topics)
		if err != nil {
			return err
		}
		if waiting == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("topics did not settle within 10 s: " + waiting)
		}
		pause(5 * time.Millisecond)
	}
}

// unsettled asks both what the metadata say and what the logs answer, and
// returns what is not as it will be.
func (s *side) unsettled(topics []string) (string, error) {
	if len(topics) == 0 {
		return "", nil
	}
	response, err := s.ask(metadataOf(topics...))
	if err != nil {
		return "", err
	}
	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.Version = 7
	for _, t := range response.(*kmsg.MetadataResponse).Topics {
		if t.ErrorCode != 0 || len(t.Partitions) == 0 {
			return *t.Topic + " in the metadata: " + errorName(t.ErrorCode), nil
		}
		o := kmsg.NewListOffsetsRequestTopic()
		o.Topic = *t.Topic
		for _, p := range t.Partitions {
			if p.Leader < 0 {
				return o.Topic + " has a partition without a leader", nil
			}
			partition := kmsg.NewListOffsetsRequestTopicPartition()
			partition.Partition, partition.Timestamp, partition.CurrentLeaderEpoch = p.Partition, -1, -1
			o.Partitions = append(o.Partitions, partition)
		}
		offsets.Topics = append(offsets.Topics, o)
	}
	return s.unserved(offsets)
}

func (s *side) unserved(offsets *kmsg.ListOffsetsRequest) (string, error) {
	response, err := s.ask(offsets)
	if err != nil {
		return "", err
	}
	for _, t := range response.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Sprintf("%s/%d: %s", t.Topic, p.Partition, errorName(p.ErrorCode)), nil
			}
		}
	}
	return "", nil
}

// metadataOf asks about topics without creating them.
func metadataOf(topics ...string) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	request.Version = 12
	for i, name := range topics {
		if slices.Contains(topics[:i], name) {
			continue
		}
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, t)
	}
	return request
}

// pause lets a real broker, which has a clock of its own, go on.
func pause(d time.Duration) { <-time.After(d) }
