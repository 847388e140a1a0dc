package api

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// fakeGroups stands for the coordinator: it answers what the test says, and keeps what it was asked.
type fakeGroups struct {
	// answer decides; without it err is the answer. A reply of waits is none.
	answer func(group string, in any) (reply any, err error)
	err    error

	mu      sync.Mutex
	asked   []input
	waiting []func(reply any, err error)
}

// waits is the reply of a machine that lets somebody wait.
type waits struct{}

func (g *fakeGroups) Prepare(done func(error)) { done(g.err) }

func (g *fakeGroups) Do(name string, in any, done func(reply any, err error)) {
	g.mu.Lock()
	g.asked = append(g.asked, input{name, in})
	g.mu.Unlock()
	reply, err := g.decide(name, in)
	if _, parked := reply.(waits); parked {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting = append(g.waiting, done)
		return
	}
	done(reply, err)
}

func (g *fakeGroups) decide(name string, in any) (any, error) {
	if g.answer == nil {
		return nil, g.err
	}
	return g.answer(name, in)
}

func (g *fakeGroups) All(in any, done func(replies []any, err error)) {
	reply, err := g.decide("", in)
	replies, _ := reply.([]any)
	done(replies, err)
}

// inputs are what the machines were asked since the last call.
func (g *fakeGroups) inputs() []input {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := g.asked
	g.asked = nil
	return asked
}

// parked takes those who wait.
func (g *fakeGroups) parked() []func(reply any, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting
	g.waiting = nil
	return waiting
}

// withGroups runs a test against a broker whose coordinator is g, with the topics a (4 partitions) and b (1).
func withGroups(t *testing.T, g *fakeGroups, test func(b *testBroker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, vfs.NewMemory(), nil, g)
		b.create(topic("a", 4, 1), topic("b", 1, 1))
		test(b)
	})
}

// idOf is the id of a topic; one that does not exist has an id that nobody has.
func (b *testBroker) idOf(topic string) [16]byte {
	if t := b.Catalog.Snapshot().Topic(topic); t != nil {
		return t.ID
	}
	return [16]byte{0xff, 1}
}

// commitOf commits offset 100 + partition.
func (b *testBroker) commitOf(topic string, partitions ...int32) kmsg.OffsetCommitRequestTopic {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, b.idOf(topic)
	for _, p := range partitions {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = p, 100+int64(p), pointer("m")
		t.Partitions = append(t.Partitions, rp)
	}
	return t
}

// committed answers a commit with code for every partition, as a machine does.
func committed(req *kmsg.OffsetCommitRequest, code int16) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
