//go:build synctests

package broker

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// promises are what consumers know: what they have handled, and which offsets the broker has acknowledged.
type promises struct {
	t *testing.T

	mu        sync.Mutex // guards what follows
	committed map[int32]int64
	handled   map[string]int
}

// handle takes records. One below an offset that was acknowledged has been handled, and its coming again is a fault.
func (p *promises) handle(fetches kgo.Fetches) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		if r.Offset < p.committed[r.Partition] {
			p.t.Errorf("%s at offset %d of partition %d comes again, and %d is committed", r.Value, r.Offset, r.Partition, p.committed[r.Partition])
		}
		p.handled[string(r.Value)]++
	})
}

// acknowledge notes what was committed.
func (p *promises) acknowledge(c *kgo.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, at := range c.CommittedOffsets()["t"] {
		p.committed[partition] = max(p.committed[partition], at.Offset)
	}
}

// consume handles and commits until the client is closed.
func (p *promises) consume(c *kgo.Client) {
	for {
		fetches := c.PollRecords(context.Background(), 20)
		if fetches.IsClientClosed() {
			return
		}
		p.handle(fetches)
		patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if err := c.CommitUncommittedOffsets(patience); err == nil {
			p.acknowledge(c)
		}
		cancel()
		c.AllowRebalance()
	}
}

// killAt has the broker killed at one of the next changes of its disk: nothing that it says from then on is heard. What it
// leaves is its disk, with or without the page cache of its machine.
func (h *house) killAt(after int, seed uint64) (left chan *vfs.Memory) {
	left = make(chan *vfs.Memory, 1)
	at, disk, line := h.faults.Mutations()+after, h.disk, h.line
	h.faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
		if n < at || line.cut.Swap(true) {
			return
		}
		if seed%2 == 0 {
			left <- disk.KillClone()
		} else {
			left <- disk.CrashClone(seed)
		}
	})
	return left
}

// reopen opens a broker on what the last one has left.
func (h *house) reopen(left *vfs.Memory) {
	h.t.Helper()
	h.faults.BeforeMutation(func(int, vfs.Op, string) {})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.b.Shutdown(ended) // what it still does changes nothing of what is left
	h.disk, h.faults = left, vfs.NewFaults(left)
	h.open()
}

// check compares what the broker says is committed with what it has acknowledged.
func (p *promises) check(h *house) {
	p.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	var got *kmsg.OffsetFetchResponse
	p.mu.Lock()
	want := maps.Clone(p.committed)
	p.mu.Unlock()
	err := retrying(func() (err error) {
		if got, err = ask[*kmsg.OffsetFetchResponse](h.wire(), req); err == nil {
			err = failed(got.Groups[0].ErrorCode)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, topic := range got.Groups[0].Topics {
		for _, at := range topic.Partitions {
			if at.Offset < want[at.Partition] {
				p.t.Errorf("partition %d is committed up to %d, and %d was acknowledged", at.Partition, at.Offset, want[at.Partition])
			}
			delete(want, at.Partition)
		}
	}
	if len(want) > 0 {
		p.t.Errorf("acknowledged and gone: %v", want)
	}
}

// A broker is killed under a group of franz-go consumers, again and again. Every record is handled, none twice whose offset
// was acknowledged, and the group goes on without anybody's help.
func TestFranzGoConsumersOutliveKills(t *testing.T) {
	for name, balancer := range map[string]func() kgo.GroupBalancer{"range": kgo.RangeBalancer, "cooperative-sticky": kgo.CooperativeStickyBalancer} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, map[string]string{"offsets.topic.num.partitions": "4"}, func(h *house) {
				h.shutdown()
				h.faults = vfs.NewFaults(h.disk)
				h.open()
				h.createTopic("t", 6)
				p := &promises{t: t, committed: map[int32]int64{}, handled: map[string]int{}}
				var consumers []*kgo.Client
				var running sync.WaitGroup
				comes := func() {
					c := h.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
						kgo.Balancers(balancer()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
					consumers = append(consumers, c)
					running.Go(func() { p.consume(c) })
				}
				for range 3 {
					comes()
				}
				const kills, n = 12, 300
				dice := rand.New(rand.NewPCG(1, 13))
				for seed := range uint64(kills) {
					left := h.killAt(1+dice.IntN(60), seed)
					produced := make(chan struct{})
					go func() {
						defer close(produced)
						h.produced(int(seed)*n, n)
					}()
					h.reopen(<-left)
					p.check(h)
					<-produced
					if seed%4 == 3 { // one goes, another comes
						consumers[0].CloseAllowingRebalance()
						consumers = consumers[1:]
						comes()
					}
					pass(time.Duration(seed%3) * 20 * time.Second)
				}
				pass(2 * time.Minute)
				for _, c := range consumers {
					c.CloseAllowingRebalance()
				}
				running.Wait()
				for i := range kills * n {
					if p.handled[fmt.Sprint("record ", i)] == 0 {
						t.Errorf("record %d was never handled", i)
					}
				}
				again := 0
				for _, times := range p.handled {
					again += times - 1
				}
				t.Logf("%d of %d records were handled again, none of them after its commit was acknowledged", again, kills*n)
			})
		})
	}
}
