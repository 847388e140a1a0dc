package differential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// by is who sends a request in a transaction, and as whom: see identity.
type by struct {
	name string
	id   string // the transactional id
	who  string
	// foreign: the id is none of the actor's.
	foreign bool
}

func (b by) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%s id %q %s", b.name, b.id, b.who))
	if b.foreign {
		text += " " + foreignText
	}
	return text
}

func (b by) identity(s *side) producer { return s.identity(b.name, b.who) }

// own says whether the actor speaks for itself.
func (b by) own() bool { return b.who == "" }

// addSpec is an AddPartitionsToTxn request: of one transaction before v4.
type addSpec struct {
	version int16
	of      []addition
}

// addition is what is added to one transaction, or asked about.
type addition struct {
	by
	verify bool
	at     []place
}

func (a addition) String() string {
	text := fmt.Sprintf("%s %v", a.by, a.at)
	if a.verify {
		text += " verify"
	}
	return text
}

// addBatched is the first version with several transactions.
const addBatched = 4

func (a addSpec) step() step {
	var texts, ids []string
	for _, one := range a.of {
		texts, ids = append(texts, one.String()), append(ids, one.id)
	}
	return step{
		text: say("AddPartitionsToTxn", a.version, "%s %s", strings.Join(texts, "; "), again(ids)), again: true,
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrAddPartitionsToTxnRequest()
			request.Version = a.version
			for _, one := range a.of {
				t := one.build(s)
				request.Transactions = append(request.Transactions, t)
				if a.version < addBatched {
					request.TransactionalID, request.ProducerID, request.ProducerEpoch = t.TransactionalID, t.ProducerID, t.ProducerEpoch
					for _, topic := range t.Topics {
						request.Topics = append(request.Topics, kmsg.AddPartitionsToTxnRequestTopic(topic))
					}
				}
			}
			return request
		},
		learn: func(s *side, response kmsg.Response) { a.learn(s, response.(*kmsg.AddPartitionsToTxnResponse)) },
	}
}

// build names every topic once.
func (a addition) build(s *side) kmsg.AddPartitionsToTxnRequestTransaction {
	t, p := kmsg.NewAddPartitionsToTxnRequestTransaction(), a.identity(s)
	t.TransactionalID, t.ProducerID, t.ProducerEpoch, t.VerifyOnly = a.id, p.id, p.epoch, a.verify
	for _, at := range a.at {
		i := slices.IndexFunc(t.Topics, func(o kmsg.AddPartitionsToTxnRequestTransactionTopic) bool { return o.Topic == at.topic.name })
		if i < 0 {
			i = len(t.Topics)
			t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: at.topic.name})
		}
		t.Topics[i].Partitions = append(t.Topics[i].Partitions, at.partition)
	}
	return t
}

func (a addSpec) learn(s *side, r *kmsg.AddPartitionsToTxnResponse) {
	if len(a.of) != 1 || !a.of[0].own() || a.of[0].verify {
		return
	}
	inside := s.actor(a.of[0].name).inside
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			inside[at(t.Topic, p.Partition)] = p.ErrorCode == 0
		}
	}
	for _, x := range r.Transactions {
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				inside[at(t.Topic, p.Partition)] = p.ErrorCode == 0
			}
		}
	}
}

func at(topic string, partition int32) string { return fmt.Sprintf("%s/%d", topic, partition) }

// addOffsetsSpec is an AddOffsetsToTxn request.
type addOffsetsSpec struct {
	by
	version int16
	group   string
}

func (a addOffsetsSpec) step() step {
	return step{
		text: say("AddOffsetsToTxn", a.version, "%s group %q", a.by, a.group), again: true,
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrAddOffsetsToTxnRequest(), a.identity(s)
			request.Version, request.TransactionalID, request.Group = a.version, a.id, a.group
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			return request
		},
	}
}

// endSpec is an EndTxn request.
type endSpec struct {
	by
	version int16
	commit  bool
	anyway  bool // though Kafka is known to take it for another's retry
}

// endRaises is the first version whose answer says who the producer is from then on.
const endRaises = 5

func (e endSpec) step() step {
	return step{
		text: say("EndTxn", e.version, "%s commit=%v", e.by, e.commit), again: true,
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrEndTxnRequest(), e.identity(s)
			if !e.anyway && e.version >= endRaises && e.hurts(s, p) {
				return nil
			}
			request.Version, request.TransactionalID, request.Commit = e.version, e.id, e.commit
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			if r := response.(*kmsg.EndTxnResponse); r.ErrorCode == 0 {
				e.ended(s, producer{r.ProducerID, r.ProducerEpoch})
			}
		},
		after: func(s *side, _ kmsg.Response) error { return s.settleTransaction(e.id) },
	}
}

// ended notes who the producer is after an end.
func (e endSpec) ended(s *side, now producer) {
	a := s.actor(e.name)
	clear(a.inside)
	switch {
	case e.version < endRaises:
		a.raised, a.recovered = false, false // its epoch has been used
	case now != a.producer:
		s.became(e.name, e.id, now)
		a.raised = true
	}
}

// hurts tells whether p has the epoch before the current one without having ended a transaction with it: Kafka takes it for one
// that has, and tells it the epoch of its successor.
func (e endSpec) hurts(s *side, p producer) bool {
	t, err := s.transaction(e.id)
	if err != nil || p.id != t.ProducerID || p.epoch != t.ProducerEpoch-1 {
		return false
	}
	a := s.actor(e.name)
	return !a.raised || a.producer != producer{t.ProducerID, t.ProducerEpoch}
}
