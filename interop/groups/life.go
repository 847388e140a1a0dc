// Package groups has the consumer groups of real clients live through what
// groups live through: members come, go, and are killed, the broker starts
// again, everything stops and starts. An observer proves that every record was
// handled, that no partition ever had two owners, and that whoever got a
// partition began where the group had left it.
package groups

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/target"
)

const (
	topic       = "orders"
	group       = "app"
	partitions  = 6
	session     = 8 * time.Second // how long a killed member is waited for
	longSession = 5 * time.Minute // static members are away for less
	heartbeat   = 500 * time.Millisecond
	patience    = member.Patience
)

// life is one group on a broker of its own, from its first member to its end.
type life struct {
	t        *testing.T
	broker   target.Target
	dir      string
	seen     *member.Observer
	members  map[string]*member.Process
	assignor string
	static   bool
	client   *kgo.Client
	admin    *kadm.Client
	offsets  sync.Mutex // one question about offsets at a time
	quit     chan struct{}
	running  sync.WaitGroup
	ends     map[int32]int64 // known once producing has ended
}

func newLife(t *testing.T, assignor string, static bool) *life {
	t.Helper()
	l := &life{t: t, dir: t.TempDir(), seen: member.NewObserver(), members: map[string]*member.Process{}, assignor: assignor, static: static, quit: make(chan struct{})}
	l.broker = target.Start(t, map[string]string{"group.initial.rebalance.delay.ms": "300", "offsets.topic.num.partitions": "4"})
	if err := admin.CreateTopics(t.Context(), l.broker.Addr, partitions, nil, topic); err != nil {
		t.Fatal(err)
	}
	var err error
	l.client, err = kgo.NewClient(kgo.SeedBrokers(l.broker.Addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()), // not every client has codecs
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	l.admin = kadm.NewClient(l.client)
	l.running.Go(l.produce)
	l.running.Go(l.watchOffsets)
	t.Cleanup(l.end)
	return l
}

// produce sends to every partition, little at a time, until it is told to quit;
// then it knows the ends.
func (l *life) produce() {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	ends := map[int32]int64{}
	var mu sync.Mutex
	for n := 0; ; n++ {
		select {
		case <-l.quit:
			if err := l.client.Flush(context.WithoutCancel(l.t.Context())); err != nil {
				l.seen.Fail("producing: %v", err)
			}
			mu.Lock()
			l.ends = ends
			mu.Unlock()
			return
		case <-tick.C:
		}
		for p := range int32(partitions) {
			record := &kgo.Record{Partition: p, Value: strconv.AppendInt(nil, int64(n), 10)}
			l.client.Produce(context.WithoutCancel(l.t.Context()), record, func(r *kgo.Record, err error) {
				if err != nil {
					l.seen.Fail("producing: %v", err)
					return
				}
				mu.Lock()
				ends[r.Partition] = max(ends[r.Partition], r.Offset+1)
				mu.Unlock()
			})
		}
	}
}

// watchOffsets asks the broker again and again where the group is.
func (l *life) watchOffsets() {
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.t.Context()), 5*time.Second)
		_, _ = l.lookAtOffsets(ctx) // the broker may just be starting again
		cancel()
	}
}

// lookAtOffsets puts down what the group has committed, and returns it.
func (l *life) lookAtOffsets(ctx context.Context) (map[int32]int64, error) {
	l.offsets.Lock()
	defer l.offsets.Unlock()
	answer, err := l.admin.FetchOffsets(ctx, group)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	stamp := member.Now()
	answer.Each(func(o kadm.OffsetResponse) {
		offsets[o.Partition] = o.At
		l.seen.Add(member.Event{At: stamp, Kind: member.Committed, Partitions: []int32{o.Partition}, First: o.At})
	})
	return offsets, nil
}

// end stops what still runs.
func (l *life) end() {
	for _, m := range l.members {
		m.Kill()
	}
	l.quitProducing()
	l.client.Close()
	if l.t.Failed() {
		l.t.Logf("what happened:\n%s", member.Tell(l.seen.All()))
		for _, name := range slices.Sorted(maps.Keys(l.members)) {
			if said := strings.TrimSpace(l.members[name].Said()); said != "" {
				l.t.Logf("%s said:\n%s", name, said)
			}
		}
	}
}

func (l *life) quitProducing() {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.running.Wait()
}

// start starts a member; of a static one the name is its instance id too.
func (l *life) start(c member.Client, name string) { l.startAs(c, name, name) }

// startAs starts a member under a name of its own and the instance id of
// another, which a static one takes over.
func (l *life) startAs(c member.Client, name, instance string) {
	l.t.Helper()
	timeout := longSession
	if !l.static {
		instance, timeout = "", session
	}
	m, err := c.Start(l.t.Context(), l.seen, l.dir, member.Arguments{Addr: l.broker.Addr, Group: group, Topic: topic, Name: name, Assignors: l.assignor,
		Instance: instance, Session: timeout, Heartbeat: heartbeat})
	if err != nil {
		l.t.Fatal(err)
	}
	l.members[name] = m
}

// await waits until exactly these members share all partitions, and something
// that came after that is handled in each.
func (l *life) await(what string, members ...string) {
	l.t.Helper()
	l.must(l.seen.Await(l.t.Context(), fmt.Sprintf("%s: %v share the topic", what, members), func() bool { return l.seen.Shared(partitions, members...) }))
	l.progress(what)
}

// progress waits until each partition goes on.
func (l *life) progress(what string) {
	l.t.Helper()
	more := map[int32]int64{}
	next := l.seen.HandledTo()
	for p := range int32(partitions) {
		more[p] = next[p] + 1
	}
	l.must(l.seen.Await(l.t.Context(), what+": every partition goes on", func() bool { return l.seen.Beyond(more) }))
}

// leave stops a member; what it has handled is committed then.
func (l *life) leave(name string) {
	l.t.Helper()
	asked := member.Now()
	l.must(l.members[name].Stop(l.t.Context()))
	offsets, err := l.lookAtOffsets(l.t.Context())
	l.must(err)
	for p, next := range l.seen.LastRead(name, asked) {
		if offsets[p] < next {
			l.t.Errorf("%s left, and had handled partition %d up to %d; the group's offset is %d", name, p, next, offsets[p])
		}
	}
}

func (l *life) kill(name string) { l.members[name].Kill() }

// restart starts the broker again under the group.
func (l *life) restart() {
	l.t.Helper()
	if l.broker.Restart == nil {
		l.t.Logf("%s is not started again", l.broker.Name)
		return
	}
	l.seen.Add(member.Event{At: member.Now(), Kind: member.Down})
	l.must(l.broker.Restart())
	l.seen.Add(member.Event{At: member.Now(), Kind: member.Up})
	l.progress("the broker is there again")
}

// commitsAnew waits until the group has committed what was written since the broker's
// last start, and so has offsets of its leader epoch.
func (l *life) commitsAnew() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	written, err := l.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = written.Error()
	}
	l.must(err)
	for {
		offsets, err := l.lookAtOffsets(ctx)
		l.must(err)
		behind := false
		written.Each(func(end kadm.ListedOffset) { behind = behind || offsets[end.Partition] <= end.Offset })
		if !behind {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// stopAll stops every member at once; all that anybody has handled is committed
// then, but by who was in the middle of a round, and no more.
func (l *life) stopAll(names ...string) {
	l.t.Helper()
	var stops sync.WaitGroup
	failed := make([]error, len(names))
	for i, name := range names {
		stops.Go(func() { failed[i] = l.members[name].Stop(l.t.Context()) })
	}
	stops.Wait()
	for _, err := range failed {
		l.must(err)
	}
	offsets, err := l.lookAtOffsets(l.t.Context())
	l.must(err)
	left := abandoned(l.seen.All())
	for p, next := range l.seen.HandledTo() {
		if offsets[p] > next || offsets[p] < next && !left[p] {
			l.t.Errorf("all have stopped, partition %d is handled up to %d, and the group's offset is %d", p, next, offsets[p])
		}
	}
}

// finish has the rest handled, stops, and judges the whole of it.
func (l *life) finish(names ...string) (records int64) {
	l.t.Helper()
	l.quitProducing()
	l.must(l.seen.Await(l.t.Context(), "all is handled", func() bool { return l.seen.Beyond(l.ends) }))
	l.stopAll(names...)
	for _, wrong := range check(l.seen.All(), l.ends) {
		l.t.Error(wrong)
	}
	for _, end := range l.ends {
		records += end
	}
	return records
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}
