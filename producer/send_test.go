//go:build synctests

package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTheZeroValueIsIdempotent(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{})
		defer closes(w.t, p)
		var acks int16
		var id int64
		w.meddles(func(r kmsg.Request) bool {
			if r, is := r.(*kmsg.ProduceRequest); is {
				acks = r.Acks
			}
			return true
		}, func(r kmsg.Response) bool {
			if r, is := r.(*kmsg.InitProducerIDResponse); is {
				id = r.ProducerID + 1
			}
			return true
		})
		r := &Record{Topic: "out", Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}}
		ok(w.t, p.SendSync(background, r))
		if acks != -1 || id == 0 || r.Offset != 0 || r.Partition != 0 {
			w.t.Errorf("acks %d, producer id %d, written to %d-%d", acks, id-1, r.Partition, r.Offset)
		}
		w.has("out", "v")
	})
}

// FR-H31, FR-H32: connections end all the time, inside a bubble. Records of a partition keep their order, and none is there twice.
func TestOrderAndOnceOverBrokenConnections(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{Linger: -1})
		defer closes(w.t, p)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					w.cut()
					w.mend()
				}
			}
		}()
		var want []string
		for i := range 2000 {
			want = append(want, strconv.Itoa(i))
			p.Send(background, record("out", want[i]), func(_ *Record, err error) {
				if err != nil {
					w.t.Error(err)
				}
			})
			if i%10 == 0 {
				time.Sleep(5 * time.Millisecond)
			}
		}
		ok(w.t, p.Flush(background))
		close(stop)
		<-done
		if got := w.reads("out"); !slices.Equal(got, want) {
			w.t.Errorf("%d records, in order: %v", len(got), slices.IsSorted(got))
		}
	})
}

// FR-H10: an error of one partition makes no other partition's batch be written twice, though its answer was lost.
func TestAnErrorOfOnePartitionRepeatsNothingOfAnother(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 13)
		p := w.producer(Config{Partitioner: Manual(), Linger: -1})
		defer closes(w.t, p)
		send := func(partition int32, value string) {
			p.Send(background, &Record{Topic: "out", Partition: partition, Value: []byte(value)}, func(_ *Record, err error) {
				if err != nil {
					w.t.Error(err)
				}
			})
		}
		for i := range int32(13) {
			send(i, fmt.Sprint(i))
		}
		ok(w.t, p.Flush(background))
		var refused, lost atomic.Bool
		w.meddles(nil, func(r kmsg.Response) bool {
			resp, is := r.(*kmsg.ProduceResponse)
			if !is {
				return true
			}
			for i := range resp.Topics[0].Partitions {
				part := &resp.Topics[0].Partitions[i]
				switch {
				case part.Partition == 5 && refused.CompareAndSwap(false, true):
					part.ErrorCode = kerr.OutOfOrderSequenceNumber.Code
				case part.Partition == 12 && lost.CompareAndSwap(false, true):
					return false
				}
			}
			return true
		})
		send(12, "again 12")
		send(5, "again 5")
		ok(w.t, p.Flush(background))
		w.meddles(nil, nil)
		seen := map[string]int{}
		for _, v := range w.reads("out") {
			seen[v]++
		}
		if seen["again 12"] != 1 {
			w.t.Errorf("of partition 12 there are %d", seen["again 12"])
		}
	})
}

// Memory is bounded: who sends waits for room, and no longer than its context; what was taken is written all the same.
func TestBackPressure(t *testing.T) {
	for name, cfg := range map[string]Config{
		"records": {MaxBufferedRecords: 10, Linger: time.Minute},
		"bytes":   {MaxBufferedBytes: 10 * 7, Linger: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(w *world) {
				w.topic("out", 1)
				p := w.producer(cfg)
				defer closes(w.t, p)
				w.cut()
				for i := range 10 {
					p.Send(within(time.Second), record("out", fmt.Sprintf("value %d", i)), func(_ *Record, err error) {
						if err != nil {
							w.t.Error(err)
						}
					})
				}
				began := time.Now()
				var got error
				p.Send(within(3*time.Second), record("out", "no room"), func(_ *Record, err error) { got = err })
				if took := time.Since(began); took != 3*time.Second {
					w.t.Errorf("it waited for %v", took)
				}
				is(w.t, got, Retriable, context.DeadlineExceeded)
				w.mend()
				ok(w.t, p.SendSync(background, record("out", "there is")))
				if got := len(w.reads("out")); got != 11 {
					w.t.Errorf("%d records", got)
				}
				is(w.t, p.SendSync(background, &Record{Topic: "out", Value: make([]byte, 40<<20)}), Illegal, kerr.MessageTooLarge)
			})
		})
	}
}

// With no room left what lingers is sent at once.
func TestAFullBufferDoesNotLinger(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{MaxBufferedRecords: 5, Linger: time.Minute})
		defer closes(w.t, p)
		began := time.Now()
		for i := range 50 {
			p.Send(background, record("out", strconv.Itoa(i)), nil)
		}
		ok(w.t, p.Flush(background))
		if took := time.Since(began); took > time.Minute {
			w.t.Errorf("it took %v", took)
		}
		if got := len(w.reads("out")); got != 50 {
			w.t.Errorf("%d records", got)
		}
	})
}

func TestLingerMakesBatches(t *testing.T) {
	for linger, few := range map[time.Duration]bool{50 * time.Millisecond: true, -1: false} {
		inBubble(t, nil, func(w *world) {
			w.topic("out", 1)
			p := w.producer(Config{Linger: linger})
			defer closes(w.t, p)
			sends(w.t, p, "out", "warm")
			before := w.count(kmsg.Produce)
			for range 20 {
				p.Send(background, record("out", "x"), nil)
				pass(time.Millisecond)
			}
			ok(w.t, p.Flush(background))
			if requests := w.count(kmsg.Produce) - before; (requests <= 2) != few {
				w.t.Errorf("with a linger of %v there were %d requests", linger, requests)
			}
		})
	}
}

// A record that nobody has confirmed within the delivery timeout fails, whether it was sent or not.
func TestDeliveryTimeout(t *testing.T) {
	for name, breaks := range map[string]func(*world){
		"no broker": (*world).cut,
		"no answers": func(w *world) {
			w.meddles(nil, func(r kmsg.Response) bool { return r.Key() != int16(kmsg.Produce) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(w *world) {
				w.topic("out", 1)
				p := w.producer(Config{DeliveryTimeout: 20 * time.Second})
				defer closes(w.t, p)
				sends(w.t, p, "out", "warm")
				breaks(w)
				began := time.Now()
				err := p.SendSync(background, record("out", "x"))
				is(w.t, err, Retriable)
				if took := time.Since(began); took < 20*time.Second || took > 60*time.Second {
					w.t.Errorf("it took %v", took)
				}
				w.mend()
				w.meddles(nil, nil)
				ok(w.t, p.SendSync(background, record("out", "y")))
			})
		})
	}
}

// Close always returns, also in the middle of everything, and every callback is called.
func TestCloseReturns(t *testing.T) {
	for name, cfg := range map[string]Config{"plain": {}, "transactional": {TransactionalID: "id"}} {
		for _, away := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " away=", away), func(t *testing.T) {
				inBubble(t, nil, func(w *world) {
					w.topic("out", 1)
					p := w.producer(cfg)
					if cfg.TransactionalID != "" {
						ok(w.t, p.Begin(background))
					}
					sends(w.t, p, "out", "x")
					if away {
						w.cut()
					}
					var told atomic.Int32
					for range 5 {
						p.Send(background, record("out", "y"), func(*Record, error) { told.Add(1) })
					}
					began := time.Now()
					err := p.Close(within(5 * time.Second))
					if took := time.Since(began); took > 7*time.Second {
						w.t.Errorf("it took %v", took)
					}
					if (err != nil) != away {
						w.t.Errorf("it says %v", err)
					}
					synctest.Wait()
					if told.Load() != 5 {
						w.t.Errorf("%d callbacks were called", told.Load())
					}
					is(w.t, p.SendSync(background, record("out", "z")), Fatal, ErrClosed)
					_ = p.Close(background)
				})
			})
		}
	}
}

// A Close ends calls that wait, and Sends that wait for room.
func TestCloseEndsWhatWaits(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{TransactionalID: "id", MaxBufferedRecords: 1})
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		w.cut()
		p.Send(background, record("out", "y"), nil)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if err := p.SendSync(background, record("out", "z")); err == nil {
				w.t.Error("it was written")
			}
		})
		waiting.Go(func() { is(w.t, p.Commit(background), Fatal, ErrClosed) })
		pass(time.Second)
		if err := p.Close(within(2 * time.Second)); err == nil {
			w.t.Error("nothing has gone wrong")
		}
		waiting.Wait()
	})
}

// A callback that never ends holds up no Close.
func TestACallbackThatDoesNotEnd(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{})
		wake := make(chan struct{})
		p.Send(background, record("out", "x"), func(*Record, error) { <-wake })
		pass(time.Second)
		if err := p.Close(within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			w.t.Errorf("it says %v", err)
		}
		close(wake)
		<-p.closed
	})
}
