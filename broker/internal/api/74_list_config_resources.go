package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// ListConfigResources (74)
//
// v0: lists client metrics subscriptions alone (KIP-714); this broker has none
// v1: the client says which types of resources it means, an empty list meaning all; answers say the type (KIP-1142)
func listConfigResourcesEntry() entry {
	return entry{key: 74, min: 0, max: 1, flexible: 0, serve: answers(kmsg.NewPtrListConfigResourcesRequest,
		func(h *Handler, _ *server.Request, req *kmsg.ListConfigResourcesRequest) kmsg.Response {
			return h.listConfigResources(req)
		})}
}

func (h *Handler) listConfigResources(req *kmsg.ListConfigResourcesRequest) kmsg.Response {
	const topic, broker, logger, metrics, group = 2, 4, 8, 16, 32
	resp := kmsg.NewPtrListConfigResourcesResponse()
	known := []int8{topic, broker, logger, metrics, group}
	asked := req.ResourceTypes
	if len(asked) == 0 {
		asked = known
	}
	for _, kind := range asked {
		if !slices.Contains(known, kind) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			return resp
		}
	}
	if req.Version == 0 {
		return resp
	}
	if slices.Contains(asked, int8(broker)) {
		resp.ConfigResources = append(resp.ConfigResources, configResource(broker, h.nodeName()))
	}
	if slices.Contains(asked, int8(topic)) {
		for _, t := range h.Catalog.Snapshot().Topics() {
			resp.ConfigResources = append(resp.ConfigResources, configResource(topic, t.Name))
		}
	}
	return resp
}

func configResource(kind int8, name string) kmsg.ListConfigResourcesResponseConfigResource {
	r := kmsg.NewListConfigResourcesResponseConfigResource()
	r.Type, r.Name = kind, name
	return r
}
