// Package load drives a broker with real clients and says how long that took:
// as fast as it goes, or at a fixed rate with the latency of each record.
// Every broker is driven by the same code with the same settings.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Partitions is how many partitions every topic has.
const Partitions = 6

// CreateTopic creates a topic with Partitions partitions, all else by default.
func CreateTopic(ctx context.Context, addr, topic string) error {
	return CreateTopicOf(ctx, addr, topic, Partitions)
}

// CreateTopicOf is CreateTopic with another number of partitions.
func CreateTopicOf(ctx context.Context, addr, topic string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), 1
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("creating topic %s: %w", topic, err)
	}
	if len(resp.Topics) != 1 {
		return errors.New("creating a topic: the answer names none")
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("creating topic %s: %w", topic, err)
	}
	return nil
}

func perSecond(count int, took time.Duration) float64 { return float64(count) / took.Seconds() }

// Values are different texts of size bytes each, the same in every run: words
// of a small made-up language, so that a codec finds something to do, as in
// logs or JSON.
func Values(size, count int) [][]byte {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	words := vocabulary(random)
	values := make([][]byte, count)
	for i := range values {
		for len(values[i]) < size {
			values[i] = append(values[i], words[random.IntN(len(words))]...)
		}
		values[i] = values[i][:size]
	}
	return values
}

func vocabulary(random *rand.Rand) []string {
	words := make([]string, 2000)
	for i := range words {
		word := make([]byte, 2+random.IntN(9))
		for j := range word {
			word[j] = byte('a' + random.IntN(26))
		}
		words[i] = string(word) + " "
	}
	return words
}
