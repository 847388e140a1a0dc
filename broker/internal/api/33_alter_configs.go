package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs (33)
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: flexible
//
// The settings in the request replace all that the resource was given: what is not named goes back to its default. Tools
// should use IncrementalAlterConfigs; old ones still send this.
func alterConfigsEntry() entry {
	return entry{key: 33, min: 0, max: 2, flexible: 2, serve: changes(kmsg.NewPtrAlterConfigsRequest,
		func(h *Handler, ctx context.Context, req *kmsg.AlterConfigsRequest) kmsg.Response {
			return h.replaceConfigs(ctx, req)
		})}
}

func (h *Handler) replaceConfigs(ctx context.Context, req *kmsg.AlterConfigsRequest) kmsg.Response {
	all := make([]alteration, len(req.Resources))
	for i, r := range req.Resources {
		all[i] = replacement(r)
	}
	resp := kmsg.NewPtrAlterConfigsResponse()
	for i, f := range h.alterConfigs(ctx, all, req.ValidateOnly) {
		answer := kmsg.NewAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = all[i].kind, all[i].name
		answer.ErrorCode, answer.ErrorMessage = f.code, f.text()
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

func replacement(r kmsg.AlterConfigsRequestResource) alteration {
	a := alteration{kind: r.ResourceType, name: r.ResourceName}
	for _, k := range r.Configs {
		a.keys = append(a.keys, k.Name)
		if k.Value == nil {
			a.nulls = append(a.nulls, k.Name)
		}
	}
	a.turn = func(given map[string]string) refusal {
		clear(given)
		for _, k := range r.Configs {
			given[k.Name] = *k.Value
		}
		return refusal{}
	}
	return a
}
