package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// UpdateFeatures (57): puts levels of features in force (KIP-584).
//
// v0: flexible
// v1: to validate only; which way a level may go
// v2: one result for all
//
// A feature has one level here, so that each request is either for what is in force, or refused: INVALID_UPDATE_VERSION.
func updateFeaturesEntry() entry {
	return entry{key: 57, min: 0, max: 2, flexible: 0, serve: answers(kmsg.NewPtrUpdateFeaturesRequest, (*Handler).updateFeatures)}
}

// updateFeaturesWhole is the first version of UpdateFeatures without a result for each feature.
const updateFeaturesWhole = 2

func (h *Handler) updateFeatures(_ *server.Request, req *kmsg.UpdateFeaturesRequest) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	for _, u := range req.FeatureUpdates {
		f := h.refuseFeature(u.Feature, u.MaxVersionLevel)
		result := kmsg.NewUpdateFeaturesResponseResult()
		result.Feature, result.ErrorCode, result.ErrorMessage = u.Feature, f.code, f.text()
		resp.Results = append(resp.Results, result)
		if req.Version >= updateFeaturesWhole && resp.ErrorCode == 0 {
			resp.ErrorCode, resp.ErrorMessage = f.code, f.text()
		}
	}
	return resp
}

func (h *Handler) refuseFeature(name string, level int16) refusal {
	for _, f := range h.features() {
		switch {
		case f.name != name:
		case f.level != level:
			return refuse(kerr.InvalidUpdateVersion, "The level of %s is %d here and cannot be changed.", name, f.level)
		default:
			return refusal{}
		}
	}
	return refuse(kerr.InvalidUpdateVersion, "There is no feature %s here.", name)
}
