// Package upgrade moves groups of real clients from one client to another in
// rolling bounces, and from EAGER to COOPERATIVE and back with it, while records
// are produced, members and their leaders are killed and the broker starts again.
// What the members say and what the broker writes down is judged: no partition
// has two owners, no record is handled twice but after a death, none is lost, no
// committed offset goes back, and the group settles soon (R-C26).
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/internal/wire"
)

const (
	partitions = 12
	session    = 6 * time.Second // how long a killed member is waited for
	away       = 5 * time.Minute // how long a static one may be away
	heartbeat  = 300 * time.Millisecond
)

// world is a broker and what it writes about its groups.
type world struct {
	broker target.Target
	log    *offsetsLog
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	settings := map[string]string{
		"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000", "offsets.topic.num.partitions": "3",
	}
	if name == "kafka" { // which has the times of members of the new protocol
		for setting, d := range map[string]time.Duration{"session.timeout.ms": session, "heartbeat.interval.ms": heartbeat} {
			ms := strconv.FormatInt(d.Milliseconds(), 10)
			settings["group.consumer."+setting], settings["group.consumer.min."+setting] = ms, ms
		}
	}
	w := &world{broker: target.StartNamed(t, name, settings)}
	ctx, cancel := context.WithTimeout(t.Context(), member.Patience)
	defer cancel()
	if err := wire.WarmUp(ctx, w.broker.Addr); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.log, err = followOffsets(w.broker.Addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.log.close)
	return w
}

// code is what a member runs: a client, and the assignors that it is configured
// with, in the order of preference.
type code struct {
	member.Client
	assignors string
}

func (c code) String() string { return c.Name + " [" + c.assignors + "]" }

// cooperative tells whether it may be in a group of members that are COOPERATIVE.
func (c code) cooperative() bool { return strings.Contains(c.assignors, "cooperative-sticky") }

// tells says that it ends when a group refuses it; others log it and try on.
func (c code) tells() bool {
	return strings.HasPrefix(c.Name, "java") || strings.HasPrefix(c.Name, "confluent")
}

// slot is a place in a fleet that one process takes after the other.
type slot struct {
	name    string
	born    int
	process *member.Process
}

// now is the name of the member that has the place.
func (s *slot) now() string { return s.name + strconv.Itoa(s.born) }

// life is a group, from its first member to its end; the group's name is the
// topic's too.
type life struct {
	t       *testing.T
	w       *world
	name    string
	dir     string
	seen    *member.Observer
	client  *kgo.Client
	slots   []*slot
	all     map[string]*member.Process
	phases  []phase
	static  bool // members have their places' names as instance ids
	quit    chan struct{}
	abandon context.CancelFunc // ends producing, whatever is under way
	running sync.WaitGroup
	ends    map[int32]int64 // known once producing has ended
	began   time.Time
}

func newLife(t *testing.T, w *world, name string) *life {
	t.Helper()
	l := &life{t: t, w: w, name: name, dir: t.TempDir(), seen: member.NewObserver(), all: map[string]*member.Process{}, quit: make(chan struct{}), began: time.Now()}
	l.must(admin.CreateTopics(t.Context(), w.broker.Addr, partitions, nil, name))
	var err error
	l.client, err = kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.DefaultProduceTopic(name), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(-1),                                              // the topic is new
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()), // not every client has codecs
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	l.must(err)
	ctx, abandon := context.WithCancel(context.WithoutCancel(t.Context()))
	l.abandon = abandon
	l.running.Go(func() { l.produce(ctx) })
	t.Cleanup(l.end)
	return l
}

// produce sends to every partition, little at a time, until it is told to quit;
// then it knows the ends.
func (l *life) produce(ctx context.Context) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	ends := map[int32]int64{} // promises are called one at a time, and Flush waits for the last
	for n := 0; ; n++ {
		select {
		case <-l.quit:
			if err := l.client.Flush(ctx); err != nil {
				l.seen.Fail("producing: %v", err)
			}
			l.ends = ends
			return
		case <-tick.C:
		}
		for p := range int32(partitions) {
			record := &kgo.Record{Partition: p, Value: strconv.AppendInt(nil, int64(n), 10)}
			l.client.Produce(ctx, record, func(r *kgo.Record, err error) {
				var away *kgo.ErrFirstReadEOF // the broker just stops; the record was not sent
				switch {
				case errors.As(err, &away):
					return
				case err != nil:
					l.seen.Fail("producing: %v", err)
					return
				}
				ends[r.Partition] = max(ends[r.Partition], r.Offset+1)
			})
		}
	}
}

// end stops what still runs.
func (l *life) end() {
	for _, m := range l.all {
		m.Kill()
	}
	l.abandon()
	l.quitProducing()
	l.client.Close()
	if !l.t.Failed() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(l.all)) {
		if said := strings.TrimSpace(l.all[name].Said()); said != "" {
			l.t.Logf("%s said:\n%s", name, said)
		}
	}
	l.t.Logf("what happened:\n%s", l.tell())
}

func (l *life) quitProducing() {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.running.Wait()
}

// phase begins a part of the life, for the report.
func (l *life) phase(format string, args ...any) {
	p := phase{member.Now(), fmt.Sprintf(format, args...)}
	l.phases = append(l.phases, p)
	l.t.Logf("%5.1f s: %s", time.Since(l.began).Seconds(), p.name)
}

// fleet adds places and starts a member in each.
func (l *life) fleet(codes ...code) {
	l.t.Helper()
	for _, c := range codes {
		s := &slot{name: string(rune('a' + len(l.slots)))}
		l.slots = append(l.slots, s)
		l.start(s, c)
	}
	l.settle("the members share the topic")
}

func (l *life) start(s *slot, c code) {
	l.t.Helper()
	s.born++
	s.process = l.run(s, s.now(), c)
}

func (l *life) run(s *slot, name string, c code) *member.Process {
	l.t.Helper()
	a := member.Arguments{Addr: l.w.broker.Addr, Group: l.name, Topic: l.name, Name: name, Assignors: c.assignors, Session: session, Heartbeat: heartbeat}
	if l.static {
		a.Instance, a.Session = s.name, away
	}
	process, err := c.Start(l.t.Context(), l.seen, l.dir, a)
	l.must(err)
	l.all[name] = process
	return process
}

// members are the names of those that are there.
func (l *life) members() (names []string) {
	for _, s := range l.slots {
		if s.process != nil {
			names = append(names, s.now())
		}
	}
	return names
}

// settle waits until exactly the members that are there have their equal shares
// of the partitions, and what came after that is handled in each.
func (l *life) settle(what string) {
	l.t.Helper()
	names := l.members()
	l.must(l.seen.Await(l.t.Context(), fmt.Sprintf("%s: %v share the topic", what, names), func() bool { return l.seen.Even(partitions, names...) }))
	more := map[int32]int64{}
	next := l.seen.HandledTo()
	for p := range int32(partitions) {
		more[p] = next[p] + 1
	}
	l.must(l.seen.Await(l.t.Context(), what+": every partition goes on", func() bool { return l.seen.Beyond(more) }))
}

// leave has the member of a place end as its users would.
func (l *life) leave(s *slot) {
	l.t.Helper()
	l.must(s.process.Stop(l.t.Context()))
	s.process = nil
}

// bounce replaces one member by another code.
func (l *life) bounce(s *slot, c code) {
	l.t.Helper()
	before := s.now()
	l.leave(s)
	l.start(s, c)
	l.settle(fmt.Sprintf("%s is %s, %v", before, s.now(), c))
}

// roll bounces one member after the other.
func (l *life) roll(name string, c code) {
	l.t.Helper()
	l.phase("%s: %v", name, c)
	for _, s := range l.slots {
		l.bounce(s, c)
	}
}

// kill kills a member, waits until the others have what it had, and starts
// another in its place.
func (l *life) kill(s *slot, c code) {
	l.t.Helper()
	dead := s.now()
	s.process.Kill()
	s.process = nil
	l.settle(dead + " is dead")
	l.start(s, c)
	l.settle(s.now() + " comes instead")
}

// leader is the place of the group's leader.
func (l *life) leader() *slot {
	l.t.Helper()
	g := l.generation()
	name := g.members[g.leader].client
	for _, s := range l.slots {
		if s.process != nil && s.now() == name {
			return s
		}
	}
	l.t.Fatalf("the leader of generation %d is %q, whom nobody knows; members %v", g.number, name, l.members())
	return nil
}

// generation is the last that is written down.
func (l *life) generation() generation {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), member.Patience)
	defer cancel()
	l.must(l.w.log.catchUp(ctx))
	all := l.w.log.read(l.name).generations
	if len(all) == 0 {
		l.t.Fatal("the group has no generation")
	}
	return all[len(all)-1]
}

// restart starts the broker again under the group.
func (l *life) restart() {
	l.t.Helper()
	if l.w.broker.Restart == nil {
		l.t.Logf("%s is not started again", l.w.broker.Name)
		return
	}
	l.seen.Add(member.Event{At: member.Now(), Kind: member.Down})
	l.must(l.w.broker.Restart())
	l.seen.Add(member.Event{At: member.Now(), Kind: member.Up})
	l.settle("the broker is there again")
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}
