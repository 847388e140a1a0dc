package api

import (
	"context"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// InitProducerId (key 22): gives a producer its id and epoch.
//
// Version notes:
//   - 1 is like 0, 2 is flexible
//   - 3 adds producer_id and producer_epoch, of producers that recover (KIP-360)
//   - 4 has PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
//   - 5 has TRANSACTION_ABORTABLE (KIP-890)
//   - 6 is about two-phase commit (KIP-939), which Kafka 4.4 does not advertise either
//
// Without a transactional id the producer is idempotent: it gets an id that nobody has, whatever else the request says. With
// one the coordinator of transactions decides; a transaction that is open is aborted and answered for at once.

func initProducerIDEntry() entry {
	return entry{key: 22, min: 0, max: 5, flexible: 2, serve: (*Handler).initProducerID}
}

func (h *Handler) initProducerID(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrInitProducerIDRequest()
	if !decode(r, req) {
		return
	}
	switch {
	case !goodTransactionalID(req.TransactionalID), (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		reply(r, producerID(req, -1, kerr.InvalidRequest.Code))
	case req.TransactionalID != nil:
		inTransaction(h, r, *req.TransactionalID, txn.Init{Caller: caller(r), Request: req}, func(got *kmsg.InitProducerIDResponse, code int16) kmsg.Response {
			if code != 0 {
				return producerID(req, -1, code)
			}
			return got
		})
	default:
		h.idempotentProducer(r, req)
	}
}

// goodTransactionalID: there is none, or one that a record can name.
func goodTransactionalID(id *string) bool { return id == nil || *id != "" && len(*id) <= math.MaxInt16 }

// idempotentProducer gives a producer an id. When none can be set aside it comes again: it knows no other code for that.
func (h *Handler) idempotentProducer(r *server.Request, req *kmsg.InitProducerIDRequest) {
	h.Transactions.ProducerID(func(id int64, err error) {
		defer r.Contain()
		code := int16(0)
		if err != nil {
			h.Logger.Error("no producer ids can be set aside", "error", err)
			code = kerr.CoordinatorLoadInProgress.Code
		}
		reply(r, producerID(req, id, code))
	})
}

func producerID(req *kmsg.InitProducerIDRequest, id int64, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, id, 0
	if code != 0 {
		resp.ProducerID, resp.ProducerEpoch = -1, -1
	}
	return resp
}
