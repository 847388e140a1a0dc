package partition

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
)

// batchOfTransaction is one record of producer 8.
func batchOfTransaction(epoch int16, sequence int32) []byte {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = 8, epoch, sequence, true
	return b.Append(1, []byte("k"), []byte("v")).Bytes()
}

// sendGuarded sends a batch with a guard and returns its code.
func (w *world) sendGuarded(p *Partition, b []byte, g Guard, unverified int16) int16 {
	w.t.Helper()
	f := &waitFor{}
	f.Records, f.Done, f.Guard, f.Unverified = b, f, g, unverified
	p.Append(&f.Append)
	synctest.Wait()
	if f.count() != 1 {
		w.t.Fatalf("told %d times", f.count())
	}
	return f.Result.Code
}

func (w *world) expectCode(what string, got int16, want *kerr.Error) {
	w.t.Helper()
	code := int16(0)
	if want != nil {
		code = want.Code
	}
	if got != code {
		w.t.Errorf("%s: code %d, want %d", what, got, code)
	}
}

func (w *world) mark(p *Partition, producer int64, epoch int16) {
	w.t.Helper()
	w.appendedAt(p, record.ControlMarker(record.Commit, producer, epoch, 0, 1), Anywhere, 0)
}

// inModes runs a test in a partition of each mode of durability.
func inModes(t *testing.T, test func(w *world, p *Partition)) {
	for _, mode := range []string{"always", "os"} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.start()
				test(w, w.create("t", 1, "skein.durability", mode).Partition(0))
				w.stop()
			})
		})
	}
}

// TestTransactionsAreVouchedFor: what no coordinator knows of is not opened, and what is refused changes nothing (R-E12, R-K32).
func TestTransactionsAreVouchedFor(t *testing.T) {
	inModes(t, func(w *world, p *Partition) {
		w.expectCode("without a guard", w.sendGuarded(p, batchOfTransaction(0, 0), Guard{}, 0), kerr.InvalidTxnState)
		w.expectCode("of a newer client", w.sendGuarded(p, batchOfTransaction(0, 0), Guard{}, kerr.TransactionAbortable.Code), kerr.TransactionAbortable)
		if known, _ := p.Producers(); len(known) != 0 || p.HighWatermark() != 0 {
			w.t.Errorf("what was refused is known: %+v", known)
		}
		g, open := p.Guard(8, 0)
		if open {
			w.t.Error("nothing is open")
		}
		w.expectCode("with a guard", w.sendGuarded(p, batchOfTransaction(0, 0), g, 0), nil)
		if _, open := p.Guard(8, 0); !open {
			w.t.Error("it is open now")
		}
		if _, open := p.Guard(8, 1); open {
			w.t.Error("but not in another epoch")
		}
		w.expectCode("a batch of the open one", w.sendGuarded(p, batchOfTransaction(0, 1), Guard{}, 0), nil)
		w.expectCode("its repetition", w.sendGuarded(p, batchOfTransaction(0, 1), Guard{}, 0), nil)
		w.expectCode("without a transaction", w.sendGuarded(p, from(8, 0, 2, 1), Guard{}, 0), kerr.InvalidTxnState) // R-K27
		w.mark(p, 8, 0)
		w.expectCode("a repetition after the end", w.sendGuarded(p, batchOfTransaction(0, 1), Guard{}, 0), nil)
		w.expectCode("another one after the end", w.sendGuarded(p, batchOfTransaction(0, 2), Guard{}, 0), kerr.InvalidTxnState)
		if p.LastStableOffset() != p.HighWatermark() {
			w.t.Error("a transaction hangs")
		}
	})
}

// TestGuardsEndWithTheTransaction: between the coordinator's answer and the append the transaction has ended.
func TestGuardsEndWithTheTransaction(t *testing.T) {
	inModes(t, func(w *world, p *Partition) {
		g, _ := p.Guard(8, 0)
		w.mark(p, 9, 0)
		w.expectCode("after another's marker", w.sendGuarded(p, batchOfTransaction(0, 0), g, 0), nil)
		w.mark(p, 8, 0)
		w.expectCode("after the marker", w.sendGuarded(p, batchOfTransaction(0, 1), g, 0), kerr.InvalidTxnState)
		g, _ = p.Guard(8, 0)
		w.settle(guardLife * time.Millisecond)
		w.expectCode("after a long time", w.sendGuarded(p, batchOfTransaction(0, 1), g, 0), kerr.InvalidTxnState)
		g, _ = p.Guard(8, 0)
		w.mark(p, 8, 0)
		w.settle(guardLife / 2 * time.Millisecond)
		w.mark(p, 9, 0)
		w.expectCode("after the marker and some time", w.sendGuarded(p, batchOfTransaction(0, 1), g, 0), kerr.InvalidTxnState)
	})
}

// TestGuardsAreOfOnePartition: another one's says nothing.
func TestGuardsAreOfOnePartition(t *testing.T) {
	inModes(t, func(w *world, p *Partition) {
		g, _ := w.create("other", 1).Partition(0).Guard(8, 0)
		w.expectCode("with another's guard", w.sendGuarded(p, batchOfTransaction(0, 0), g, 0), kerr.InvalidTxnState)
	})
}

// TestTheFirstBatchOfAnEpochIsNumberZero where every transaction has one of its own; else any sequence is the first of a producer
// that is not known (R-K27).
func TestTheFirstBatchOfAnEpochIsNumberZero(t *testing.T) {
	inModes(t, func(w *world, p *Partition) {
		send := func(sequence int32, anew bool) int16 {
			w.t.Helper()
			f := &waitFor{}
			guard, _ := p.Guard(8, 1)
			f.Records, f.Done, f.Guard, f.Anew = batchOfTransaction(1, sequence), f, guard, anew
			p.Append(&f.Append)
			synctest.Wait()
			return f.Result.Code
		}
		w.expectCode("the second", send(1, true), kerr.OutOfOrderSequenceNumber)
		w.expectCode("the first", send(0, true), nil)
		w.expectCode("the second behind it", send(1, true), nil)
		p = w.create("u", 1).Partition(0)
		w.expectCode("any of an older client", send(5, false), nil)
	})
}
