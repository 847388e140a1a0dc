package differential

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const hour = 3_600_000

// target is one partition of a produce or fetch request.
type place struct {
	topic     *topic
	partition int32
}

func (p place) String() string { return fmt.Sprintf("%s/%d", p.topic.name, p.partition) }

func (w *world) somePlace() place {
	t := w.someTopic()
	return place{t, w.somePartition(t)}
}

func (w *world) produce() step {
	version := w.version(kmsg.Produce)
	acks := pick(w, []int16{-1, -1, -1, -1, 1, 1, 0, 2, -2})
	var places []place
	var batches []batchSpec
	for range 1 + w.r.IntN(2) {
		p := w.somePlace()
		if len(places) > 0 && p == places[0] {
			continue // twice the same partition: see produceTwice
		}
		places, batches = append(places, p), append(batches, w.someBatch(p))
	}
	transactional := ""
	if w.chance(60) {
		transactional = "no-such-transaction"
	}
	if acks == 0 {
		// Refused alike or not, there is no answer to tell: only what both refuse.
		for i := range batches {
			if batches[i].wrong != "crc" {
				batches[i].wrong = ""
			}
			batches[i].codec %= 5
			if version < 7 && batches[i].codec == 4 {
				batches[i].codec = 0
			}
		}
	}
	return step{
		text:   say("Produce", version, "acks %d %s%s", acks, transactional, produceText(places, batches)),
		silent: acks == 0,
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrProduceRequest()
			request.Version, request.Acks, request.TimeoutMillis = version, acks, 10_000
			if transactional != "" {
				request.TransactionID = kmsg.StringPtr(transactional)
			}
			for i, p := range places {
				addProduce(s, request, p, batches[i].bytes(s))
			}
			return request
		},
	}
}

// produceOne sends one given batch with acks=all.
func (w *world) produceOne(version int16, at place, b batchSpec) step {
	return step{
		text: say("Produce", version, "acks -1 %s", produceText([]place{at}, []batchSpec{b})),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrProduceRequest()
			request.Version, request.Acks, request.TimeoutMillis = version, -1, 10_000
			addProduce(s, request, at, b.bytes(s))
			return request
		},
	}
}

func produceText(places []place, batches []batchSpec) string {
	var parts []string
	for i, p := range places {
		parts = append(parts, p.String()+" "+batches[i].String())
	}
	return strings.Join(parts, "; ")
}

func addProduce(s *side, request *kmsg.ProduceRequest, p place, records []byte) {
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition, partition.Records = p.partition, records
	for i := range request.Topics {
		if request.Topics[i].Topic == p.topic.name {
			request.Topics[i].Partitions = append(request.Topics[i].Partitions, partition)
			return
		}
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = p.topic.name, s.id(p.topic.name)
	t.Partitions = append(t.Partitions, partition)
	request.Topics = append(request.Topics, t)
}

func (w *world) someBatch(p place) batchSpec {
	b := batchSpec{time: w.someTime(), codec: w.someCodec()}
	for range 1 + w.r.IntN(4) {
		b.records = append(b.records, w.someRecord(p))
	}
	if len(w.producers) > 0 && w.chance(2) {
		w.sequence(&b, p)
	}
	if w.chance(5) {
		b.wrong = pick(w, wrongs())
		if b.wrong == "lz4 linked" {
			b.codec = 3
		}
		if b.wrong == "bad compression" && b.codec == 0 {
			b.codec = 1
		}
	}
	if b.wrong == "" && !p.topic.gone && p.partition >= 0 {
		p.topic.ends[p.partition] += int64(len(b.records))
	}
	return b
}

func (w *world) someTime() int64 {
	switch w.r.IntN(12) {
	case 0:
		return w.now + 2*hour // an hour is what Kafka allows by default
	case 1:
		return w.now - 400*24*hour
	case 2:
		return 0
	default:
		return w.now - hour - w.r.Int64N(20*hour)
	}
}

func (w *world) someCodec() int16 {
	if w.chance(2) {
		return 0
	}
	if w.chance(30) {
		return int16(5 + w.r.IntN(3))
	}
	return int16(w.r.IntN(5))
}

func (w *world) someRecord(p place) recordSpec {
	r := recordSpec{
		key:     pick(w, []string{"null", "", "a", "b", "key"}),
		value:   pick(w, []string{"null", "", "value", strings.Repeat("long ", 40), strings.Repeat("z", 5000)}),
		later:   w.r.Int64N(5000),
		headers: w.r.IntN(3),
	}
	if strings.HasPrefix(p.topic.kind, "compact") && !w.chance(8) {
		r.key = pick(w, []string{"a", "b", "c"})
	}
	return r
}

// sequence gives the batch a producer and mostly the sequence that is due.
func (w *world) sequence(b *batchSpec, p place) {
	b.producer = pick(w, w.producers)
	if w.chance(25) {
		b.producer = "stranger"
	}
	key := b.producer + p.String()
	next := w.sequences[key]
	count := int32(len(b.records))
	switch w.r.IntN(16) {
	case 0:
		b.sequence = next + 1
	case 1:
		b.sequence = max(0, next-count)
	case 2:
		b.sequence = max(0, next-1)
	case 3:
		b.sequence = max(0, next-6*count)
	case 4:
		b.sequence, b.epoch = 0, 1
	case 5:
		b.sequence, b.epoch = next, -1
	case 6:
		b.sequence = 1<<31 - 1 - count/2 // wraps
	default:
		b.sequence = next
		w.sequences[key] = next + count
	}
}
