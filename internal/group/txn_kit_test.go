package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// mark writes the marker that ends a producer's transaction.
func (w *world) mark(of machine.Producer, commit bool) {
	w.t.Helper()
	w.apply(machine.Record{Producer: of, Marker: &machine.Marker{Commit: commit}})
	w.compare()
}

// guard takes one for a producer.
func (w *world) guard(group string, of machine.Producer) GuardToken {
	w.t.Helper()
	return w.ask(Guard{Group: group, ProducerID: of.ID}).(GuardToken)
}

// txn sends a commit of one partition, with a fresh guard, and returns its code.
func (w *world) txn(of machine.Producer, group, topic string, partition int32, offset int64) int16 {
	w.t.Helper()
	in := TxnCommit{Request: txnOf(of, group, topic, partition, offset), Token: w.guard(group, of)}
	return w.ask(in).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

// txnOf makes a request of one partition.
func txnOf(of machine.Producer, group, topic string, partition int32, offset int64) *kmsg.TxnOffsetCommitRequest {
	r := kmsg.NewPtrTxnOffsetCommitRequest()
	r.Version, r.TransactionalID, r.Group, r.ProducerID, r.ProducerEpoch = 5, "x", group, of.ID, of.Epoch
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	return r
}

func producer(id int64, epoch int16) machine.Producer {
	return machine.Producer{Transactional: true, ID: id, Epoch: epoch}
}

// producer reads "7.2": producer 7 in epoch 2, and "7" as 7.0.
func (s *offsetScript) producer(text string) machine.Producer {
	id, epoch, given := strings.Cut(text, ".")
	if !given {
		epoch = "0"
	}
	return producer(scripts.Number(s, id), int16(scripts.Number(s, epoch)))
}

func (s *offsetScript) guard(group string, of machine.Producer) GuardToken {
	token := s.w.guard(group, of)
	s.w.answers = nil
	return token
}

// txn builds the request of a script's line from that of a plain commit.
func (s *offsetScript) txn(o scripts.Options) TxnCommit {
	plain, of := s.requests.Commit(o), s.producer(o.Words[1])
	r := kmsg.NewPtrTxnOffsetCommitRequest()
	r.Version, r.TransactionalID, r.Group = int16(o.Number("v", 5)), "x", plain.Group
	r.ProducerID, r.ProducerEpoch = of.ID, of.Epoch
	r.Generation, r.MemberID, r.InstanceID = plain.Generation, plain.MemberID, plain.InstanceID
	for _, t := range plain.Topics {
		to := kmsg.TxnOffsetCommitRequestTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			to.Partitions = append(to.Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata,
			})
		}
		r.Topics = append(r.Topics, to)
	}
	in := TxnCommit{Request: r}
	if named := o.Text("guard", ""); named != "" {
		in.Token = s.guards[named]
	} else {
		in.Token = s.guard(plain.Group, of)
	}
	return in
}

// dumpOpen writes down the offsets of open transactions, and checks their order.
func dumpOpen(t *topicOffsets) string {
	if t.open == nil {
		return ""
	}
	var b strings.Builder
	if len(t.open.list) == 0 {
		b.WriteString("an empty list is kept\n")
	}
	seen := map[string]bool{}
	for i, u := range t.open.list {
		fmt.Fprintf(&b, "%s %s/%d open of %d, overtaken %v, %s\n", t.group, t.topic.name, u.value.partition, u.producer, u.overtaken, dumpCommit(u.value))
		if key := fmt.Sprint(u.producer, u.value.partition); seen[key] || i > 0 && t.open.list[i-1].value.partition > u.value.partition {
			fmt.Fprintf(&b, "out of order, or twice\n")
		} else {
			seen[key] = true
		}
	}
	return b.String()
}

// dumpProducers writes down what is known of producers, and checks their counts on the way.
func dumpProducers(m *Machine) string {
	var b strings.Builder
	pending := 0
	for _, id := range slices.Sorted(maps.Keys(m.producers.open)) {
		x := m.producers.open[id]
		fmt.Fprintf(&b, "%d.%d has %d\n", id, x.epoch, len(x.in))
		for _, in := range x.in {
			n := 0
			for _, u := range in.topic.open.list {
				n += count(u.producer == id)
			}
			if n != in.count || n == 0 {
				fmt.Fprintf(&b, "%d of %d has %d offsets, counted %d\n", id, x.epoch, n, in.count)
			}
			pending += n
		}
	}
	if int64(pending) != m.offsets.pending {
		fmt.Fprintf(&b, "%d offsets are pending, counted %d\n", pending, m.offsets.pending)
	}
	p := &m.producers
	fmt.Fprintf(&b, "%d markers, turned %d, forgotten %d, %v, %v\n", p.markers, p.turned, p.forgotten, p.recent, p.older)
	return b.String()
}
