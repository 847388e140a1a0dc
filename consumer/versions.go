package consumer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// staticSince is the JoinGroup of Kafka 2.3, which knows static members (KIP-345). An older one would be sent without the id, and the member
// be a dynamic one in silence.
const staticSince = 5

// refuses answers in the broker's place if it is too old for static members.
func (c *Consumer) refuses(ctx context.Context, join *kmsg.JoinGroupRequest) kmsg.Response {
	if join.InstanceID == nil {
		return nil
	}
	if highest, known := c.highest(ctx, join.Key()); !known || highest >= staticSince {
		return nil
	}
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	return resp
}

// highest is the newest version that the cluster has of a request.
func (c *Consumer) highest(ctx context.Context, key int16) (version int16, known bool) {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c.kafka)
	if err != nil {
		return 0, false
	}
	for _, k := range resp.ApiKeys {
		if k.ApiKey == key {
			return k.MaxVersion, true
		}
	}
	return 0, false
}
