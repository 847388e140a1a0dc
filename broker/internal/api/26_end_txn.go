package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// EndTxn (26): a producer commits or aborts.
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
// v3: flexible
// v4: TRANSACTION_ABORTABLE (KIP-890)
// v5: the answer has the producer id and epoch that the producer goes on with (KIP-890)
//
// It is answered when everything that it changes is on the disk: records and offsets can be read, and the next transaction
// begins at once.
func endTxnEntry() entry {
	return entry{key: 26, min: 0, max: 5, flexible: 3, serve: (*Handler).endTxn}
}

func (h *Handler) endTxn(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrEndTxnRequest()
	if !decode(r, req) {
		return
	}
	in := txn.End{
		Caller: caller(r), TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, Epoch: req.ProducerEpoch, Commit: req.Commit,
	}
	inTransaction(h, r, req.TransactionalID, in, func(got txn.Ended, code int16) kmsg.Response {
		resp := kmsg.NewPtrEndTxnResponse()
		if resp.ErrorCode = or(code, got.Code); resp.ErrorCode == 0 {
			resp.ProducerID, resp.ProducerEpoch = got.ProducerID, got.Epoch
		}
		return resp
	})
}
