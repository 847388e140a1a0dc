package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe answers DescribeTransactions for one id (R-E15, R-K30).
func (m *Machine) describe(id string) *kmsg.DescribeTransactionsResponseTransactionState {
	r := kmsg.NewDescribeTransactionsResponseTransactionState()
	r.TransactionalID = id
	t := m.transactions[id]
	switch {
	case id == "":
		r.ErrorCode = kerr.InvalidRequest.Code
	case !t.born():
		r.ErrorCode = kerr.TransactionalIDNotFound.Code
	default:
		r.State, r.TimeoutMillis, r.StartTimestamp = t.state.String(), int32(t.timeout.Milliseconds()), t.started
		r.ProducerID, r.ProducerEpoch = t.ProducerID, t.Epoch
		r.Topics = describedTopics(t.partitions)
	}
	return &r
}

func describedTopics(partitions []Partition) []kmsg.DescribeTransactionsResponseTransactionStateTopic {
	var topics []kmsg.DescribeTransactionsResponseTransactionStateTopic
	for i, p := range partitions {
		if i == 0 || partitions[i-1].Topic != p.Topic {
			topic := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			topic.Topic = p.Topic
			topics = append(topics, topic)
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return topics
}

// list answers List.
func (m *Machine) list() []Listed {
	all := make([]Listed, 0, len(m.transactions))
	for _, t := range m.sorted() {
		if !t.born() {
			continue
		}
		l := Listed{ListTransactionsResponseTransactionState: kmsg.NewListTransactionsResponseTransactionState(), Timeout: t.timeout}
		l.TransactionalID, l.ProducerID, l.TransactionState = t.id, t.ProducerID, t.state.String()
		if t.started >= 0 {
			l.Started = time.UnixMilli(t.started)
		}
		all = append(all, l)
	}
	return all
}

// count answers Count.
func (m *Machine) count() Counts {
	c := m.totals
	c.States = map[string]int{}
	for _, t := range m.transactions {
		if !t.born() {
			continue
		}
		c.States[t.state.String()]++
		if t.state != kmsg.TransactionStateOngoing {
			continue
		}
		if since := time.UnixMilli(t.started); c.OldestID == "" || since.Before(c.OldestStarted) || since.Equal(c.OldestStarted) && t.id < c.OldestID {
			c.OldestStarted, c.OldestID = since, t.id
		}
	}
	return c
}
