package stage

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// unionAdmission is the setting of Skein brokers by which they let an old member into a group that runs COOPERATIVE (R-C15).
const unionAdmission = "skein.group.union.admission"

// admits asks the brokers whether they do that. Who does not tell, or does not know the setting, is taken for one that does not: the
// way back to old code over two bounces works everywhere.
func admits(ctx context.Context, cl *kgo.Client) bool {
	admin := kadm.NewClient(cl)
	brokers, err := admin.ListBrokers(ctx)
	if err != nil || len(brokers) == 0 {
		return false
	}
	configs, err := admin.DescribeBrokerConfigs(ctx, brokers.NodeIDs()...)
	if err != nil || len(configs) == 0 {
		return false
	}
	for _, broker := range configs {
		if !set(broker) {
			return false
		}
	}
	return true
}

func set(broker kadm.ResourceConfig) bool {
	for _, c := range broker.Configs {
		if c.Key == unionAdmission {
			return broker.Err == nil && c.MaybeValue() == "true"
		}
	}
	return false
}
