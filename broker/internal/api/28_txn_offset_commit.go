package api

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/txn"
)

// TxnOffsetCommit (28): a transaction notes how far its group has come. The offsets count once it is committed.
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: the leader epoch of each offset (KIP-320)
// v3: flexible; the generation, the member and its instance id, with which the group tells late members (KIP-447)
// v4: TRANSACTION_ABORTABLE (KIP-890)
// v5: the group's partition comes into the transaction with it, as if AddOffsetsToTxn had been sent (KIP-890)
// v6: topics are named by id
//
// The order is Kafka's (R-K19): partitions that there are not are refused, then the coordinator of the transaction is asked
// or told, then the group decides about the rest. Between the second and the third the transaction may end; a token that
// the group gives out before lets it refuse what comes behind the end. What is added to the transaction is
// durable before the offsets are, but both may fail, each for itself: so both are waited for.
func txnOffsetCommitEntry() entry {
	return entry{key: 28, min: 0, max: 6, flexible: 3, serve: (*Handler).txnOffsetCommit}
}

// The first versions of TxnOffsetCommit that know a code, a protocol, or ids of topics.
const (
	txnCommitAbortable = 4
	txnCommitAdds      = 5
	txnCommitTopicID   = 6
)

func (h *Handler) txnOffsetCommit(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	if !decode(r, req) {
		return
	}
	c := h.newTxnCommit(r, req)
	switch {
	case len(req.Topics) == 0:
		reply(r, c.resp)
	case req.Group == "":
		c.refuse(kerr.InvalidGroupID.Code) // R-K1
	default:
		h.Groups.Do(req.Group, group.Guard{Group: req.Group, ProducerID: req.ProducerID}, c.guarded)
	}
}

// txnCommit is a request under way: what is left of it, the answer to all of it, and the places in it that are decided.
type txnCommit struct {
	handler *Handler
	request *server.Request
	req     *kmsg.TxnOffsetCommitRequest
	resp    *kmsg.TxnOffsetCommitResponse
	places  slots // that the group decides
	decided slots // those of them that are not decided yet
	token   group.GuardToken
	missing atomic.Int32 // what the answer waits for, once the group is asked to commit
	lost    atomic.Bool  // the group's partition has not stayed in the transaction
}

// newTxnCommit answers what can be answered here and leaves only the rest in the request, with names and ids.
func (h *Handler) newTxnCommit(r *server.Request, req *kmsg.TxnOffsetCommitRequest) *txnCommit {
	s := h.Catalog.Snapshot()
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.TxnOffsetCommitRequestTopic) bool { return len(t.Partitions) == 0 })
	c := &txnCommit{handler: h, request: r, req: req, resp: kmsg.NewPtrTxnOffsetCommitResponse()}
	c.resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	kept := req.Topics[:0]
	for i, t := range req.Topics {
		topic := txnCommitTopic(s, req.Version, &t)
		to := &c.resp.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(t.Partitions))
		there := t.Partitions[:0]
		for j, p := range t.Partitions {
			place := &to.Partitions[j]
			place.Partition = p.Partition
			if place.ErrorCode = refuseCommit(topic, p.Partition, req.Version >= txnCommitTopicID); place.ErrorCode == 0 {
				c.places.add(&place.ErrorCode)
				there = append(there, p)
			}
		}
		if t.Partitions = there; len(there) > 0 {
			t.Topic, t.TopicID = topic.Name, topic.ID
			kept = append(kept, t)
		}
	}
	req.Topics, c.decided = kept, c.places
	return c
}

func txnCommitTopic(s *catalog.Snapshot, version int16, t *kmsg.TxnOffsetCommitRequestTopic) *catalog.Topic {
	if version >= txnCommitTopicID {
		return s.TopicByID(t.TopicID)
	}
	return s.Topic(t.Topic)
}

// refuseCommit is the code for a partition that there is not.
func refuseCommit(topic *catalog.Topic, index int32, byID bool) int16 {
	switch {
	case topic == nil && byID:
		return kerr.UnknownTopicID.Code
	case !hasPartition(topic, index):
		return kerr.UnknownTopicOrPartition.Code
	default:
		return 0
	}
}

// refuse answers with code for all that is not refused yet (R-K20).
func (c *txnCommit) refuse(code int16) {
	for len(c.decided) > 0 {
		c.decided.fill(code)
	}
	reply(c.request, c.resp)
}

// guarded goes on with the group's token: the transaction must have the group's partition.
func (c *txnCommit) guarded(got any, err error) {
	defer c.request.Contain()
	h, req := c.handler, c.req
	p, there := groupPartition(h.Catalog.Snapshot(), req.Group)
	switch {
	case err != nil:
		c.refuse(coordinatorCode(err))
		return
	case !there:
		c.refuse(kerr.NotCoordinator.Code)
		return
	}
	c.token = got.(group.GuardToken)
	c.missing.Store(1)
	var durable func(error)
	switch {
	case req.Version >= txnCommitAdds:
		c.missing.Add(1)
		durable = c.added
	case !h.Broker().Transactions.PartitionVerification:
		c.commit()
		return
	}
	h.Transactions.AddEarly(req.TransactionalID, txn.Add{
		Caller:          caller(c.request),
		TransactionalID: req.TransactionalID,
		ProducerID:      req.ProducerID,
		Epoch:           req.ProducerEpoch,
		Partitions:      []txn.Partition{p},
		VerifyOnly:      req.Version < txnCommitAdds,
		Implicit:        true,
		Offsets:         true,
	}, c.verified, durable)
}

// verified goes on once the transaction has the partition, or refuses.
func (c *txnCommit) verified(got any, err error) {
	defer c.request.Contain()
	if late(got) {
		c.request.Fail(errLate)
		return
	}
	if code := addedCode(got, coordinatorCode(err), 0); code != 0 {
		c.refuse(c.verificationCode(code))
		return
	}
	c.commit()
}

// verificationCode is what the version of the request says for an answer of the transaction's coordinator. Clients before
// KIP-890 take CONCURRENT_TRANSACTIONS for the end (T36).
func (c *txnCommit) verificationCode(code int16) int16 {
	switch {
	case c.req.Version >= txnCommitAbortable:
		return code
	case code == kerr.TransactionAbortable.Code:
		return kerr.InvalidTxnState.Code
	case code == kerr.ConcurrentTransactions.Code:
		return kerr.CoordinatorLoadInProgress.Code
	default:
		return code
	}
}

// commit lets the group decide.
func (c *txnCommit) commit() {
	c.handler.Groups.Do(c.req.Group, group.TxnCommit{Request: c.req, Token: c.token}, func(got any, err error) {
		defer c.request.Contain()
		if err != nil {
			c.refuse(coordinatorCode(err))
			return
		}
		for _, t := range got.(*kmsg.TxnOffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				c.decided.fill(p.ErrorCode)
			}
		}
		c.told()
	})
}

// added hears whether the group's partition has stayed in the transaction. If not, its end would pass the offsets by: the
// client has to send them again.
func (c *txnCommit) added(err error) {
	defer c.request.Contain()
	c.lost.Store(err != nil)
	c.told()
}

// told answers when nothing is missing any more.
func (c *txnCommit) told() {
	if c.missing.Add(-1) > 0 {
		return
	}
	if c.lost.Load() {
		c.decided = c.places
		c.refuse(kerr.NotCoordinator.Code)
		return
	}
	reply(c.request, c.resp)
}
