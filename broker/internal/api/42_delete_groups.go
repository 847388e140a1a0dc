package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// DeleteGroups (42): deletes groups without members, with their offsets.
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: flexible
// v3: room for a message with an error, which Kafka leaves empty
//
// Each group is answered for once, however often it is named.
func deleteGroupsEntry() entry {
	return entry{key: 42, min: 0, max: 3, flexible: 2, serve: (*Handler).deleteGroups}
}

func (h *Handler) deleteGroups(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	if !decode(r, req) {
		return
	}
	var inputs []input
	seen := make(map[string]bool, len(req.Groups))
	for _, name := range req.Groups {
		if !seen[name] {
			seen[name] = true
			inputs = append(inputs, input{name, group.Delete{Group: name}})
		}
	}
	one := func(i int, got any, code int16) kmsg.DeleteGroupsResponseGroup {
		if code == 0 {
			code = got.(int16)
		}
		return deletedGroup(inputs[i].key, code)
	}
	inGroups(h, r, inputs, one, func(all []kmsg.DeleteGroupsResponseGroup) kmsg.Response {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		resp.Groups = all
		return resp
	})
}

func deletedGroup(name string, code int16) kmsg.DeleteGroupsResponseGroup {
	g := kmsg.NewDeleteGroupsResponseGroup()
	g.Group, g.ErrorCode = name, code
	return g
}
