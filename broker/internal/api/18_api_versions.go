package api

import (
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// ApiVersions (18)
//
// v1: throttle time
// v2: throttled by muting the connection after the response, as everywhere (KIP-219)
// v3: flexible; client software name and version (KIP-511); supported and finalized features as tags (KIP-584)
// v4: supported features may have minimum version 0, which clients of v3 cannot read (KIP-1022)
// v5: the client may say which cluster and node it believes to talk to (KIP-1242)
//
// Its response always has header v0, in flexible versions too: a client that does not know yet what the broker speaks
// must be able to read it (T2). A version from the future is answered in v0 with the range of this request alone,
// and its body is not looked at (T1).
//
// Of Kafka's features transaction.version alone is announced (features.go): group.version and its like promise protocols that
// are not served yet (T8).
func apiVersionsEntry() entry {
	return entry{key: 18, min: 0, max: 5, flexible: 3, serve: answers(kmsg.NewPtrApiVersionsRequest,
		func(h *Handler, _ *server.Request, req *kmsg.ApiVersionsRequest) kmsg.Response {
			return h.apiVersions(req)
		})}
}

func (h *Handler) apiVersions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = h.checkApiVersions(req)
	if resp.ErrorCode == 0 {
		resp.ApiKeys = h.advertised()
		h.announceFeatures(resp)
	}
	return resp
}

// softwareName is what KIP-511 allows as the name and the version of a client's software.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (h *Handler) checkApiVersions(req *kmsg.ApiVersionsRequest) int16 {
	named := softwareName.MatchString(req.ClientSoftwareName) && softwareName.MatchString(req.ClientSoftwareVersion)
	believes, whole := req.ClusterID != nil || req.NodeID != -1, req.ClusterID != nil && req.NodeID != -1
	switch {
	case req.Version >= 3 && !named:
		return kerr.InvalidRequest.Code
	case req.Version < 5 || !believes:
		return 0
	case !whole:
		return kerr.InvalidRequest.Code
	case *req.ClusterID != h.Catalog.ClusterID() || req.NodeID != h.NodeID:
		return kerr.RebootstrapRequired.Code
	default:
		return 0
	}
}

// advertised lists what is served, by key. Keys that are not served are left out, not listed with an empty range (T4).
// Produce is listed from 0, though 0 to 2 are refused: old librdkafka concludes from their absence that the broker
// cannot read compressed batches (T3, KAFKA-18659).
func (h *Handler) advertised() []kmsg.ApiVersionsResponseApiKey {
	var keys []kmsg.ApiVersionsResponseApiKey
	for _, key := range slices.Sorted(maps.Keys(h.table)) {
		e := h.table[key]
		k := kmsg.ApiVersionsResponseApiKey{ApiKey: e.key, MinVersion: e.min, MaxVersion: e.max}
		if key == 0 {
			k.MinVersion = 0
		}
		keys = append(keys, k)
	}
	return keys
}

// TooNew answers an ApiVersions request whose version is not known.
func (h *Handler) TooNew(r *server.Request) {
	r.Reply(server.Response{Body: h.tooNew().AppendTo(nil), ErrorCode: kerr.UnsupportedVersion.Code})
}

func (h *Handler) tooNew() *kmsg.ApiVersionsResponse {
	own := h.table[18]
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: own.key, MinVersion: own.min, MaxVersion: own.max}}
	return resp
}
