package eossim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/simulation"
	"github.com/skeinstream/skein/internal/work"
)

// groupside is the shell around the machine of the membership.
type groupside struct {
	brain    *membership.Machine
	sent     int // requests
	heard    int // the last of them that was answered
	wakes    time.Time
	callback *membership.Call // that waits for the loop, or runs
	running  bool
	fatal    error
}

func (m *member) feed(in membership.Input) {
	if m.life.Lives() {
		m.take(m.group.brain.Step(m.w.Now, in))
	}
}

// take does what the machine wants.
func (m *member) take(out membership.Output) {
	for _, tp := range out.Stop {
		if pl := m.places[placeOf(tp)]; pl != nil {
			pl.handed = false
		}
	}
	for _, tp := range out.Start {
		m.starts(placeOf(tp))
	}
	for _, r := range out.Requests {
		m.request(r)
	}
	if r := out.Roster; r != nil {
		m.misses(r.Present, r.Missing, r.Instances)
	}
	if len(out.Want) > 0 {
		m.life.Later(simulation.Distance(m.dice), func() { m.feed(membership.Metadata{Topics: m.known()}) })
	}
	if out.Fatal && m.group.fatal == nil {
		m.w.Say("%s is out of the group for good: %v", m.name(), out.Err)
		m.group.fatal = out.Err
	}
	m.wake(out.Wake)
	if out.Call != nil {
		m.group.callback, m.group.running = out.Call, false
	}
	m.life.Later(0, m.attend)
}

func placeOf(tp membership.TopicPartition) partition {
	return partition{Topic: tp.Topic, Index: tp.Partition}
}

func (m *member) wake(at time.Time) {
	g := &m.group
	if at.IsZero() || !g.wakes.IsZero() && !at.Before(g.wakes) {
		return
	}
	g.wakes = at
	m.life.Later(max(0, at.Sub(m.w.Now)), func() {
		if g.wakes.Equal(at) {
			g.wakes = time.Time{}
			m.take(g.brain.Tick(m.w.Now))
		}
	})
}

// request sends what the machine asks the group.
func (m *member) request(r membership.Request) {
	r.Req.SetVersion(r.Req.MaxVersion())
	if m.w.Tracing() {
		m.w.Say("%s %s", m.name(), tellAsk(r.Req))
	}
	m.send(r.Req, func(resp any, err error) {
		in := membership.Answered{ID: r.ID, Err: err}
		if err == nil {
			in.Response = resp.(kmsg.Response)
			m.fencing.hears(in.Response)
			if m.w.Tracing() {
				m.w.Say("%s hears %s", m.name(), tell(resp))
			}
		}
		m.feed(in)
	})
}

// run runs a callback (R-B18): the loop does what is due, and releases it.
func (m *member) run() {
	g := &m.group
	g.running = true
	c := g.callback
	m.w.Say("%s runs the callback for %v %v", m.name(), c.Callback, c.Partitions)
	var list []work.Partition
	for _, tp := range c.Partitions {
		list = append(list, work.Partition(tp))
	}
	generation, until := g.brain.Generation().ID, m.w.Now.Add(pollMax/2)
	callback := c.Callback
	if m.w.seams.commits && callback == membership.Lost {
		callback = membership.Revoked
	}
	switch callback {
	case membership.Assigned:
		m.step(work.Assigned{Partitions: list, Generation: generation})
	case membership.Revoked:
		m.step(work.Revoked{Partitions: list, Passed: m.passed(), Generation: generation, Until: until})
	case membership.Lost:
		m.step(work.Gone{Partitions: list, Until: until})
	}
}

// release ends a callback, and with it ownership of what it took.
func (m *member) release() {
	g := &m.group
	c := g.callback
	g.callback, g.running = nil, false
	m.w.Say("%s releases the callback for %v", m.name(), c.Callback)
	if c.Callback != membership.Assigned {
		for _, tp := range c.Partitions {
			m.forget(placeOf(tp))
			delete(m.places, placeOf(tp))
		}
	}
	m.feed(membership.Called{})
}
