package consumer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// staticSince is the JoinGroup of Kafka 2.3, which knows static members (KIP-345). An older one would be sent without the id, and the member
// be a dynamic one in silence.
const staticSince = 5

// joinStatic joins as a static member, or answers in the broker's place that it has none.
func (c *Consumer) joinStatic(ctx context.Context, join *kmsg.JoinGroupRequest) (kmsg.Response, error) {
	refusal := kmsg.NewPtrJoinGroupResponse()
	refusal.ErrorCode = kerr.UnsupportedVersion.Code
	if highest, known := c.highest(ctx, join.Key()); known && highest < staticSince {
		return refusal, nil
	}
	resp, err := join.RequestWith(ctx, c.kafka)
	if err != nil {
		return nil, err
	}
	if resp.Version < staticSince { // Config.Cluster.Options have franz-go speak an old version
		return refusal, nil
	}
	return resp, nil
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

// stableSince is the OffsetFetch of Kafka 2.5, which can be asked to wait for transactions that are to decide an offset (KIP-447). An older one
// is sent without that wish.
const stableSince = 7

// warnUnstable says, once, what a broker cannot do that ReadCommitted asks for: nothing else would show it.
func (c *Consumer) warnUnstable(version int16) {
	if !c.cfg.ReadCommitted || version >= stableSince || c.unstable.Swap(true) {
		return
	}
	c.log.Warn("the broker knows no stable offsets, as Kafka does since 2.5: after a transaction that is not decided yet, what it commits may be read again",
		"group", c.cfg.Group, "version", version)
}
