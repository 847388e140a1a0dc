package api

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeClusterTellsThisBroker(t *testing.T) {
	b := start(t, map[string]string{"broker.rack": "r"})
	for v := int16(0); v <= 2; v++ {
		req := kmsg.NewPtrDescribeClusterRequest()
		resp := ask[*kmsg.DescribeClusterResponse](b, v, req)
		if resp.ErrorCode != 0 || resp.ErrorMessage != nil || resp.ClusterID != b.Catalog.ClusterID() || resp.ControllerID != 1 || len(resp.Brokers) != 1 {
			t.Fatalf("v%d: %+v", v, resp)
		}
		if n := resp.Brokers[0]; n.NodeID != 1 || n.Host != "broker.example" || n.Port != 1234 || said(n.Rack) != "r" || n.IsFenced {
			t.Errorf("v%d: %+v", v, n)
		}
		if resp.ClusterAuthorizedOperations != math.MinInt32 || resp.EndpointType != 1 {
			t.Errorf("v%d: %+v", v, resp)
		}
		req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = true, true
		if got := ask[*kmsg.DescribeClusterResponse](b, v, req); got.ClusterAuthorizedOperations != 8096 {
			t.Errorf("v%d: %d", v, got.ClusterAuthorizedOperations)
		}
	}
}

func TestDescribeClusterRefusesEndpointsThatAreNotBrokers(t *testing.T) {
	b := start(t, nil)
	for kind, want := range map[int8]*kerr.Error{2: kerr.MismatchedEndpointType, 3: kerr.UnsupportedEndpointType, 0: kerr.UnsupportedEndpointType} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = kind
		resp := ask[*kmsg.DescribeClusterResponse](b, 1, req)
		if resp.ErrorCode != want.Code || resp.ErrorMessage == nil || resp.ControllerID != -1 || len(resp.Brokers) != 0 || resp.ClusterID != "" {
			t.Errorf("%d: %+v", kind, resp)
		}
	}
}
