// Package admin makes and looks at topics of the broker under test.
package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics makes topics of one shape.
func CreateTopics(ctx context.Context, bootstrap string, partitions int32, configs map[string]string, names ...string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return err
	}
	defer c.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 30_000
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
		for k, v := range configs {
			config := kmsg.NewCreateTopicsRequestTopicConfig()
			config.Name, config.Value = k, kmsg.StringPtr(v)
			t.Configs = append(t.Configs, config)
		}
		request.Topics = append(request.Topics, t)
	}
	response, err := request.RequestWith(ctx, c)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	for _, t := range response.Topics {
		if e := kerr.ErrorForCode(t.ErrorCode); e != nil {
			err = errors.Join(err, fmt.Errorf("creating topic %s: %w", t.Topic, e))
		}
	}
	return err
}

// Advertises tells whether the broker answers requests of this kind.
func Advertises(ctx context.Context, bootstrap string, key int16) (bool, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return false, err
	}
	defer c.Close()
	response, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c)
	if err != nil {
		return false, fmt.Errorf("asking for API versions: %w", err)
	}
	for _, k := range response.ApiKeys {
		if k.ApiKey == key {
			return true, nil
		}
	}
	return false, nil
}
