package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// AddOffsetsToTxn (25): a producer is about to commit offsets of a group.
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
// v3: flexible
// v4: TRANSACTION_ABORTABLE (KIP-890)
//
// What comes into the transaction is the partition of the topic of the groups that the group is in, whether there is such a
// group or not; the group "" is as good as any (R-K1). The topic is made first when it is missing.
func addOffsetsToTxnEntry() entry {
	return entry{key: 25, min: 0, max: 4, flexible: 3, serve: (*Handler).addOffsetsToTxn}
}

func (h *Handler) addOffsetsToTxn(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	if !decode(r, req) {
		return
	}
	h.Groups.Prepare(func(err error) {
		defer r.Contain()
		p, there := groupPartition(h.Catalog.Snapshot(), req.Group)
		switch {
		case err != nil:
			reply(r, offsetsAdded(coordinatorCode(err)))
			return
		case !there:
			reply(r, offsetsAdded(kerr.CoordinatorNotAvailable.Code))
			return
		}
		in := txn.Add{
			Caller: caller(r), TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, Epoch: req.ProducerEpoch,
			Partitions: []txn.Partition{p}, Offsets: true,
		}
		inTransaction(h, r, req.TransactionalID, in, func(got txn.Added, code int16) kmsg.Response {
			return offsetsAdded(or(code, got.Code))
		})
	})
}

func offsetsAdded(code int16) kmsg.Response {
	resp := kmsg.NewPtrAddOffsetsToTxnResponse()
	resp.ErrorCode = code
	return resp
}
