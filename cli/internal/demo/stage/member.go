package stage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/ownership"
)

// member is a process of the group, as far as a process can be one of several in a process: it has connections of its own, which can
// be cut.
type member struct {
	play *Play
	slot int
	name string
	line line
	c    *consumer.Consumer
	end  context.CancelFunc // of polling
	done sync.WaitGroup

	mu   sync.Mutex
	gone bool // what it says is not heard any more
}

// How members are set up. Old and new ones do not differ in it.
const (
	beats       = 6 // heartbeats in a session
	commitEvery = time.Second
)

func (m *member) start(code story.Code) error {
	cluster := m.play.house.config()
	m.line.dial = cluster.Dialer()
	cluster.ClientID = m.name
	cluster.Options = append(slices.Clone(cluster.Options), kgo.Dialer(m.line.Dial), kgo.ClientID(m.name))
	cfg := consumer.Config{
		Cluster: cluster, Group: m.play.cfg.Name, Assignors: assignors(code), StaticProtocol: code == story.Old, StrictAssignors: code == story.Old,
		SessionTimeout: m.play.cfg.Session, HeartbeatInterval: m.play.cfg.Session / beats, AutoCommitInterval: commitEvery,
		Reset:    consumer.Earliest,
		Listener: consumer.Listener{Revoked: m.callback(ownership.Revoked), Assigned: m.callback(ownership.Assigned), Lost: m.callback(ownership.Lost)},
		Hooks:    consumer.Hooks{Event: m.event, Commit: m.committed},
	}
	c, err := consumer.New(cfg)
	if err != nil {
		return err
	}
	if err := c.Subscribe(m.play.cfg.Name); err != nil {
		return errors.Join(err, c.Close(context.Background()))
	}
	m.c = c
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	m.done.Go(func() { m.poll(ctx) })
	return nil
}

// assignors are what a member of that code offers; nil is the default of package consumer.
func assignors(code story.Code) []assign.Assignor {
	switch code {
	case story.Old:
		return []assign.Assignor{assign.Range{}}
	case story.Between:
		return []assign.Assignor{assign.Range{}, assign.CooperativeSticky{}}
	case story.New:
	}
	return nil
}

// poll is the life of the process: what it gets it is done with at once.
func (m *member) poll(ctx context.Context) {
	for ctx.Err() == nil {
		batch, err := m.c.Poll(ctx)
		for _, p := range batch.Partitions {
			first, last := p.Records[0].Offset, p.Records[len(p.Records)-1].Offset
			m.tell(story.Event{Event: ownership.Event{Kind: ownership.Handled, Partitions: []int32{p.Partition}, First: first, Last: last, Count: int64(len(p.Records))}})
		}
		if err != nil && ctx.Err() == nil {
			m.tell(story.Event{Event: ownership.Event{Kind: story.Failed}, Text: m.name + ": " + err.Error()})
			if fatal(err) {
				return
			}
		}
	}
}

// fatal says that no further poll will bring anything.
func fatal(err error) bool {
	_, refused := errors.AsType[*consumer.ProtocolError](err)
	_, fenced := errors.AsType[*consumer.JoinError](err)
	return refused || fenced || errors.Is(err, consumer.ErrClosed)
}

// tell says something about the member, unless it is gone.
func (m *member) tell(e story.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return
	}
	e.Member, e.Slot = m.name, m.slot
	m.play.tell(e)
}

func (m *member) callback(kind ownership.Kind) func(context.Context, consumer.Rebalance) error {
	return func(_ context.Context, r consumer.Rebalance) error {
		m.tell(story.Event{Event: ownership.Event{Kind: kind, Partitions: ids(r.Partitions), Generation: r.Generation}})
		return nil
	}
}

func ids(list []consumer.TopicPartition) []int32 {
	numbers := make([]int32, len(list))
	for i, p := range list {
		numbers[i] = p.Partition
	}
	slices.Sort(numbers)
	return numbers
}

func (m *member) committed(offsets consumer.Offsets, err error) {
	if err != nil {
		m.tell(story.Event{Event: ownership.Event{Kind: ownership.Refused, Partitions: ids(slices.Collect(maps.Keys(offsets)))}, Text: cause(err)})
		return
	}
	for p, o := range offsets {
		m.tell(story.Event{Event: ownership.Event{Kind: ownership.Committed, Partitions: []int32{p.Partition}, First: o.At}})
	}
}

// cause is the broker's error in short, where it was one.
func cause(err error) string {
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

func (m *member) event(e consumer.Event) {
	kind := kindOf(e.Kind)
	if kind == "" {
		return
	}
	m.tell(story.Event{
		Event:       ownership.Event{Kind: kind, Generation: e.Generation, Assignor: e.Assignor, Leader: e.Leader},
		Cooperative: e.Cooperative, Text: e.Reason,
	})
}

// kindOf is an event of a rebalance that people see; "" is one that they do not.
func kindOf(kind consumer.EventKind) ownership.Kind {
	switch kind {
	case consumer.Rejoining:
		return story.Rejoining
	case consumer.Joined:
		return ownership.Joined
	case consumer.Completed:
		return story.Completed
	case consumer.Switched:
		return story.Switched
	case consumer.Yielded:
		return story.Yielded
	default:
		return ""
	}
}

// stop ends it as it should end.
func (m *member) stop() {
	m.end()
	m.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if err := m.c.Close(ctx); err != nil {
		m.tell(story.Event{Event: ownership.Event{Kind: story.Failed}, Text: m.name + " does not close: " + err.Error()})
	}
	m.leave(story.Stopped)
}

// kill has nothing go out any more, and nothing be heard. What was handled up to here is heard before: it may be committed already.
func (m *member) kill() {
	m.line.cut()
	m.leave(story.Killed)
}

func (m *member) leave(how ownership.Kind) {
	m.tell(story.Event{Event: ownership.Event{Kind: how}})
	m.tell(story.Event{Event: ownership.Event{Kind: ownership.Ended}})
	m.mu.Lock()
	m.gone = true
	m.mu.Unlock()
}

// reap waits for what is left of a process that was killed.
func (m *member) reap() {
	m.end()
	m.done.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = m.c.Close(ctx) // it cannot reach anybody
}
