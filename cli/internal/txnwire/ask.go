package txnwire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
)

// List lists the transactional ids that fit a filter, but for its duration, by name. When only some brokers have answered it
// returns theirs with an error.
func (c Client) List(ctx context.Context, f txns.Filter) ([]txns.Listed, error) {
	req := kmsg.NewPtrListTransactionsRequest()
	req.StateFilters, req.ProducerIDFilters = f.States, f.Producers
	if pattern := f.Regexp(); pattern != "" {
		req.TransactionalIDPattern = &pattern
	}
	list := []txns.Listed{}
	var failures []error
	seen := map[string]bool{} // one that moves may be listed by two coordinators
	err := c.each(ctx, req, func(at kgo.BrokerMetadata, resp kmsg.Response) {
		some := resp.(*kmsg.ListTransactionsResponse)
		if err := kerr.ErrorForCode(some.ErrorCode); err != nil {
			failures = append(failures, refused(fmt.Sprintf("list the transactional ids of broker %d", at.NodeID), err))
		}
		for _, t := range some.TransactionStates {
			l := txns.Listed{ID: t.TransactionalID, State: t.TransactionState, ProducerID: t.ProducerID, Coordinator: broker(at)}
			if f.Fits(l) && !seen[l.ID] {
				seen[l.ID] = true
				list = append(list, l)
			}
		}
	})
	slices.SortFunc(list, func(a, b txns.Listed) int { return strings.Compare(a.ID, b.ID) })
	return list, errors.Join(append(failures, err)...)
}

// Describe asks the coordinators about transactional ids. Those that there are not are left out of the list.
func (c Client) Describe(ctx context.Context, ids []string, now time.Time) ([]txns.Transaction, error) {
	list := []txns.Transaction{}
	var failures []error
	for some := range slices.Chunk(ids, batch) {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = some
		err := c.each(ctx, req, func(at kgo.BrokerMetadata, resp kmsg.Response) {
			for _, t := range resp.(*kmsg.DescribeTransactionsResponse).TransactionStates {
				err := kerr.ErrorForCode(t.ErrorCode)
				switch {
				case err == nil:
					list = append(list, described(t, at, now))
				case !errors.Is(err, kerr.TransactionalIDNotFound):
					failures = append(failures, refused("describe the transactional id "+t.TransactionalID, err))
				}
			}
		})
		failures = append(failures, err)
	}
	slices.SortFunc(list, func(a, b txns.Transaction) int { return strings.Compare(a.ID, b.ID) })
	return list, errors.Join(failures...)
}

func described(t kmsg.DescribeTransactionsResponseTransactionState, at kgo.BrokerMetadata, now time.Time) txns.Transaction {
	out := txns.Transaction{
		ID: t.TransactionalID, State: t.State, ProducerID: t.ProducerID, Epoch: t.ProducerEpoch, TimeoutMs: int64(t.TimeoutMillis),
		Started: moment(t.StartTimestamp), Coordinator: broker(at), Partitions: txns.Partitions{},
	}
	for _, topic := range t.Topics {
		out.Partitions[topic.Topic] = slices.Sorted(slices.Values(topic.Partitions))
	}
	out.At(now)
	return out
}

func broker(at kgo.BrokerMetadata) txns.Broker {
	return txns.Broker{ID: at.NodeID, Host: at.Host, Port: at.Port}
}

// moment is a time in milliseconds, nil when it is none.
func moment(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}

// Missing says that a transactional id does not exist, and which one was probably meant.
func (c Client) Missing(ctx context.Context, id string) error {
	hint := "`skein txn list` shows the transactional ids that there are"
	if list, err := c.List(ctx, txns.Filter{}); err == nil {
		var ids []string
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		if near := problem.DidYouMean(id, ids); near != "" {
			hint = near
		}
	}
	return problem.New(hint, "there is no transactional id %q", id)
}

// Producers asks the leaders of partitions for the producers that they remember there, by partition and id. What fails for some
// is told of those.
func (c Client) Producers(ctx context.Context, places []txns.Place) ([]txns.Producer, error) {
	list := []txns.Producer{}
	var failures []error
	for some := range slices.Chunk(places, batch) {
		req := kmsg.NewPtrDescribeProducersRequest()
		for topic, partitions := range byTopic(some) {
			req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: topic, Partitions: partitions})
		}
		err := c.each(ctx, req, func(_ kgo.BrokerMetadata, resp kmsg.Response) {
			for _, t := range resp.(*kmsg.DescribeProducersResponse).Topics {
				for _, p := range t.Partitions {
					at := txns.Place{Topic: t.Topic, Partition: p.Partition}
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						failures = append(failures, refused("describe the producers of "+at.String(), err))
					}
					for _, one := range p.ActiveProducers {
						list = append(list, producer(at, one))
					}
				}
			}
		})
		failures = append(failures, err)
	}
	slices.SortFunc(list, func(a, b txns.Producer) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return list, errors.Join(failures...)
}

func producer(at txns.Place, p kmsg.DescribeProducersResponseTopicPartitionActiveProducer) txns.Producer {
	out := txns.Producer{
		Place: at, ProducerID: p.ProducerID, Epoch: int16(p.ProducerEpoch), CoordinatorEpoch: p.CoordinatorEpoch,
		LastSequence: p.LastSequence, LastTimestamp: moment(p.LastTimestamp),
	}
	if start := p.CurrentTxnStartOffset; start >= 0 {
		out.StartOffset = &start
	}
	return out
}

func byTopic(places []txns.Place) map[string][]int32 {
	topics := map[string][]int32{}
	for _, p := range places {
		topics[p.Topic] = append(topics[p.Topic], p.Partition)
	}
	return topics
}
