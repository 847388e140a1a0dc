package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// Six faults that were seen in other brokers (P2.1 to P2.6), each as a test that would find it here.

// killed starts the broker again on what a kill leaves of its disk.
func (h *house) killed() {
	h.t.Helper()
	left := h.disk.KillClone()
	h.line.cut.Store(true)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.b.Shutdown(ended) // what it still does changes nothing of what is left
	synctest.Wait()
	h.disk = left
	h.open()
}

// TestWhatADeadProducerHasLeftIsNeverCommitted is P2.1: two brokers wrote no abort marker when a transactional id was initialised
// again, so that the next commit of the same producer id made visible what the dead producer had left.
func TestWhatADeadProducerHasLeftIsNeverCommitted(t *testing.T) {
	for name, old := range map[string]bool{"KIP-890": false, "before": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h *house) {
				h.createTopic("a", 2)
				at, beside := partitionName{"a", 0}, partitionName{"a", 1}
				dead := h.producer("id")
				dead.w.old = old
				h.must(retrying(dead.begin))
				h.must(dead.send(at, "left"))
				h.must(dead.send(beside, "left too"))
				next := h.producer("id")
				next.w.old = old
				h.must(next.begin())
				h.expectCommitted(at)
				h.must(next.send(at, "sent"))
				h.must(next.end(true))
				h.expectCommitted(at, "sent")
				h.expectCommitted(beside)
			})
		})
	}
}

// TestAZombieStaysOutAfterAKill is P2.2: a broker kept its transactional ids in memory, so that after a kill a producer that had
// been fenced was let in again, and what it wrote could be read.
func TestAZombieStaysOutAfterAKill(t *testing.T) {
	for name, old := range map[string]bool{"KIP-890": false, "before": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h *house) {
				h.createTopic("a", 1)
				at := partitionName{"a", 0}
				zombie := h.producer("id")
				zombie.w.old = old
				h.must(retrying(zombie.begin))
				successor := h.producer("id")
				successor.w.old = old
				h.must(successor.begin())
				h.killed()
				zombie.w, successor.w = h.wire(), h.wire()
				zombie.w.old, successor.w.old = old, old
				h.describeTxn("id") // once its coordinator has loaded
				if err := zombie.send(at, "zombie"); !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
					t.Errorf("the zombie writes: %v", err)
				}
				wantError(t, "the zombie, as if it had asked before", zombie.produceAs(10, at, 0), kerr.InvalidProducerEpoch)
				wantError(t, "the zombie commits", zombie.end(true), kerr.ProducerFenced)
				h.must(successor.send(at, "successor"))
				h.must(successor.end(true))
				h.expectCommitted(at, "successor")
			})
		})
	}
}

// TestAKillInsideATransactionHidesNothing is P2.3: a broker forgot with a kill which transactions were open, though every write
// had been synced, and wrote no marker: what others committed afterwards was never seen, since the last stable offset
// stood still.
func TestAKillInsideATransactionHidesNothing(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		h.begun("dead", 5*time.Second, "open", at)
		idle := h.begun("idle", 15*time.Minute, "idle", at)
		h.killed()
		other := h.producer("other")
		h.must(retrying(other.begin))
		h.must(other.send(at, "behind"))
		h.must(other.end(true))
		if _, open := h.committedValues(at); open != 2 {
			t.Errorf("%d transactions are open after the kill, want 2", open)
		}
		pass(6 * time.Second) // the dead producer's time is up
		idle.w = h.wire()
		h.must(idle.end(true))
		h.expectCommitted(at, "behind", "idle")
		again := h.producer("dead")
		h.must(again.begin())
		h.must(again.send(at, "again"))
		h.must(again.end(true))
		h.expectCommitted(at, "behind", "idle", "again")
	})
}

// TestAFlushThatFailsIsEverybodys is P2.4: of the producers that waited for one flush a broker told one that it had failed and
// another that it had succeeded, since the second had found nothing left to flush.
func TestAFlushThatFailsIsEverybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMemory()
		h := &house{t: t, disk: disk, faults: vfs.NewFaults(disk), settings: map[string]string{"connections.max.idle.ms": "-1"}}
		h.open()
		h.createTopic("a", 8)
		var wires []*wire
		for range 8 {
			wires = append(wires, h.wire())
		}
		h.faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: "*.wal", Times: 1, Err: syscall.EIO}) // a second try would "succeed"
		for i, w := range wires {
			b := record.NewBuilder(0).Append(time.Now().UnixMilli(), nil, []byte("v"))
			h.must(w.send(produceRequest(&toProduce{topic: "a", index: int32(i), batch: b.Bytes()})))
		}
		for i, w := range wires {
			resp, err := w.receive()
			if err == nil && resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode == 0 {
				t.Errorf("producer %d was told of a success", i)
			}
		}
		_ = h.b.Shutdown(t.Context())
	})
}

// TestATimeLeadsToItsRecord is P2.5: of two brokers one answered the look-up of a time with the record before, the other never
// with any.
func TestATimeLeadsToItsRecord(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		w, began := h.wire(), time.Now().UnixMilli()
		for batch := range int64(3) {
			b := record.NewBuilder(0)
			for n := range int64(3) {
				b.Append(began+30*batch+10*n, nil, []byte("v"))
			}
			resp, err := ask[*kmsg.ProduceResponse](w, produceRequest(&toProduce{topic: "a", batch: b.Bytes()}))
			h.must(err)
			h.must(failed(resp.Topics[0].Partitions[0].ErrorCode))
		}
		for offset := range int64(9) {
			for early := range int64(10) { // up to 9 ms before it, and exactly
				if got, err := w.offsetAt("a", began+10*offset-early); err != nil || got != offset {
					t.Errorf("the time of record %d, less %d ms, leads to %d, %v", offset, early, got, err)
				}
			}
		}
		if got, err := w.offsetAt("a", began+81); err != nil || got != -1 {
			t.Errorf("a time behind all leads to %d, %v", got, err)
		}
	})
}

// offsetAt looks up a time in the first partition of a topic.
func (w *wire) offsetAt(topic string, timestamp int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = timestamp, -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	resp, err := ask[*kmsg.ListOffsetsResponse](w, req)
	if err != nil {
		return 0, err
	}
	r := resp.Topics[0].Partitions[0]
	return r.Offset, failed(r.ErrorCode)
}

// TestAClientFromTheFutureIsToldWhatIsSpoken is P2.6: a broker read the body of an ApiVersions request before it looked at the
// version, and cut off newer clients whose body it could not read.
func TestAClientFromTheFutureIsToldWhatIsSpoken(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		for name, body := range map[string][]byte{"none": nil, "short": {0xff}, "unreadable": bytes.Repeat([]byte{0xff}, 64), "long": make([]byte, 5000)} {
			w := h.wire()
			frame := binary.BigEndian.AppendUint16(nil, uint16(kmsg.ApiVersions))
			frame = append(frame, 0x7f, 0xff)               // the version
			frame = append(frame, 0, 0, 0, 1, 0, 1, 'c', 0) // correlation id, client id, no tags
			frame = append(frame, body...)                  // whatever it holds then
			size := binary.BigEndian.AppendUint32(nil, uint32(len(frame)))
			_, err := w.conn.Write(append(size, frame...))
			h.must(err)
			a := <-w.answers
			h.must(a.err)
			resp := kmsg.NewPtrApiVersionsResponse()
			if err := resp.ReadFrom(a.body[4:]); err != nil || resp.ErrorCode != kerr.UnsupportedVersion.Code || len(resp.ApiKeys) == 0 {
				t.Errorf("%s: code %d, %d keys, %v", name, resp.ErrorCode, len(resp.ApiKeys), err)
			}
			w.next++
			if _, err := ask[*kmsg.MetadataResponse](w, kmsg.NewPtrMetadataRequest()); err != nil {
				t.Errorf("%s: the connection does not go on: %v", name, err)
			}
		}
	})
}
