package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// Heartbeat (12): a member of a group says that it lives, and hears of a rebalance.
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: static members (KIP-345)
// v4: flexible
//
// While the group is loaded nobody is thrown out, so the answer is that all is well (R-D2).
func heartbeatEntry() entry {
	return entry{key: 12, min: 0, max: 4, flexible: 4, serve: (*Handler).heartbeat}
}

func (h *Handler) heartbeat(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrHeartbeatRequest()
	if !decode(r, req) {
		return
	}
	if req.Group == "" {
		reply(r, heartbeatRefused(kerr.InvalidGroupID.Code))
		return
	}
	h.inGroup(r, req.Group, group.Heartbeat{Request: req}, heartbeatRefused)
}

func heartbeatRefused(code int16) kmsg.Response {
	if code == kerr.CoordinatorLoadInProgress.Code {
		code = 0
	}
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}
