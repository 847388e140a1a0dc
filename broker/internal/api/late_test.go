package api

import (
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/txn"
)

// FR-H4: a request that the coordinator finds late is not answered, nothing comes of it, and its connection is closed with
// what stands behind it, whatever the request is.
func TestLateRequestsCloseTheirConnection(t *testing.T) {
	late := &fakeTransactions{}
	late.answer = func(_ string, in any) (any, error) {
		if _, ends := in.(txn.End); ends {
			return txn.Ended{Code: 48, Late: true}, nil
		}
		return txn.Added{Code: 48, Late: true}, nil
	}
	groups := &fakeGroups{}
	groups.answer = func(_ string, in any) (any, error) {
		if _, commits := in.(group.TxnCommit); commits {
			t.Error("the group is asked to commit")
		}
		return group.GuardToken{}, nil
	}
	withTransactions(t, nil, late, groups, func(b *testBroker) {
		b.create(topic("__consumer_offsets", 7, 1))
		silent := b.inTransactionOf(11, "x", "a", batchOf(7, 2, 0, "v"))
		silent.Acks = 0
		for name, req := range map[string]kmsg.Request{
			"Produce": b.inTransactionOf(11, "x", "a", batchOf(7, 2, 0, "v")), "Produce without an answer": silent,
			"AddPartitionsToTxn": lateAdd(), "AddOffsetsToTxn": lateOffsets(), "EndTxn": lateEnd(), "TxnOffsetCommit": b.lateCommit(),
		} {
			c := b.another()
			late.inputs()
			c.send(req)
			if _, err := c.conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%s: %v, want the end of the connection", name, err)
			}
			if asked := late.inputs(); len(asked) != 1 {
				t.Errorf("%s: %d questions", name, len(asked))
			}
		}
		if end := b.Table.Topic("a").Partition(0).HighWatermark(); end != 0 {
			t.Errorf("%d records", end)
		}
	})
}

func lateAdd() *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Topics = 3, "x", 7, 2, of("a", 0)
	return req
}

func lateOffsets() *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = 3, "x", 7, 2, "g"
	return req
}

func lateEnd() *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, "x", 7, 2, true
	return req
}

func (b *testBroker) lateCommit() *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = 3, "x", "g", 7, 2, -1
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "a", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	return req
}
