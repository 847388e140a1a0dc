package groupsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/simulation"
)

// process is a place where one consumer after another runs.
type process struct {
	w      *world
	name   string
	spec   spec
	now    *incarnation // nil: none runs
	count  int
	dice   *simulation.Dice
	over   bool   // it is not started again
	failed string // why the last one ended, if by itself
}

// incarnation is one consumer: the loop around a brain, and its user.
type incarnation struct {
	p      *process
	number int
	spec   spec
	brain  brain
	*simulation.Life
	sent  int // requests
	heard int // the last of them that was answered
	wakes time.Time

	away     time.Time // until when
	callback *membership.Call
	closing  bool
	fatal    error

	places    map[partition]*place // of what it owns: until the callback that takes it has ended
	commits   int                  // how many were sent
	commiting bool

	members []kmsg.JoinGroupResponseMember // of the group, to plan for
	joins   uint64                         // the number of its last JoinGroup
	planned []assign.Topic
	plan    *kmsg.SyncGroupRequest // sent last
	saw     int                    // which of the cluster's changes
}

// place is how far a partition is processed.
type place struct {
	next, committed int64
	known           bool // where to begin
	handed          bool // records are handed out: it was not stopped
}

func (i *incarnation) name() string { return fmt.Sprintf("%s.%d", i.p.name, i.number) }

// begin starts a consumer.
func (p *process) begin() {
	p.count++
	b, err := p.spec.brain(fmt.Sprintf("%s.%d", p.name, p.count))
	if err != nil {
		panic("groupsim: " + err.Error())
	}
	i := &incarnation{p: p, number: p.count, spec: p.spec, brain: b, Life: p.w.net.Live(), places: map[partition]*place{}}
	p.now, p.failed = i, ""
	p.w.Say("%s begins as %v %s", i.name(), i.spec.kind, i.spec.instance)
	i.subscribe()
	i.poll()
	i.Later(p.dice.Between(0, time.Second), i.autoCommit)
	i.Later(p.dice.Between(0, 3*time.Second), i.refresh)
}

// end takes a consumer away, as when its process is killed.
func (i *incarnation) end() {
	i.p.now, i.places = nil, nil
	i.End()
}

func (i *incarnation) topics() []string {
	if i.spec.pattern == "" {
		return i.spec.topics
	}
	var all []string
	for _, t := range i.p.w.topics {
		if strings.HasPrefix(t.Name, i.spec.pattern) {
			all = append(all, t.Name)
		}
	}
	return all
}

func (i *incarnation) subscribe() {
	in := membership.Subscribed{Topics: i.topics()}
	if prefix := i.spec.pattern; prefix != "" {
		in.Matches = func(topic string) bool { return strings.HasPrefix(topic, prefix) }
	}
	i.feed(in)
}

// refresh looks at the cluster now and then.
func (i *incarnation) refresh() {
	if i.spec.pattern != "" {
		i.subscribe()
	}
	if i.saw != i.p.w.epoch {
		i.saw = i.p.w.epoch
		i.p.w.judge.disturbed()
	}
	i.planned = i.p.w.topics
	i.feed(membership.Metadata{Topics: i.p.w.topics})
	i.Later(i.p.dice.Between(2*time.Second, 4*time.Second), i.refresh)
}

func (i *incarnation) feed(in membership.Input) {
	if i.Lives() {
		i.take(i.brain.Step(i.p.w.Now, in))
	}
}

// take does what the brain wants.
func (i *incarnation) take(out membership.Output) {
	for _, p := range out.Stop {
		if pos := i.places[partition{p.Topic, p.Partition}]; pos != nil {
			pos.handed = false
		}
	}
	for _, e := range out.Events {
		i.p.w.judge.event(i, e)
	}
	i.start(out.Start)
	for _, r := range out.Requests {
		i.request(r)
	}
	if len(out.Want) > 0 {
		i.Later(simulation.Distance(i.p.dice), func() {
			i.planned = i.p.w.topics
			i.feed(membership.Metadata{Topics: i.p.w.topics})
		})
	}
	if out.Fatal {
		i.fail(out.Err)
	}
	i.wake(out.Wake)
	if out.Call != nil {
		i.runs(out.Call)
	} else if i.closing && i.callback == nil && i.Lives() {
		i.p.w.Say("%s is closed", i.name())
		i.end()
	}
}

func (i *incarnation) start(list []membership.TopicPartition) {
	for _, tp := range list {
		at := partition{tp.Topic, tp.Partition}
		i.places[at] = &place{committed: -1, handed: true}
		i.p.w.judge.owns(i, at)
	}
	if len(list) > 0 {
		i.p.w.Say("%s starts %v", i.name(), list)
		i.locate(list, 0)
	}
}

func (i *incarnation) wake(at time.Time) {
	if at.IsZero() || !i.wakes.IsZero() && !at.Before(i.wakes) {
		return
	}
	i.wakes = at
	i.Later(max(0, at.Sub(i.p.w.Now)), func() {
		if i.wakes.Equal(at) {
			i.wakes = time.Time{}
			i.take(i.brain.Tick(i.p.w.Now))
		}
	})
}

// request sends what the brain asks the group.
func (i *incarnation) request(r membership.Request) {
	setVersion(i.spec, r.Req)
	if f := i.p.w.seams.request; f != nil {
		f(i.p, r.Req)
	}
	i.p.w.judge.sends(i, r.Req)
	if i.p.w.Tracing() {
		if text := tellAsk(r.Req); text != "" {
			i.p.w.Say("%s %s", i.name(), text)
		}
	}
	if _, ok := r.Req.(*kmsg.JoinGroupRequest); ok {
		i.joins = r.ID
	}
	i.send(r.Req, func(resp any, err error) {
		in := membership.Answered{ID: r.ID, Err: err}
		if err == nil {
			in.Response = resp.(kmsg.Response)
			i.p.w.Say("%s hears %s", i.name(), tell(in.Response))
		}
		if j, ok := resp.(*kmsg.JoinGroupResponse); ok && j.ErrorCode == 0 && r.ID == i.joins { // else of a round that is over
			i.members = j.Members
		}
		i.feed(in)
	})
}

// setVersion is what the code of a member speaks.
func setVersion(s spec, req kmsg.Request) {
	req.SetVersion(req.MaxVersion())
	if s.code != 'O' {
		return
	}
	switch req.(type) {
	case *kmsg.JoinGroupRequest:
		req.SetVersion(5)
	case *kmsg.SyncGroupRequest, *kmsg.HeartbeatRequest, *kmsg.LeaveGroupRequest:
		req.SetVersion(3)
	}
}

// fail ends a consumer that has no way on. Its supervisor starts another, unless somebody else has taken its place.
func (i *incarnation) fail(err error) {
	if i.fatal != nil {
		return
	}
	i.fatal = err
	i.p.failed = err.Error()
	i.p.w.Say("%s fails: %v", i.name(), err)
	i.p.w.judge.fails(i, err)
	i.p.w.After(0, func() {
		if !i.Lives() {
			return
		}
		i.close()
		i.p.again(err)
	})
}

// again is the supervisor. A process whose place another has taken is not started again, nor one that is refused for ever.
func (p *process) again(err error) {
	if fenced(err) || p.w.Now.After(p.w.Start.Add(p.w.script.Calm+time.Minute)) {
		p.w.Say("%s is given up", p.name)
		p.over = true
		p.w.judge.givenUp(p, err)
		return
	}
	p.restart(2 * time.Second)
}

func (i *incarnation) rejoin() {
	i.Later(0, func() { i.feed(membership.Rejoin{Reason: "the user wishes it"}) })
}

// close ends a consumer in peace.
func (i *incarnation) close() {
	if !i.Lives() || i.closing {
		return
	}
	i.closing = true
	i.feed(membership.Close{})
}

// handed are the partitions that records are handed out of, in order.
func (i *incarnation) handed() []partition {
	list := make([]partition, 0, len(i.places))
	for at, pos := range i.places {
		if pos.handed && pos.known {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func compare(a, b partition) int {
	if c := strings.Compare(a.topic, b.topic); c != 0 {
		return c
	}
	return int(a.index - b.index)
}
