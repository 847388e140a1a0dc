package txnwire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/txns"
)

// Mark aborts the transaction of a producer in one partition, with a marker as its coordinator would write it.
//
// The coordinator's epoch is that of the last marker there, or 0 when there has been none, which no coordinator's is below. The
// producer's own epoch will do: the marker must not be of an older one.
func (c Client) Mark(ctx context.Context, p txns.Producer) error {
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = p.ProducerID, p.Epoch, max(0, p.CoordinatorEpoch)
	m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: p.Topic, Partitions: []int32{p.Partition}}}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Markers = append(req.Markers, m)
	act := "abort the transaction in " + p.Place.String()
	answered := false
	var failure error
	err := c.each(ctx, req, func(_ kgo.BrokerMetadata, resp kmsg.Response) {
		for _, m := range resp.(*kmsg.WriteTxnMarkersResponse).Markers {
			for _, t := range m.Topics {
				for _, q := range t.Partitions {
					answered = true
					if err := kerr.ErrorForCode(q.ErrorCode); err != nil {
						failure = refused(act, err)
					}
				}
			}
		}
	})
	if err == nil && failure == nil && !answered {
		failure = fmt.Errorf("cannot %s: the broker did not answer about it", act)
	}
	return errors.Join(err, failure)
}

// terminating is the timeout with which an id is initialised only to end its transaction. Its next producer gives its own.
const terminating = time.Millisecond

// askAgain is how long a coordinator that is still busy with the last transaction is left alone.
const askAgain = 100 * time.Millisecond

// Terminate has a coordinator abort the open transaction of a transactional id, in all its partitions, by coming as a new
// producer of that id. The old one is fenced. The id must exist: it would be made.
func (c Client) Terminate(ctx context.Context, id string) error {
	within, cancel := c.Within(ctx)
	defer cancel()
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(terminating.Milliseconds())
		resp, err := req.RequestWith(within, c.Kafka)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, kerr.ConcurrentTransactions):
			return refused("end the transaction of "+id, err)
		}
		select {
		case <-time.After(askAgain):
		case <-within.Done():
			return refused("end the transaction of "+id, errors.Join(err, ctx.Err()))
		}
	}
}
