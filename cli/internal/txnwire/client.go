// Package txnwire asks a cluster about its transactions and ends them: what stands between the verbs of `skein txn` and the
// decisions of package txns.
//
// It works against any Kafka cluster that serves KIP-664, which is 3.0 and later. What an older one does not know is named, and
// markers can be written to it all the same.
package txnwire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Client asks one cluster.
type Client struct {
	Kafka *kgo.Client
	Admin *kadm.Client
	// Within bounds one exchange with the cluster. Looking through all partitions takes many.
	Within func(context.Context) (context.Context, context.CancelFunc)
}

// batch is how many partitions or ids one question names: enough to be quick, few enough for a broker to answer at once.
const batch = 500

// each sends a request to the brokers that it concerns and hands f the answers. What went wrong is told of all of them.
func (c Client) each(ctx context.Context, req kmsg.Request, f func(at kgo.BrokerMetadata, resp kmsg.Response)) error {
	within, cancel := c.Within(ctx)
	defer cancel()
	var failures []error
	lacking := false
	for _, shard := range c.Kafka.RequestSharded(within, req) {
		switch {
		case shard.Err == nil:
			f(shard.Meta, shard.Resp)
		case unserved(shard.Err):
			if !lacking { // the others are as old, in most clusters
				failures = append(failures, lacks(shard.Meta, req))
			}
			lacking = true
		default:
			failures = append(failures, fmt.Errorf("asking broker %d with %s: %w", shard.Meta.NodeID, kmsg.NameForKey(req.Key()), shard.Err))
		}
	}
	return errors.Join(failures...)
}

// unserved says that the broker is too old for a request. The client has no name for that.
func unserved(err error) bool { return strings.Contains(err.Error(), "broker is too old") }

// ErrLacks says that a broker does not know a request.
var ErrLacks = errors.New("the broker does not know the request")

func lacks(at kgo.BrokerMetadata, req kmsg.Request) error {
	return &problem.Error{
		What: fmt.Sprintf("broker %d (%s:%d) does not know %s (API %d), which came with Kafka %s", at.NodeID, at.Host, at.Port, kmsg.NameForKey(req.Key()), req.Key(), came(req.Key())),
		Hint: "upgrade it, if you can" + instead(req.Key()),
		Err:  ErrLacks,
	}
}

// instead is what does without a request.
func instead(key int16) string {
	const abort = "`skein txn abort` with --producer-id, --producer-epoch and --coordinator-epoch ends it there"
	switch kmsg.Key(key) {
	case kmsg.DescribeTransactions, kmsg.ListTransactions:
		return "; from Kafka 2.8 on `skein txn producers TOPIC --open` shows what is open in a topic, and " + abort
	case kmsg.DescribeProducers:
		return "; `skein log dump` shows the batches of producers and the ends of transactions in a partition's files, and " + abort + ", with every release"
	}
	return ""
}

// came is the release of Kafka that a request came with.
func came(key int16) string {
	switch kmsg.Key(key) {
	case kmsg.DescribeTransactions, kmsg.ListTransactions:
		return "3.0"
	case kmsg.DescribeProducers:
		return "2.8"
	}
	return "0.11"
}

// refused is something that a broker refused to do: what it said, and what to do about it.
func refused(act string, err error) error {
	return &problem.Error{What: fmt.Sprintf("cannot %s: %s", act, reason(err)), Hint: advice(err), Err: err}
}

// reason is a broker's error without its code's spelling in capitals.
func reason(err error) string {
	if code, ok := errors.AsType[*kerr.Error](err); ok && code.Description != "" {
		return strings.TrimSuffix(code.Description, ".") + " (" + code.Message + ")"
	}
	return err.Error()
}

func advice(err error) string {
	switch {
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "it takes CLUSTER_ACTION on the cluster: ask the cluster's operator for an ACL, or authenticate as somebody else"
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed):
		return "ask the cluster's operator for an ACL, or authenticate as somebody else"
	case errors.Is(err, kerr.InvalidProducerEpoch):
		return "the producer has a higher epoch there by now, so the transaction has ended: `skein txn producers` shows it"
	case errors.Is(err, kerr.TransactionCoordinatorFenced):
		return "a later coordinator has written there: give its epoch, which `skein txn producers` shows from Kafka 2.8 on, with --coordinator-epoch"
	case errors.Is(err, kerr.ConcurrentTransactions):
		return "its last transaction is still being ended: `skein txn describe` shows which partitions miss the marker; --timeout waits longer"
	}
	return ""
}
