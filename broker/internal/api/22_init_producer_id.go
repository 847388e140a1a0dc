package api

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// InitProducerId (key 22): gives an idempotent producer its id.
//
// Version notes:
//   - 1 is like 0, 2 is flexible
//   - 3 adds producer_id and producer_epoch, of transactional producers that try to recover
//   - 4 and 5 allow other errors
//   - 6 is about two-phase commit (KIP-939), which Kafka 4.4 does not advertise either
//
// There are no transactions yet: a transactional id is refused with UNSUPPORTED_VERSION, which is final for every client
// and says what is the matter. Most do not come so far, since they look for a transaction coordinator first.

func initProducerIDEntry() entry {
	return entry{key: 22, min: 0, max: 5, flexible: 2, serve: (*Handler).initProducerID}
}

func (h *Handler) initProducerID(ctx context.Context, r *server.Request) {
	req := kmsg.NewPtrInitProducerIDRequest()
	if !decode(r, req) {
		return
	}
	if code := refuseProducer(req); code != 0 {
		reply(r, producerID(req, -1, code))
		return
	}
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

func refuseProducer(req *kmsg.InitProducerIDRequest) int16 {
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		return kerr.InvalidRequest.Code
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		return kerr.InvalidRequest.Code
	case req.TransactionalID != nil:
		return kerr.UnsupportedVersion.Code
	default:
		return 0
	}
}

func producerID(req *kmsg.InitProducerIDRequest, id int64, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, id, 0
	if code != 0 {
		resp.ProducerEpoch = -1
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
