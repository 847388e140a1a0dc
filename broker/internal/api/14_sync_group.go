package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// SyncGroup (14): the leader of a group says who gets what, and every member gets its part.
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: static members (KIP-345)
// v4: flexible
// v5: protocol type and name, in both directions; a request without them is INCONSISTENT_GROUP_PROTOCOL, whatever else is
// wrong with it (KIP-559, R-K1)
//
// A follower waits for the leader, and everybody for the disk. While the group is loaded the answer is
// REBALANCE_IN_PROGRESS: the round that the member means may be lost, so it joins again (R-D2).
func syncGroupEntry() entry {
	return entry{key: 14, min: 0, max: 5, flexible: 4, serve: (*Handler).syncGroup}
}

func (h *Handler) syncGroup(ctx context.Context, r *server.Request) {
	req := kmsg.NewPtrSyncGroupRequest()
	if !decodeKept(r, req) {
		return
	}
	if code := refuseSync(req); code != 0 {
		reply(r, syncGroupRefused(code))
		return
	}
	h.park(ctx, r, req.Group, group.Sync{Request: req}, syncGroupRefused)
}

func refuseSync(req *kmsg.SyncGroupRequest) int16 {
	switch {
	case req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil):
		return kerr.InconsistentGroupProtocol.Code
	case req.Group == "":
		return kerr.InvalidGroupID.Code
	default:
		return 0
	}
}

func syncGroupRefused(code int16) kmsg.Response {
	if code == kerr.CoordinatorLoadInProgress.Code {
		code = kerr.RebalanceInProgress.Code
	}
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = code
	return resp
}
