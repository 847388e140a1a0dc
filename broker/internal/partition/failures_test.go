package partition

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// TestNothingIsLostOrDoubledWhileWritesFail: producers with several batches in flight retry what fails, while the disk is
// full now and then. In the end each batch is there once and in order.
func TestNothingIsLostOrDoubledWhileWritesFail(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			faults := vfs.NewFaults(vfs.NewMemory())
			w := newWorld(t, faults).start()
			p := w.create("t", 1, "segment.bytes", "1048576").Partition(0)
			done := make(chan struct{})
			go func() {
				defer close(done)
				rng := rand.New(rand.NewPCG(seed, 1))
				for range 40 {
					name := []string{"*.wal", "*.log"}[rng.IntN(2)]
					heal := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: name, Err: syscall.ENOSPC, Skip: rng.IntN(3), Times: 1 + rng.IntN(3)})
					pause(context.Background(), time.Duration(1+rng.IntN(20))*time.Millisecond)
					heal()
					pause(context.Background(), time.Duration(rng.IntN(10))*time.Millisecond)
				}
			}()
			var producers sync.WaitGroup
			for id := range int64(4) {
				producers.Go(func() { produceWithRetries(t, p, id) })
			}
			producers.Wait()
			<-done
			w.settle(2 * time.Second) // the committer tries stuck segments again
			checkSequences(t, p)
			w.stop()
		})
	}
}

const (
	batchesEach = 60
	inFlight    = 3
)

// produceWithRetries sends a producer's batches, a few at a time, and sends those that fail again, in order.
func produceWithRetries(t *testing.T, p *Partition, id int64) {
	for next := 0; next < batchesEach; next += inFlight {
		for from := next; from < next+inFlight; {
			results := make(chan Result, inFlight)
			order := map[int]*promise{}
			for i := from; i < next+inFlight; i++ {
				order[i] = &promise{results: results}
				order[i].Done = order[i]
				order[i].Records = fromSized(id, int32(i))
				p.Append(&order[i].Append)
			}
			for i := from; i < next+inFlight; i++ {
				<-results
			}
			for ; from < next+inFlight && order[from].Result.Code == 0; from++ {
			}
			for i := from; i < next+inFlight; i++ {
				switch code := order[i].Result.Code; code {
				case kerr.KafkaStorageError.Code, kerr.OutOfOrderSequenceNumber.Code: // behind one that failed
				default:
					t.Errorf("producer %d, batch %d: code %d", id, i, code)
					return
				}
			}
			pause(context.Background(), time.Millisecond)
		}
	}
}

// fromSized is a batch of a producer, now and then one that is large enough for the direct road.
func fromSized(id int64, sequence int32) []byte {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, 0, sequence
	size := 10
	if sequence%17 == 5 {
		size = 300 << 10
	}
	return b.Append(time.Now().UnixMilli(), nil, make([]byte, size)).Bytes()
}

type promise struct {
	results chan Result
	Append
}

func (f *promise) Appended(a *Append) { f.results <- a.Result }

func checkSequences(t *testing.T, p *Partition) {
	t.Helper()
	next, offset := map[int64]int32{}, int64(0)
	for offset < p.HighWatermark() {
		r := p.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, MinOne: true, LeaderEpoch: -1, LastFetchedEpoch: -1})
		b := make([]byte, r.Records.Len)
		if _, err := r.Records.ReadAt(b, 0); err != nil || r.Code != 0 {
			t.Fatalf("reading at %d: %v, code %d", offset, err, r.Code)
		}
		for got := range record.Batches(b) {
			h := got.Header()
			if h.BaseOffset != offset || h.BaseSequence != next[h.ProducerID] {
				t.Fatalf("offset %d: producer %d has sequence %d, want %d", h.BaseOffset, h.ProducerID, h.BaseSequence, next[h.ProducerID])
			}
			next[h.ProducerID]++
			offset = h.LastOffset() + 1
		}
		r.Records.Release()
	}
	for id, n := range next {
		if n != batchesEach {
			t.Errorf("producer %d has %d batches in the log, want %d", id, n, batchesEach)
		}
	}
}
