package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// LeaveGroup (13): members leave a group, or an operator removes them.
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: several members, by id or by instance id, with a result for each (KIP-345)
// v4: flexible
// v5: the reason (KIP-800)
func leaveGroupEntry() entry {
	return entry{key: 13, min: 0, max: 5, flexible: 4, serve: (*Handler).leaveGroup}
}

func (h *Handler) leaveGroup(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrLeaveGroupRequest()
	if !decode(r, req) {
		return
	}
	if req.Group == "" {
		reply(r, leaveGroupRefused(kerr.InvalidGroupID.Code))
		return
	}
	h.inGroup(r, req.Group, group.Leave{Request: req}, leaveGroupRefused)
}

func leaveGroupRefused(code int16) kmsg.Response {
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = code
	return resp
}
