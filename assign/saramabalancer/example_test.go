package saramabalancer_test

import (
	"github.com/IBM/sarama"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/assign/saramabalancer"
)

// A consumer group that is planned by assign.CooperativeSticky. Nothing else
// of the program changes.
func ExampleNew() {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{saramabalancer.New(assign.CooperativeSticky{})}
	_, _ = sarama.NewConsumerGroup([]string{"localhost:9092"}, "orders", config)
}
