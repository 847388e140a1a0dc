package broker

import (
	"errors"
	"fmt"
	"maps"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// onFaultyDisk is inBubble over a disk that can be told to fail.
func onFaultyDisk(t *testing.T, settings map[string]string, test func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{"connections.max.idle.ms": "-1"}}
		maps.Copy(h.settings, settings)
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		defer h.shutdown()
		test(h)
	})
}

// loadsAnew makes an append of a coordinator fail, after which it reads its log, and takes until the returned function is called.
func (h *house) loadsAnew(topic string, failing func() error) (goOn func()) {
	h.t.Helper()
	held := make(chan struct{})
	h.faults.Fail(vfs.Rule{Op: vfs.OpRead, Name: "*/" + topic + "-0/*", Until: held})
	heal := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
	if err := failing(); !errors.Is(err, kerr.NotCoordinator) {
		h.t.Errorf("what cannot be written: %v", err)
	}
	heal()
	synctest.Wait()
	return func() {
		close(held)
		synctest.Wait()
	}
}

// oneShard puts all transactions into one shard, and all groups.
func oneShard() map[string]string {
	return map[string]string{"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
}

// TestRequestsWhileTransactionsLoad: whoever asks while the coordinator reads its log is told to come again, in the words of
// the request (R-D2, R-K1, T36), and nothing is lost by it.
func TestRequestsWhileTransactionsLoad(t *testing.T) {
	for _, old := range []bool{false, true} {
		onFaultyDisk(t, oneShard(), func(h *house) {
			h.createTopic("a", 2)
			at := partitionName{"a", 0}
			p := h.producer("id")
			p.w.old = old
			h.must(retrying(p.begin))
			h.must(p.send(at, "whole"))
			h.must(retrying(func() error { return p.commitOffset("g", "a", 7) }))
			goOn := h.loadsAnew(transactionsTopic, func() error { return p.end(true) })
			loading := kerr.CoordinatorLoadInProgress
			for what, ask := range map[string]func() error{
				"InitProducerId": func() error { stranger := *p; return stranger.begin() },
				"AddPartitions":  func() error { return p.add(partitionName{"a", 1}) },
				"AddOffsets":     func() error { return p.addOffsets("g") },
				"TxnOffsetCommit": func() error {
					resp, err := ask[*kmsg.TxnOffsetCommitResponse](p.w, p.offsetRequest("g", "a", 9))
					h.must(err)
					return failed(resp.Topics[0].Partitions[0].ErrorCode)
				},
				"EndTxn":               func() error { return p.end(true) },
				"DescribeTransactions": func() error { return failed(describedCode(h, "id")) },
				"ListTransactions":     func() error { return failed(listedCode(h)) },
			} {
				wantError(t, fmt.Sprintf("%s, old %t", what, old), ask(), loading)
			}
			h.must(unaddedBatch(p, at, "more")) // nobody is asked about it
			wantError(t, "a first batch", unaddedBatch(p, partitionName{"a", 1}, "first"), kerr.NotEnoughReplicas)
			goOn()
			if values, open := h.committedValues(at); len(values) > 0 || open != 1 {
				t.Errorf("%q committed, %d open", values, open)
			}
			h.must(retrying(func() error { return p.end(true) }))
			h.expectCommitted(at, "whole", "more")
			h.expectOffset("g", "a", 7)
		})
	}
}

// unaddedBatch sends a batch without having added its partition.
func unaddedBatch(p *txnProducer, to partitionName, value string) error {
	resp, err := ask[*kmsg.ProduceResponse](p.w, p.batch(to, value))
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

func describedCode(h *house, id string) int16 {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	resp, err := ask[*kmsg.DescribeTransactionsResponse](h.wire(), req)
	h.must(err)
	return resp.TransactionStates[0].ErrorCode
}

func listedCode(h *house) int16 {
	resp, err := ask[*kmsg.ListTransactionsResponse](h.wire(), kmsg.NewPtrListTransactionsRequest())
	h.must(err)
	return resp.ErrorCode
}

// TestEndsWhileGroupsLoad: a transaction with offsets does not end before its group's coordinator has read its log, and one
// without them does. Nothing of it ends earlier.
func TestEndsWhileGroupsLoad(t *testing.T) {
	onFaultyDisk(t, oneShard(), func(h *house) {
		h.createTopic("a", 2)
		with, without := h.begun("with", 0, "with", partitionName{"a", 0}), h.begun("without", 0, "without", partitionName{"a", 1})
		h.must(retrying(func() error { return with.commitOffset("g", "a", 7) }))
		goOn := h.loadsAnew(offsetsTopic, func() error { return commitOffset(h.wire(), "other", nil, "a", 0, 1) })
		wantError(t, "the end of a transaction with offsets", with.end(true), kerr.CoordinatorLoadInProgress)
		wantError(t, "more offsets", with.commitOffset("g", "a", 8), kerr.CoordinatorLoadInProgress)
		h.expectCommitted(partitionName{"a", 0})
		h.must(without.end(true))
		h.expectCommitted(partitionName{"a", 1}, "without")
		goOn()
		h.must(retrying(func() error { return with.end(true) }))
		h.expectCommitted(partitionName{"a", 0}, "with")
		h.expectOffset("g", "a", 7)
		h.expectOffset("other", "a", -1)
	})
}
