package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// crowd is many clients of one broker at once. Each stops when the broker is gone.
type crowd struct {
	t     *testing.T
	b     *Broker
	group sync.WaitGroup
	acks  atomic.Int32
	want  int32         // so many acknowledgements are enough
	full  chan struct{} // closed when they are there

	mu    sync.Mutex
	acked map[string][]entry // by topic-partition
}

// client runs something with a connection of its own until it fails or is done.
func (c *crowd) client(seed uint64, do func(w *wire, dice *rand.Rand, n int) error, times int) {
	c.group.Go(func() {
		w, err := dial(c.b)
		if err != nil {
			return
		}
		defer w.close()
		dice := rand.New(rand.NewPCG(seed, 8))
		for n := range times {
			if err := do(w, dice, n); err != nil {
				return // the broker is gone, and has said so by closing the connection
			}
		}
	})
}

// produce sends a few batches and then reads the answers.
func (c *crowd) produce(topic string, partitions int) func(w *wire, dice *rand.Rand, n int) error {
	return func(w *wire, dice *rand.Rand, _ int) error {
		var sent []*toProduce
		for range 1 + dice.IntN(4) {
			b := keyedBatch(dice, -1, 0, 1+dice.IntN(60))
			sent = append(sent, &toProduce{topic: topic, index: int32(dice.IntN(partitions)), batch: b})
			if err := w.send(produceRequest(sent[len(sent)-1])); err != nil {
				return err
			}
		}
		for _, p := range sent {
			resp, err := w.receive()
			if err != nil {
				return err
			}
			if err := p.take(resp.(*kmsg.ProduceResponse)); err != nil {
				c.t.Error(err)
				return err
			}
			if p.code == 0 {
				c.note(p)
			}
		}
		return nil
	}
}

func (c *crowd) note(p *toProduce) {
	c.mu.Lock()
	key := fmt.Sprintf("%s-%d", p.topic, p.index)
	c.acked[key] = append(c.acked[key], entry{p.base, p.batch})
	c.mu.Unlock()
	if c.acks.Add(1) == c.want {
		close(c.full)
	}
}

// churn makes a topic, writes to it and deletes it.
func (c *crowd) churn(name string) func(w *wire, dice *rand.Rand, n int) error {
	return func(w *wire, dice *rand.Rand, _ int) error {
		if err := w.createTopic(name, 2); err != nil {
			return err
		}
		to := &toProduce{topic: name, index: 1, batch: keyedBatch(dice, -1, 0, 3)}
		if _, err := ask[*kmsg.ProduceResponse](w, produceRequest(to)); err != nil {
			return err
		}
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		_, err := ask[*kmsg.DeleteTopicsResponse](w, req)
		return err
	}
}

func (w *wire) createTopic(name string, partitions int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, t)
	_, err := ask[*kmsg.CreateTopicsResponse](w, req) // the answer may be that it is there
	return err
}

// alter changes how a topic is kept: its mode, and its segments.
func (c *crowd) alter(topic string) func(w *wire, dice *rand.Rand, n int) error {
	return func(w *wire, dice *rand.Rand, n int) error {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		for key, value := range map[string]string{
			"skein.durability": []string{"always", "interval", "os"}[n%3], "segment.ms": fmt.Sprint(1 + dice.IntN(50)),
		} {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Value = key, kmsg.StringPtr(value)
			r.Configs = append(r.Configs, c)
		}
		req.Resources = append(req.Resources, r)
		_, err := ask[*kmsg.IncrementalAlterConfigsResponse](w, req)
		return err
	}
}

// follow reads a partition from its beginning: what it sees must follow each other.
func (c *crowd) follow(topic string, index int32) func(w *wire, dice *rand.Rand, n int) error {
	next := int64(0)
	return func(w *wire, _ *rand.Rand, _ int) error {
		f, err := w.fetch(topic, index, next)
		if err != nil {
			return err
		}
		for b, err := range record.Batches(f.records) {
			h := b.Header()
			if err != nil || b.Verify() != nil || h.BaseOffset != next || h.LastOffset() >= f.highWatermark {
				c.t.Errorf("%s-%d: a batch of offsets %d to %d, where %d is next and the high watermark %d: %v", topic, index, h.BaseOffset, h.LastOffset(), next, f.highWatermark, err)
				return fmt.Errorf("batches do not follow each other")
			}
			next = h.LastOffset() + 1
		}
		return nil
	}
}

// TestManyClientsAndAShutdownAtAnyMoment: what was acknowledged before the end is there afterwards, once, however many
// others produced, read, altered and deleted at the same time; also when the power goes at the moment of the end.
func TestManyClientsAndAShutdownAtAnyMoment(t *testing.T) {
	for round := range uint64(4) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			disk := vfs.NewMemory()
			settings := crashSettings(round)
			b, err := Open(t.Context(), Config{Dir: dataDir, Settings: settings, files: disk})
			if err != nil {
				t.Fatal(err)
			}
			c := &crowd{t: t, b: b, want: int32(40 + 130*round), full: make(chan struct{}), acked: map[string][]entry{}}
			c.enter(round)
			<-c.full
			c.mu.Lock()
			durable := slices.Clone(c.acked["calm-0"]) // acknowledged, so on the disk
			cut := disk.CrashClone(round)
			c.mu.Unlock()
			ctx, cancel := context.WithCancel(t.Context())
			if round%2 == 1 {
				cancel() // it has no time at all
			}
			if err := b.Shutdown(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			cancel()
			c.group.Wait()
			reopened(t, cut, settings, map[string][]entry{"calm-0": durable})
			reopened(t, disk, settings, c.acked)
		})
	}
}

// enter lets the clients in.
func (c *crowd) enter(round uint64) {
	w, err := dial(c.b)
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.close()
	for _, topic := range []string{"calm", "altered"} {
		if err := w.createTopic(topic, 2); err != nil {
			c.t.Fatal(err)
		}
	}
	const many = 1000
	for i := range uint64(4) {
		c.client(round*100+i, c.produce("calm", 2), many)
		c.client(round*100+50+i, c.produce("altered", 2), many)
	}
	for i := range int32(2) {
		c.client(uint64(i), c.follow("calm", i), many)
		c.client(uint64(i), c.follow("altered", i), many)
		c.client(uint64(i), c.churn(fmt.Sprintf("churned%d", i)), many)
	}
	c.client(9, c.alter("altered"), many)
}

// reopened opens a broker on the disk and looks for what was acknowledged.
func reopened(t *testing.T, disk *vfs.Memory, settings map[string]string, acked map[string][]entry) {
	t.Helper()
	b, err := Open(t.Context(), Config{Dir: dataDir, Settings: settings, files: disk})
	if err != nil {
		t.Fatal(err)
	}
	s := &survivor{t: t, crash: &crash{where: "reopened"}, b: b}
	defer s.stop()
	if s.wire, err = dial(b); err != nil {
		t.Fatal(err)
	}
	for key, entries := range acked {
		var index int32
		topic := key[:len(key)-2]
		if _, err := fmt.Sscanf(key[len(key)-1:], "%d", &index); err != nil {
			t.Fatal(err)
		}
		got, err := s.read(topic, index)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		at := map[uint32]int64{}
		for _, b := range got.batches {
			if was, twice := at[b.Header().CRC]; twice {
				t.Errorf("%s: the batch at %d is there again at %d", key, was, b.Header().BaseOffset)
			}
			at[b.Header().CRC] = b.Header().BaseOffset
		}
		for _, e := range entries {
			if base, found := at[e.header().CRC]; !found || base != e.base {
				t.Errorf("%s: %v is at %d (%v)", key, e, base, found)
			}
		}
	}
}
