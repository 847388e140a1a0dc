package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// built is a batch as a coordinator builds it.
func built(values ...string) []byte {
	b := record.NewBuilder(0)
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("key"), []byte(v))
	}
	return b.Bytes()
}

// ofTransaction is a batch of a coordinator in a transaction.
func ofTransaction(producer int64, epoch int16, values ...string) []byte {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.Transactional = producer, epoch, true
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("key"), []byte(v))
	}
	return b.Bytes()
}

func marker(kind record.Marker, producer int64, epoch int16) []byte {
	return record.ControlMarker(kind, producer, epoch, 0, time.Now().UnixMilli())
}

// sendAt is AppendAt.
func sendAt(p *Partition, b []byte, at int64) *waitFor {
	f := &waitFor{}
	f.Records, f.Done = b, f
	p.AppendAt(&f.Append, at)
	return f
}

func (w *world) appendedAt(p *Partition, b []byte, at int64, code int16) Result {
	w.t.Helper()
	f := sendAt(p, b, at)
	synctest.Wait()
	if f.count() != 1 || f.Result.Code != code {
		w.t.Fatalf("told %d times: code %d (%s), want %d", f.count(), f.Result.Code, f.Result.Message, code)
	}
	return f.Result
}

// values is the values of all committed records.
func (w *world) values(p *Partition) (values []string) {
	w.t.Helper()
	open := map[int64][]string{}
	end, err := p.Records(context.Background(), func(r Stored) error {
		producer := r.Batch.ProducerID
		switch {
		case r.Marker != nil:
			if !r.Marker.Abort {
				values = append(values, open[producer]...)
			}
			delete(open, producer)
		case r.Batch.Transactional():
			open[producer] = append(open[producer], string(r.Value))
		default:
			values = append(values, string(r.Value))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if end != p.HighWatermark() {
		w.t.Fatalf("read up to %d, the high watermark is %d", end, p.HighWatermark())
	}
	return values
}

func (w *world) expectValues(p *Partition, want ...string) {
	w.t.Helper()
	if got := w.values(p); !slices.Equal(got, want) {
		w.t.Errorf("%s has %v, want %v", p.name(), got, want)
	}
}

func TestCoordinatorsWriteWhereTheyExpectTheEnd(t *testing.T) {
	for _, mode := range []string{"always", "os"} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.start().create("topic", 1, "skein.durability", mode).Partition(0)
				w.appendedAt(p, built("a", "b"), 0, 0)
				w.appendedAt(p, built("late"), 1, kerr.OffsetOutOfRange.Code)
				w.appendedAt(p, built("early"), 3, kerr.OffsetOutOfRange.Code)
				if r := w.appendedAt(p, built("c"), 2, 0); r.BaseOffset != 2 {
					t.Errorf("it is at offset %d", r.BaseOffset)
				}
				w.appendedAt(p, built("d"), Anywhere, 0)
				w.expectValues(p, "a", "b", "c", "d")
				w.restart()
				w.expectValues(w.partition("topic"), "a", "b", "c", "d")
				w.stop()
			})
		})
	}
}

// What a coordinator has sent behind a failed append was decided on a state that has never been: it must not follow, even if
// it comes when the partition works again.
func TestNothingFollowsAFailedAppendOfACoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		p := w.create("topic", 1).Partition(0)
		w.appendedAt(p, built("a"), 0, 0)
		remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		w.appendedAt(p, built("lost"), 1, kerr.KafkaStorageError.Code)
		remove()
		w.appendedAt(p, built("behind"), 2, kerr.OffsetOutOfRange.Code)
		w.appendedAt(p, built("b"), 1, 0)
		w.expectValues(p, "a", "b")
		w.stop()
	})
}

// R: the coordinator's own appends are not bound by max.message.bytes.
func TestBatchesOfCoordinatorsMayBeLarge(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1, "max.message.bytes", "1000", "segment.bytes", "1048576").Partition(0)
		large := strings.Repeat("x", 3<<20)
		w.appendedAt(p, built(large), 0, 0)
		w.appendedAt(p, built("small"), 1, 0)
		w.expectValues(p, large, "small")
		w.stop()
	})
}

func TestCoordinatorsAreToldWhatAnAppendWouldBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		topic := w.create("topic", 1)
		p := topic.Partition(0)
		if err := p.Barred(); err != nil {
			t.Error(err)
		}
		w.settle(time.Second) // whoever looks at the disk has seen that it is empty
		faults.FakeSpace(&vfs.Space{Total: 1 << 40, Free: 1})
		w.appendedAt(p, built("a"), 0, 0) // makes somebody look
		w.settle(time.Second)
		if err := p.Barred(); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("on a full disk: %v", err)
		}
		w.appendedAt(p, built("b"), 1, kerr.KafkaStorageError.Code)
		w.deleteTopic(topic)
		if err := p.Barred(); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("of a deleted topic: %v", err)
		}
		w.appendedAt(p, built("c"), 1, kerr.UnknownTopicOrPartition.Code)
		if _, err := p.Records(context.Background(), nil); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("reading a deleted topic: %v", err)
		}
		w.stop()
	})
}

// Markers and batches of transactions are known to the table of producers as soon as they are under way.
func TestCoordinatorsWriteTransactions(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1).Partition(0)
		w.appendedAt(p, ofTransaction(7, 1, "committed"), 0, 0)
		if p.LastStableOffset() != 0 {
			t.Error("the last stable offset is", p.LastStableOffset())
		}
		w.expectValues(p)
		w.appendedAt(p, ofTransaction(7, 0, "fenced"), 1, kerr.InvalidProducerEpoch.Code)
		first, second := sendAt(p, ofTransaction(7, 1, "too"), 1), sendAt(p, marker(record.Commit, 7, 1), 2)
		third := sendAt(p, marker(record.Abort, 7, 0), 3) // while those are under way
		synctest.Wait()
		if first.Result.Code != 0 || second.Result.Code != 0 || third.Result.Code != kerr.InvalidProducerEpoch.Code {
			t.Errorf("codes %d, %d and %d", first.Result.Code, second.Result.Code, third.Result.Code)
		}
		if p.LastStableOffset() != 3 {
			t.Error("the last stable offset is", p.LastStableOffset())
		}
		w.expectValues(p, "committed", "too")
		w.appendedAt(p, ofTransaction(7, 1, "aborted"), 3, 0)
		w.appendedAt(p, marker(record.Abort, 7, 1), 4, 0)
		w.appendedAt(p, built("plain"), 5, 0)
		w.appendedAt(p, ofTransaction(8, 0, "open"), 6, 0)
		w.expectValues(p, "committed", "too", "plain")
		w.restart()
		w.expectValues(w.partition("topic"), "committed", "too", "plain")
		w.stop()
	})
}

func TestBytesThatAreNoBatchAreRefused(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1).Partition(0)
		w.appendedAt(p, []byte("no batch"), 0, kerr.UnknownServerError.Code)
		noMarker := record.NewBuilder(0)
		noMarker.Control = true
		w.appendedAt(p, noMarker.Append(0, []byte("k"), nil).Bytes(), 0, kerr.UnknownServerError.Code)
		w.stop()
	})
}

// Records are read over many segments and pieces, and what is longer than a piece is read whole.
func TestRecordsOfALongLog(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1, "segment.bytes", "1048576").Partition(0)
		var want []string
		for i := range 200 {
			v := fmt.Sprint(i, strings.Repeat("x", 20_000))
			if i == 77 {
				v = strings.Repeat("y", 3*piece)
			}
			want = append(want, v)
			w.appendedAt(p, built(v), int64(i), 0)
		}
		if p.Segments() < 4 {
			t.Fatal("too few segments:", p.Segments())
		}
		w.expectValues(p, want...)
		stop := errors.New("enough")
		read := 0
		_, err := p.Records(context.Background(), func(Stored) error {
			if read++; read == 3 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || read != 3 {
			t.Errorf("read %d records: %v", read, err)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Records(ended, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		w.stop()
	})
}

func TestRecordsThatAreDamagedAreNotYielded(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1).Partition(0)
		w.appendedAt(p, built("good"), 0, 0)
		w.appendedAt(p, built("bad bad bad"), 1, 0)
		f, err := w.fs.OpenFile(p.Dir() + "/00000000000000000000.log")
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		if _, err := f.WriteAt([]byte{'!'}, size-3); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if _, err := p.Records(context.Background(), func(Stored) error { return nil }); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("reading a damaged record: %v", err)
		}
		w.stop()
	})
}

// A marker that is under way has ended the transaction for what comes behind it.
func TestAMarkerUnderWayEndsTheTransaction(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1).Partition(0)
		client := func(sequence int32, transactional bool) []byte {
			b := record.NewBuilder(0)
			b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = 7, 1, sequence, transactional
			return b.Append(time.Now().UnixMilli(), []byte("key"), []byte("value")).Bytes()
		}
		guard, _ := p.Guard(7, 1)
		w.expectCode("the first", w.sendGuarded(p, client(0, true), guard, 0), nil)
		w.appended(p, client(1, false), kerr.InvalidTxnState.Code)
		end, next := sendAt(p, marker(record.Commit, 7, 1), Anywhere), send(p, client(1, false))
		synctest.Wait()
		if end.Result.Code != 0 || next.Result.Code != 0 {
			t.Errorf("codes %d and %d (%s)", end.Result.Code, next.Result.Code, next.Result.Message)
		}
		w.stop()
	})
}

// Markers in a topic whose records have the time of their append say so of theirs, as Kafka's do.
func TestMarkersInATopicWithAppendTime(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.start().create("topic", 1, "message.timestamp.type", "LogAppendTime").Partition(0)
		a, b := marker(record.Abort, 7, 1), marker(record.Commit, 7, 1)
		w.appendedAt(p, a, 0, 0)
		w.groupOf(Share{p, b, 1})
		synctest.Wait()
		for _, stored := range []record.Batch{a, b} {
			h := stored.Header()
			if !h.LogAppendTime() || !h.Control() || !h.Transactional() || h.MaxTimestamp != time.Now().UnixMilli() || stored.Verify() != nil {
				t.Errorf("%+v, %v", h, stored.Verify())
			}
		}
		w.restart()
		w.expectValues(w.partition("topic"))
		w.stop()
	})
}
