package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// AddPartitionsToTxn (24): a producer is about to write to partitions.
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
// v3: flexible
// v4: several transactions, and to ask only whether they have the partitions (KIP-890); brokers use it, and clients may (P7.6)
// v5: TRANSACTION_ABORTABLE (KIP-890)
//
// Partitions that there are not, and before version 4 those of topics of coordinators, are refused here. Then nothing is
// added to their transaction, and its other partitions are OPERATION_NOT_ATTEMPTED (R-E6, R-K23).
func addPartitionsToTxnEntry() entry {
	return entry{key: 24, min: 0, max: 5, flexible: 3, serve: (*Handler).addPartitionsToTxn}
}

// addBatched is the first version of AddPartitionsToTxn with several transactions.
const addBatched = 4

func (h *Handler) addPartitionsToTxn(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	if !decode(r, req) {
		return
	}
	all := h.additions(req, caller(r))
	if req.Version < addBatched && !all[0].refused {
		h.addOwn(r, req, all[0])
		return
	}
	var inputs []input
	var asked []*addition
	for _, a := range all {
		if !a.refused {
			inputs = append(inputs, input{a.in.TransactionalID, a.in})
			asked = append(asked, a)
		}
	}
	one := func(i int, got any, code int16) *addition {
		asked[i].decide(got, code)
		return asked[i]
	}
	gather(h.Transactions.Do, r, inputs, one, func([]*addition) kmsg.Response { return partitionsAdded(req, all) })
}

// addOwn is for the versions that have one transaction, a client's own.
func (h *Handler) addOwn(r *server.Request, req *kmsg.AddPartitionsToTxnRequest, a *addition) {
	inTransaction(h, r, a.in.TransactionalID, a.in, func(got txn.Added, code int16) kmsg.Response {
		a.decide(got, code)
		return partitionsAdded(req, []*addition{a})
	})
}

// addition is what a request has for one transaction.
type addition struct {
	in      txn.Add
	topics  []kmsg.AddPartitionsToTxnResponseTransactionTopic
	places  []*int16 // in topics, for what becomes of each of in.Partitions
	refused bool
}

// decide notes what has become of an addition.
func (a *addition) decide(got any, code int16) {
	for n, place := range a.places {
		*place = addedCode(got, code, n)
	}
}

func (h *Handler) additions(req *kmsg.AddPartitionsToTxnRequest, from txn.Caller) []*addition {
	s := h.Catalog.Snapshot()
	if req.Version < addBatched {
		own := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}
		for _, t := range req.Topics {
			own.Topics = append(own.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic(t))
		}
		return []*addition{newAddition(s, &own, from)}
	}
	all := make([]*addition, len(req.Transactions))
	for i := range req.Transactions {
		all[i] = newAddition(s, &req.Transactions[i], from)
	}
	return all
}

func newAddition(s *catalog.Snapshot, t *kmsg.AddPartitionsToTxnRequestTransaction, from txn.Caller) *addition {
	a := &addition{in: txn.Add{
		Caller: from, TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, Epoch: t.ProducerEpoch, VerifyOnly: t.VerifyOnly,
	}}
	for _, of := range t.Topics {
		if len(of.Partitions) > 0 { // or it is left out of the answer
			a.addTopic(s.Topic(of.Topic), of)
		}
	}
	if a.refused {
		for _, place := range a.places {
			*place = kerr.OperationNotAttempted.Code
		}
	}
	return a
}

// addTopic adds what a request has for one topic, which may not exist.
func (a *addition) addTopic(topic *catalog.Topic, of kmsg.AddPartitionsToTxnRequestTransactionTopic) {
	to := kmsg.AddPartitionsToTxnResponseTransactionTopic{
		Topic: of.Topic, Partitions: make([]kmsg.AddPartitionsToTxnResponseTransactionTopicPartition, len(of.Partitions)),
	}
	for i, index := range of.Partitions {
		p := &to.Partitions[i]
		p.Partition = index
		if p.ErrorCode = refuseAddition(topic, of.Topic, index, a.in.Version); p.ErrorCode != 0 {
			a.refused = true
			continue
		}
		a.in.Partitions = append(a.in.Partitions, txn.Partition{Topic: topic.Name, Partition: index})
		a.places = append(a.places, &p.ErrorCode)
	}
	a.topics = append(a.topics, to)
}

func refuseAddition(topic *catalog.Topic, name string, index int32, version int16) int16 {
	switch {
	case version < addBatched && internalTopic(name):
		return kerr.TopicAuthorizationFailed.Code
	case !hasPartition(topic, index):
		return kerr.UnknownTopicOrPartition.Code
	default:
		return 0
	}
}

// partitionsAdded is the answer in the form of the request's version.
func partitionsAdded(req *kmsg.AddPartitionsToTxnRequest, all []*addition) kmsg.Response {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	if req.Version < addBatched {
		resp.Topics = ownTopics(all[0].topics)
		return resp
	}
	for _, a := range all {
		t := kmsg.NewAddPartitionsToTxnResponseTransaction()
		t.TransactionalID, t.Topics = a.in.TransactionalID, a.topics
		resp.Transactions = append(resp.Transactions, t)
	}
	return resp
}

func ownTopics(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) []kmsg.AddPartitionsToTxnResponseTopic {
	own := make([]kmsg.AddPartitionsToTxnResponseTopic, len(topics))
	for i, t := range topics {
		own[i].Topic = t.Topic
		own[i].Partitions = make([]kmsg.AddPartitionsToTxnResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			own[i].Partitions[j] = kmsg.AddPartitionsToTxnResponseTopicPartition(p)
		}
	}
	return own
}
