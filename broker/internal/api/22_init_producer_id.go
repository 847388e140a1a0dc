package api

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/broker/internal/txn"
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

func (h *Handler) initProducerID(ctx context.Context, r *server.Request) {
	req := kmsg.NewPtrInitProducerIDRequest()
	if !decode(r, req) {
		return
	}
	switch code := h.refuseProducer(req); {
	case code != 0:
		reply(r, producerID(req, -1, code))
	case req.TransactionalID != nil:
		inTransaction(h, r, *req.TransactionalID, txn.Init{Caller: caller(r), Request: req}, func(got *kmsg.InitProducerIDResponse, code int16) kmsg.Response {
			if code != 0 {
				return producerID(req, -1, code)
			}
			return got
		})
	case h.Transactions != nil:
		h.Transactions.ProducerID(func(id int64, err error) {
			defer r.Contain()
			reply(r, producerID(req, id, coordinatorCode(err)))
		})
	default:
		h.idempotentProducer(ctx, r, req)
	}
}

// idempotentProducer answers where there is no coordinator of transactions.
func (h *Handler) idempotentProducer(ctx context.Context, r *server.Request, req *kmsg.InitProducerIDRequest) {
	if id, ok := h.data.ids.take(); ok {
		reply(r, producerID(req, id, 0))
		return
	}
	ctx = context.WithoutCancel(ctx)
	h.data.slow.answer(r, func() {
		id, code := h.newProducerID(ctx)
		reply(r, producerID(req, id, code))
	})
}

func (h *Handler) refuseProducer(req *kmsg.InitProducerIDRequest) int16 {
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		return kerr.InvalidRequest.Code
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		return kerr.InvalidRequest.Code
	case req.TransactionalID != nil && h.Transactions == nil:
		return kerr.UnsupportedVersion.Code
	default:
		return 0
	}
}

func producerID(req *kmsg.InitProducerIDRequest, id int64, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, id, 0
	if code != 0 {
		resp.ProducerID, resp.ProducerEpoch = -1, -1
	}
	return resp
}

// producerBlock is how many ids are set aside at a time.
const producerBlock = 1000

// producerIDs hands out the ids of a block that the catalog has set aside.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64
}

func (p *producerIDs) take() (id int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

func (p *producerIDs) refill(first, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.end = first, first+n
}

// newProducerID takes the first id of a new block. It waits for the disk; one at a time does so.
func (h *Handler) newProducerID(ctx context.Context) (int64, int16) {
	if id, ok := h.data.ids.take(); ok {
		return id, 0
	}
	first, err := h.Catalog.NextProducerIDs(ctx, producerBlock)
	if err != nil {
		h.Logger.Error("no producer ids can be set aside", "error", err)
		return -1, kerr.CoordinatorLoadInProgress.Code
	}
	h.data.ids.refill(first+1, producerBlock-1)
	return first, 0
}
