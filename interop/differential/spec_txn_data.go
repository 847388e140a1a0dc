package differential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnCommitSpec is a TxnOffsetCommit request.
type txnCommitSpec struct {
	by
	version  int16
	group    string
	member   string // see cast.id
	instance string
	of       string // whose generation is sent; "": none, −1
	plus     int32
	topics   []commitTopic
	short    bool // see commitTopic.build
}

func (c txnCommitSpec) String() string {
	generation := " none"
	if c.of != "" {
		generation = fmt.Sprintf(" %s%+d", c.of, c.plus)
	}
	return fmt.Sprintf("%s as %q instance %q generation%s %q %v", c.by, c.member, c.instance, generation, c.group, c.topics)
}

func (c txnCommitSpec) step() step {
	return step{
		text: say("TxnOffsetCommit", c.version, "%s", c), again: true,
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrTxnOffsetCommitRequest(), c.identity(s)
			request.Version, request.TransactionalID, request.Group = c.version, c.id, c.group
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			request.MemberID, request.InstanceID, request.Generation = s.cast.id(c.member), optional(c.instance), -1
			if c.of != "" {
				request.Generation = s.cast.player(c.of).generation + c.plus
			}
			s.cast.committed[c.group] = true
			for _, t := range c.topics {
				request.Topics = append(request.Topics, t.inTransaction(s, c.short && request.Generation < 0))
			}
			return request
		},
	}
}

func (t commitTopic) inTransaction(s *side, short bool) kmsg.TxnOffsetCommitRequestTopic {
	plain := t.build(s, short)
	out := kmsg.NewTxnOffsetCommitRequestTopic()
	out.Topic, out.TopicID = plain.Topic, plain.TopicID
	for _, p := range plain.Partitions {
		one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset, one.LeaderEpoch, one.Metadata = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata
		out.Partitions = append(out.Partitions, one)
	}
	return out
}

// txnProduceSpec is a Produce request of a transactional producer, to one partition.
type txnProduceSpec struct {
	by
	version int16
	at      place
	records int32
	plus    int32 // to the sequence that is due, inside a transaction
	plain   bool  // the batch is not transactional
	anyway  bool  // though Kafka is known to find it out of order
}

func (p txnProduceSpec) String() string {
	text := fmt.Sprintf("%s %s %d records %+d", p.by, p.at, p.records, p.plus)
	if p.plain {
		text += " plain"
	}
	return text
}

// transactionalBit is the attribute of transactional batches.
const transactionalBit = 1 << 4

func (p txnProduceSpec) step() step {
	return step{
		text: say("Produce", p.version, "acks -1 %s", p),
		request: func(s *side) kmsg.Request {
			a, who := s.actor(p.name), p.identity(s)
			if who.id == -1 || who.epoch < 0 {
				return nil
			}
			a.sent = a.next[p.at.String()]
			if a.inside[p.at.String()] && p.own() {
				a.sent = max(0, a.sent+p.plus)
			}
			if least, refused := a.refused[p.at.String()]; refused && a.sent > least && !p.anyway {
				return nil
			}
			request := kmsg.NewPtrProduceRequest()
			request.Version, request.Acks, request.TimeoutMillis, request.TransactionID = p.version, -1, 10_000, optional(p.id)
			addProduce(s, request, p.at, p.batch(who, a.sent))
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			p.learn(s.actor(p.name), response.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		},
	}
}

func (p txnProduceSpec) learn(a *actor, code int16) {
	at := p.at.String()
	switch {
	case !p.own():
	case code != 0 && code != kerr.OutOfOrderSequenceNumber.Code && !p.plain:
		if least, refused := a.refused[at]; !refused || a.sent < least {
			a.refused[at] = a.sent
		}
	case code == 0 && a.sent == a.next[at]:
		a.next[at] += p.records
		if !p.plain {
			a.inside[at] = true
			delete(a.refused, at)
		}
	}
}

func (p txnProduceSpec) batch(who producer, sequence int32) []byte {
	b := batchSpec{time: 1_700_000_000_000}
	for i := range p.records {
		b.records = append(b.records, recordSpec{key: "key", value: fmt.Sprint("value ", i), later: int64(i)})
	}
	batch := kmsg.RecordBatch{
		Magic: 2, PartitionLeaderEpoch: -1, LastOffsetDelta: p.records - 1, NumRecords: p.records,
		FirstTimestamp: b.time, MaxTimestamp: b.time + int64(p.records) - 1,
		ProducerID: who.id, ProducerEpoch: who.epoch, FirstSequence: sequence, Records: b.body(),
	}
	if !p.plain {
		batch.Attributes |= transactionalBit
	}
	return seal(batch)
}

// markersSpec is a WriteTxnMarkers request with one marker, as an administrator sends it.
type markersSpec struct {
	by
	version     int16
	commit      bool
	coordinator int32 // its epoch
	transaction int8  // its version, from v2 on
	at          []place
	group       string // whose partition of the offsets' topic is meant, too; "" none
	anyway      bool   // also one that will be refused
}

func (m markersSpec) step() step {
	return step{
		text: say("WriteTxnMarkers", m.version, "%s commit=%v coordinator %d transaction v%d %v group %q",
			m.by, m.commit, m.coordinator, m.transaction, m.at, m.group),
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrWriteTxnMarkersRequest(), m.identity(s)
			if p.id == -1 || p.epoch < 0 || !m.anyway && m.hurts(s, p) {
				return nil
			}
			one := kmsg.NewWriteTxnMarkersRequestMarker()
			one.ProducerID, one.ProducerEpoch, one.Committed = p.id, p.epoch, m.commit
			one.CoordinatorEpoch, one.TransactionVersion = m.coordinator, m.transaction
			for _, t := range (addition{by: m.by, at: m.places()}).build(s).Topics {
				one.Topics = append(one.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: t.Topic, Partitions: t.Partitions})
			}
			request.Version, request.Markers = m.version, append(request.Markers, one)
			return request
		},
		learn: func(s *side, _ kmsg.Response) {
			for _, p := range m.at { // R-K32: sequences must be the right ones again
				for _, a := range s.actors {
					delete(a.inside, p.String())
				}
			}
		},
	}
}

// hurts tells whether the marker has another epoch than the producer. It would be refused, and after that Kafka's fetches from
// the partition may end before its last batch.
func (m markersSpec) hurts(s *side, p producer) bool {
	t, err := s.transaction(m.id)
	return err == nil && p != producer{t.ProducerID, t.ProducerEpoch}
}

func (m markersSpec) places() []place {
	if m.group == "" {
		return m.at
	}
	return append(m.at[:len(m.at):len(m.at)], place{&topic{name: offsetsTopic}, groupPartition(m.group)})
}

// offsetsTopic is where groups keep their offsets, in so many partitions.
const (
	offsetsTopic      = "__consumer_offsets"
	offsetsPartitions = 4
)

// groupPartition is the partition that a group is in, for names of ASCII.
func groupPartition(group string) int32 {
	hash := int32(0)
	for _, r := range group {
		hash = 31*hash + r
	}
	if hash < 0 {
		hash = -hash
	}
	return hash % offsetsPartitions
}

// describeTxnSpec is a DescribeTransactions request.
type describeTxnSpec struct{ ids []string }

func (d describeTxnSpec) step() step {
	return step{
		text: say("DescribeTransactions", 0, "%q %s", d.ids, again(d.ids)),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeTransactionsRequest()
			request.TransactionalIDs = d.ids
			return request
		},
		learn: func(_ *side, response kmsg.Response) {
			for _, x := range response.(*kmsg.DescribeTransactionsResponse).TransactionStates {
				for _, t := range x.Topics {
					slices.Sort(t.Partitions) // Kafka keeps no order
				}
			}
		},
	}
}

// listTxnSpec is a ListTransactions request. Of the answer only the case's own ids are compared.
type listTxnSpec struct {
	version   int16
	states    []string
	producers []string // actors; nobody: an id that was never given
	duration  int64
	pattern   string // null when ""
}

func (l listTxnSpec) step() step {
	return step{
		text: say("ListTransactions", l.version, "states %q producers %q duration %d pattern %q", l.states, l.producers, l.duration, l.pattern),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrListTransactionsRequest()
			request.Version, request.StateFilters, request.DurationFilterMillis = l.version, l.states, l.duration
			request.TransactionalIDPattern = optional(l.pattern)
			for _, name := range l.producers {
				who := ""
				if name == nobody {
					who = nobody
				}
				request.ProducerIDFilters = append(request.ProducerIDFilters, s.identity(name, who).id)
			}
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			r := response.(*kmsg.ListTransactionsResponse)
			own := r.TransactionStates[:0]
			for _, t := range r.TransactionStates {
				if strings.HasPrefix(t.TransactionalID, s.prefix) {
					own = append(own, t)
				}
			}
			r.TransactionStates = own
		},
	}
}
