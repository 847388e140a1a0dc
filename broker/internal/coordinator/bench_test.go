package coordinator

import (
	"sync"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// yes answers every input at once; with records, it decides one of the size of an offset commit.
type yes struct {
	records bool
	record  machine.Record
	replies [1]machine.Reply
}

func (y *yes) Step(_ time.Time, caller machine.Token, _ any) machine.Output {
	y.replies[0] = machine.Reply{To: caller}
	o := machine.Output{Replies: y.replies[:]}
	if y.records {
		o.Records = []machine.Record{y.record}
	}
	return o
}

func (y *yes) Tick(time.Time) machine.Output   { return machine.Output{} }
func (y *yes) Apply(machine.Record)            {}
func (y *yes) Loaded(time.Time) machine.Output { return machine.Output{} }

// BenchmarkDo is one call and its answer, on 50 shards, with many callers at a time.
func BenchmarkDo(b *testing.B) {
	for _, c := range []struct {
		name    string
		records bool
	}{{"heartbeat", false}, {"commit", true}} {
		b.Run(c.name, func(b *testing.B) {
			d := newDisk()
			d.quick = true
			record := machine.Record{Key: make([]byte, 40), Value: make([]byte, 30)}
			co := Open(Config{Shards: 50, Open: d.open, Machine: func(int32) machine.Machine { return &yes{records: c.records, record: record} }})
			defer func() { _ = co.Shutdown(b.Context()) }()
			b.ReportAllocs()
			const callers = 200
			slots := make(chan struct{}, callers)
			var all sync.WaitGroup
			done := func(any, error) {
				<-slots
				all.Done()
			}
			for i := range b.N {
				slots <- struct{}{}
				all.Add(1)
				co.Do(int32(i%50), nil, done)
			}
			all.Wait()
		})
	}
}
