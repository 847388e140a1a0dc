package broker

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A client before KIP-890 sends a request in its first transaction. The request is held up on its way, so that the client
// gives the connection up, aborts over another, and begins its second transaction, which has the same producer epoch. Then the
// request arrives. These are all kinds of requests, with what each would do to the second transaction; that it would is shown
// with skein.transaction.refuse.late.requests=false.

// latecomer is such a client.
type latecomer struct {
	*house
	p      *txnProducer
	old    *wire // what it has given up
	held   kmsg.Request
	closed bool // the request has found its connection closed when it had arrived
}

func lateTopic() partitionName { return partitionName{"a", 0} }

// givesUp lets the client abort its first transaction over a new connection.
func (l *latecomer) givesUp() {
	l.old, l.p.w = l.p.w, l.wire()
	l.p.w.old = true
	l.must(l.p.end(false))
}

// arrives lets the request arrive after all, and hears what becomes of it.
func (l *latecomer) arrives() {
	l.t.Helper()
	l.must(l.old.send(l.held))
	_, err := l.old.receive()
	if err != nil && err != io.EOF {
		l.t.Fatalf("the late request: %v", err)
	}
	l.closed = err != nil
}

// lateRequests are the stories. Each returns what is wrong in the end, "" for nothing.
func lateRequests() map[string]func(l *latecomer) string {
	return map[string]func(l *latecomer) string{
		"EndTxn":             lateEndTxn,
		"AddPartitionsToTxn": lateAddPartitions,
		"AddOffsetsToTxn":    lateAddOffsets,
		"Produce":            lateProduce,
		"TxnOffsetCommit":    lateTxnOffsetCommit,
		"TxnOffsetCommit over a connection for data": lateOverData,
	}
}

// lateEndTxn: a commit of the first transaction commits half of the second, which is aborted then.
func lateEndTxn(l *latecomer) string {
	l.held = l.p.endRequest(true)
	l.must(l.p.send(lateTopic(), "first"))
	l.givesUp()
	l.must(l.p.send(lateTopic(), "half of the second"))
	l.arrives()
	_ = l.p.end(false) // which the broker refuses if the transaction is over
	if values, _ := l.committedValues(lateTopic()); len(values) > 0 {
		return fmt.Sprintf("committed %q", values)
	}
	return ""
}

// lateAddPartitions and lateAddOffsets: what is added to no transaction opens one, which its owner knows nothing of.
func lateAddPartitions(l *latecomer) string {
	l.held = l.p.addRequest(partitionName{"a", 1})
	return l.opens()
}

func lateAddOffsets(l *latecomer) string {
	l.held = l.p.addOffsetsRequest("g")
	return l.opens()
}

func (l *latecomer) opens() string {
	l.must(l.p.send(lateTopic(), "first"))
	l.givesUp()
	l.arrives()
	if d := l.describeTxn("id"); d.State != "CompleteAbort" {
		return "it is " + d.State
	}
	return ""
}

// lateProduce: a batch of the first transaction is committed with the second, whose own first batch has the same sequence and
// is taken for a repetition. Clients that take a new epoch when a batch is unaccounted for do not have that problem.
func lateProduce(l *latecomer) string {
	l.must(l.p.add(lateTopic()))
	l.held = l.p.batch(lateTopic(), "first")
	l.givesUp()
	l.must(l.p.add(lateTopic()))
	l.arrives()
	l.must(l.p.send(lateTopic(), "second"))
	l.must(l.p.end(true))
	if values, _ := l.committedValues(lateTopic()); len(values) != 1 || values[0] != "second" {
		return fmt.Sprintf("committed %q", values)
	}
	return ""
}

// lateTxnOffsetCommit: the offset of the first transaction replaces that of the second.
func lateTxnOffsetCommit(l *latecomer) string {
	l.must(l.p.addOffsets("g"))
	l.held = l.p.offsetRequest("g", "a", 5)
	l.givesUp()
	return l.commitsOffsets()
}

// lateOverData is the same for a client with a connection for the coordinator of transactions, which it keeps, and one for
// data, over which it goes on with batches.
func lateOverData(l *latecomer) string {
	control := l.p.w
	l.must(l.p.addOffsets("g"))
	l.must(l.p.add(lateTopic()))
	l.p.w = l.wire()
	l.must(produced(l.p.w, l.p.batch(lateTopic(), "first")))
	l.p.sequences[lateTopic()]++
	l.held, l.old, l.p.w = l.p.offsetRequest("g", "a", 5), l.p.w, control
	l.must(l.p.end(false))
	l.must(l.p.add(lateTopic()))
	data := l.wire()
	l.must(produced(data, l.p.batch(lateTopic(), "second")))
	return l.commitsOffsets()
}

func (l *latecomer) commitsOffsets() string {
	l.must(l.p.commitOffset("g", "a", 3))
	l.arrives()
	l.must(l.p.end(true))
	offset, err := committedOffset(l.wire(), "g", "a", 0)
	if l.must(err); offset != 3 {
		return fmt.Sprintf("the offset is %d", offset)
	}
	return ""
}

func produced(w *wire, req *kmsg.ProduceRequest) error {
	w.old = true
	resp, err := ask[*kmsg.ProduceResponse](w, req)
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// TestLateRequests is FR-H4 and T36.
func TestLateRequests(t *testing.T) {
	for name, story := range lateRequests() {
		for _, refused := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, refused %t", name, refused), func(t *testing.T) {
				inBubble(t, map[string]string{"skein.transaction.refuse.late.requests": fmt.Sprint(refused)}, func(h *house) {
					h.createTopic("a", 2)
					l := &latecomer{house: h, p: h.producer("id").old()}
					h.must(retrying(l.p.begin))
					h.must(retrying(func() error { return l.p.addOffsets("g") }))
					h.must(l.p.end(false))
					wrong := story(l)
					if refused != (wrong == "") || refused != l.closed {
						t.Errorf("its connection was closed: %t; wrong: %q", l.closed, wrong)
					}
					late := 0
					if refused {
						late = 1
					}
					expectMetrics(t, h.b, fmt.Sprint("skein_transaction_late_requests_total ", late))
					synctest.Wait()
				})
			})
		}
	}
}
