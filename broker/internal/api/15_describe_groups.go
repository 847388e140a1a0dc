package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// DescribeGroups (15): the state, the members and the assignment of groups.
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: authorized operations, when asked for (KIP-430)
// v4: the instance ids of static members (KIP-345)
// v5: flexible
// v6: a group that is not known is GROUP_ID_NOT_FOUND, with a message; before, it is Dead and no error (KIP-1043)
//
// A group may be large, so one that is named again is not described again.
func describeGroupsEntry() entry {
	return entry{key: 15, min: 0, max: 6, flexible: 5, serve: (*Handler).describeGroups}
}

func (h *Handler) describeGroups(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	if !decode(r, req) {
		return
	}
	var inputs []input
	seen := make(map[string]bool, len(req.Groups))
	for _, name := range req.Groups {
		if !seen[name] {
			seen[name] = true
			inputs = append(inputs, input{name, group.Describe{Group: name, Version: r.Version}})
		}
	}
	one := func(i int, got any, code int16) kmsg.DescribeGroupsResponseGroup {
		return described(inputs[i].key, got, code, req.IncludeAuthorizedOperations)
	}
	inGroups(h, r, inputs, one, func(all []kmsg.DescribeGroupsResponseGroup) kmsg.Response {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = all
		return resp
	})
}

// described is one group of the answer.
func described(name string, got any, code int16, operations bool) kmsg.DescribeGroupsResponseGroup {
	if code != 0 {
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.ErrorCode = name, code
		return g
	}
	g := *got.(*kmsg.DescribeGroupsResponseGroup)
	if operations && g.ErrorCode == 0 {
		g.AuthorizedOperations = groupOperations
	}
	return g
}
