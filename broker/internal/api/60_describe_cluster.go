package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// DescribeCluster (60, KIP-700)
//
// v1: the client says whether it means brokers (1) or controllers (2) (KIP-919)
// v2: fenced brokers may be listed too (KIP-1073); there are none here
func describeClusterEntry() entry {
	return entry{key: 60, min: 0, max: 2, flexible: 0, serve: answers(kmsg.NewPtrDescribeClusterRequest,
		func(h *Handler, r *server.Request, req *kmsg.DescribeClusterRequest) kmsg.Response {
			return h.describeCluster(r.Conn.Listener(), req)
		})}
}

const brokerEndpoint, controllerEndpoint = 1, 2

func (h *Handler) describeCluster(listener server.ListenerInfo, req *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	if f := checkEndpointType(req); f.code != 0 {
		resp.ErrorCode, resp.ErrorMessage, resp.ControllerID = f.code, f.text(), -1
		return resp
	}
	b := h.broker(listener)
	resp.ClusterID, resp.ControllerID = h.Catalog.ClusterID(), h.NodeID
	resp.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack}}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return resp
}

func checkEndpointType(req *kmsg.DescribeClusterRequest) refusal {
	switch {
	case req.Version < 1 || req.EndpointType == brokerEndpoint:
		return refusal{}
	case req.EndpointType == controllerEndpoint:
		return refuse(kerr.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	default:
		return refuse(kerr.UnsupportedEndpointType, "Unsupported endpoint type %d", req.EndpointType)
	}
}
