package groups

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Facts is what a broker is like, as far as groups on it are concerned.
type Facts struct {
	// Skein: it has settings that no other broker has. False, too, where nobody may ask for settings.
	Skein bool
	// Union, Remembers and Ownership are skein.group.union.admission, .persist.protocols and .commit.ownership.check.
	Union, Remembers, Ownership bool
	// Consumer: it serves groups of the new protocol (KIP-848).
	Consumer bool
	// Refused is why it did not tell its settings.
	Refused error
}

// Settings of a Skein broker.
const (
	unionSetting     = "skein.group.union.admission"
	rememberSetting  = "skein.group.persist.protocols"
	ownershipSetting = "skein.group.commit.ownership.check"
)

// Facts asks a broker.
func (c Client) Facts(ctx context.Context, broker int32) (Facts, error) {
	f := Facts{}
	versions, err := c.Kafka.Broker(int(broker)).Request(ctx, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return f, fmt.Errorf("asking broker %d what it serves: %w", broker, err)
	}
	for _, k := range versions.(*kmsg.ApiVersionsResponse).ApiKeys {
		f.Consumer = f.Consumer || k.ApiKey == kmsg.NewPtrConsumerGroupHeartbeatRequest().Key()
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker))
	r.ConfigNames = []string{unionSetting, rememberSetting, ownershipSetting}
	req.Resources = append(req.Resources, r)
	resp, err := c.Kafka.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		return f, fmt.Errorf("asking broker %d for its settings: %w", broker, err)
	}
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		f.Refused = kerr.ErrorForCode(r.ErrorCode)
		for _, s := range r.Configs {
			f.take(s.Name, text(s.Value) == "true")
		}
	}
	return f, nil
}

func (f *Facts) take(name string, on bool) {
	switch name {
	case unionSetting:
		f.Skein, f.Union = true, on
	case rememberSetting:
		f.Skein, f.Remembers = true, on
	case ownershipSetting:
		f.Skein, f.Ownership = true, on
	}
}
