package eossim

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/fence"
	"github.com/skeinstream/skein/internal/simulation"
	"github.com/skeinstream/skein/internal/work"
)

// member is one life of a process: the shells around the machines of package consumer and package exactlyonce, in one.
type member struct {
	p      *process
	w      *world
	called string
	spec   spec
	id     string // transactional
	life   *simulation.Life
	dice   *simulation.Dice

	group   groupside
	loop    loop
	prod    *producing
	fencing fencing

	places     map[partition]*place
	connection uint64
}

// connections are numbered as the broker accepts them.
func (m *member) connect() {
	m.w.connections++
	m.connection = m.w.connections
}

func newMember(p *process) *member {
	m := &member{
		p: p, w: p.w, called: fmt.Sprintf("%s.%d", p.name, p.count), spec: p.spec, id: p.transactionalID(), life: p.w.net.Live(), dice: p.dice, places: map[partition]*place{},
	}
	m.connect()
	m.fencing.machine = fence.New(fence.Config{Self: m.id, Patience: m.w.script.timeout()})
	m.group.brain = p.spec.membership(m.publishes())
	m.loop.machine = work.New(work.Config{
		Interval: 100 * time.Millisecond, Timeout: transactionTimeout, Look: time.Second, Retries: 2, Skip: true,
		Backoff: 100 * time.Millisecond, BackoffMax: time.Second,
	})
	return m
}

func (m *member) name() string { return m.called }

// begin subscribes and starts the loop, which makes a producer first.
func (m *member) begin() {
	m.subscribe()
	m.life.Later(m.dice.Between(0, 3*time.Second), m.refresh)
	m.step(work.Begun{})
}

// end takes it away, as when its process is killed.
func (m *member) end() {
	m.close()
	m.life.End()
}

// leaving says that it is on its way out.
func (m *member) leaving() bool { return m.loop.quits || m.loop.closing }

// cut breaks its connections.
func (m *member) cut() {
	m.connect()
	if m.prod != nil {
		m.prod.connect()
	}
	m.life.HangUp()
}

func (m *member) client(connection uint64) cluster.Client {
	return cluster.Client{Life: m.life, ID: m.name(), Connection: connection}
}

// send sends a request of the consumer once.
func (m *member) send(req any, done func(resp any, err error)) {
	g := &m.group
	g.sent++
	number, of := g.sent, m.client(m.connection)
	m.w.net.Send(m.life, wait(req), func(took time.Duration, answer func(any)) {
		if joinsOrSyncs(req) && (number <= g.heard || !m.life.Lives() && m.w.Now.After(m.life.Died().Add(time.Second))) {
			return // its connection is gone by now: see package groupsim
		}
		m.w.cluster.Ask(of, req, func(resp any) {
			m.w.judge.answered(m, req, resp)
			answer(resp)
		})
	}, func(resp any, err error) {
		if err == nil && joinsOrSyncs(req) {
			g.heard = max(g.heard, number)
		}
		done(resp, err)
	})
}

// wait is how long a client waits for an answer (R-B11).
func wait(req any) time.Duration {
	if _, joins := req.(*kmsg.JoinGroupRequest); joins {
		return pollMax + 5*time.Second
	}
	return 5 * time.Second
}

func joinsOrSyncs(req any) bool {
	switch req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
		return true
	}
	return false
}

// topics are what it subscribes to: all inputs.
func (m *member) topics() (list []string) {
	for _, t := range m.w.script.Topics {
		list = append(list, t.Name)
	}
	return list
}

func (m *member) subscribe() { m.feed(membership.Subscribed{Topics: m.topics()}) }

// refresh looks at the cluster now and then.
func (m *member) refresh() {
	m.feed(membership.Metadata{Topics: m.known()})
	m.life.Later(m.dice.Between(2*time.Second, 4*time.Second), m.refresh)
}

func (m *member) known() []assign.Topic { return m.w.inputs }
