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
// v2: no result for each feature any more
//
// All or nothing is done. A feature has one level here, so that a request is either for what is in force, or refused with
// INVALID_UPDATE_VERSION.
func updateFeaturesEntry() entry {
	return entry{key: 57, min: 0, max: 2, flexible: 0, serve: answers(kmsg.NewPtrUpdateFeaturesRequest, (*Handler).updateFeatures)}
}

// updateTyped is the first version of UpdateFeatures that says which way a level may go.
const updateTyped = 1

// The ways that there are: up, down if nothing is lost, down.
const upgradeOnly, unsafeDowngrade = 1, 3

func (h *Handler) updateFeatures(_ *server.Request, req *kmsg.UpdateFeaturesRequest) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	for _, u := range req.FeatureUpdates {
		if f := h.refuseFeature(u, req.Version); f.code != 0 {
			resp.ErrorCode, resp.ErrorMessage, resp.Results = f.code, f.text(), nil
			return resp
		}
		result := kmsg.NewUpdateFeaturesResponseResult()
		result.Feature, result.ErrorMessage = u.Feature, pointer("NONE")
		resp.Results = append(resp.Results, result)
	}
	return resp
}

func (h *Handler) refuseFeature(u kmsg.UpdateFeaturesRequestFeatureUpdate, version int16) refusal {
	for _, f := range h.features() {
		switch {
		case f.name != u.Feature:
		case version >= updateTyped && (u.UpgradeType < upgradeOnly || u.UpgradeType > unsafeDowngrade):
			return refuse(kerr.InvalidUpdateVersion, "There is no upgrade type %d.", u.UpgradeType)
		case f.level != u.MaxVersionLevel:
			return refuse(kerr.InvalidUpdateVersion, "The level of %s is %d here and cannot be changed.", f.name, f.level)
		default:
			return refusal{}
		}
	}
	return refuse(kerr.InvalidUpdateVersion, "There is no feature %q here.", u.Feature)
}
