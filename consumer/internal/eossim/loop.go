package eossim

import (
	"slices"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/work"
)

// loop is the shell around the machine of the loop: it does one act after the other.
type loop struct {
	machine *work.Machine
	records []polled // that were handed out and are not processed
	poll    *poll    // that is under way
	quits   bool     // it was told to
	told    bool     // and the machine knows
	closing bool     // the consumer closes
	err     error
	first   membership.Generation // for a seam
}

// poll is a Poll that waits.
type poll struct {
	hold  bool
	until time.Time
}

// step tells the machine what has happened and does what it wants.
func (m *member) step(in work.Input) {
	l := &m.loop
	if l.quits && !l.told {
		l.told = true
		l.machine.Step(m.w.Now, work.Quit{Until: m.w.Now.Add(transactionTimeout)})
	}
	out := l.machine.Step(m.w.Now, in)
	if out.Ended != nil {
		m.w.judge.told(m, out.Ended)
	}
	if m.w.Tracing() && (out.Act != work.Poll || in != nil && len(l.records) > 0) {
		m.w.Say("%s: %T%s, %s", m.name(), in, tellInput(in), out.Act)
	}
	m.life.Later(m.dice.Between(0, 500*time.Microsecond), func() { m.act(out) })
}

func (m *member) act(out work.Output) {
	switch out.Act {
	case work.Poll:
		m.polls(out)
	case work.Process:
		m.processes(out)
	case work.Commit:
		m.commits(out)
	case work.Abort:
		m.prod.abort(out.Until, func(o work.Outcome, err error) { m.step(work.Aborted{Outcome: o, Err: err}) })
	case work.Rewind:
		for _, tp := range out.Back {
			if m.w.seams.stays {
				m.forget(partition{Topic: tp.Topic, Index: tp.Partition})
				continue
			}
			m.back(partition{Topic: tp.Topic, Index: tp.Partition})
		}
		m.step(work.Rewound{})
	case work.Renew:
		m.close()
		m.renew(func(o work.Outcome, err error) { m.step(work.Renewed{Outcome: o, Err: err}) })
	case work.Release:
		m.release()
	case work.Stop:
		m.loop.closing, m.loop.err = true, out.Err
		m.feed(membership.Close{})
	}
}

// polls waits for records, and runs callbacks meanwhile.
func (m *member) polls(out work.Output) {
	m.loop.poll = &poll{hold: out.Hold, until: out.Until}
	m.feed(membership.Polled{})
	m.life.Later(max(0, out.Until.Sub(m.w.Now)), m.attend)
}

// attend goes on with what waits: callbacks first, then records.
func (m *member) attend() {
	g, l := &m.group, &m.loop
	switch {
	case g.running:
	case l.closing:
		m.closes()
	case l.poll == nil:
	case g.callback != nil:
		m.run()
	case l.quits, g.fatal != nil, !l.poll.hold && m.ready(), !m.w.Now.Before(l.poll.until):
		m.answerPoll()
	}
}

// closes goes on with the end of the consumer.
func (m *member) closes() {
	g := &m.group
	switch {
	case g.callback != nil:
		m.run()
	case g.brain.Closed():
		m.end()
		m.p.ended(m.loop.err)
	}
}

// answerPoll ends a Poll.
func (m *member) answerPoll() {
	in := work.Polled{Generation: m.group.brain.Generation().ID, Err: m.group.fatal}
	if !m.loop.poll.hold && m.group.fatal == nil {
		in.Batches = m.hand()
	}
	in.Passed = m.passed()
	m.loop.poll = nil
	m.step(in)
}

// quit tells the loop to stop.
func (m *member) quit() {
	m.loop.quits = true
	m.life.Later(0, m.attend)
}

// close ends the producer, if there is one.
func (m *member) close() {
	if m.prod != nil {
		m.prod.close()
	}
}

// renew makes a producer, which takes the transactional id at once.
func (m *member) renew(done func(work.Outcome, error)) {
	m.prod = newProducing(m)
	m.prod.begin(m.w.Now.Add(transactionTimeout), done)
}

// processes calls the user's function with some records.
func (m *member) processes(out work.Output) {
	if !out.Begin {
		m.process(out)
		return
	}
	m.prod.begin(out.Until, func(o work.Outcome, err error) {
		if o != work.Done {
			m.step(work.Processed{Outcome: o, Err: err})
			return
		}
		m.process(out)
	})
}

// process takes its time, and sends what follows from each record when it is over.
func (m *member) process(out work.Output) {
	takes := m.dice.Between(0, 4*time.Millisecond)
	if m.w.net.Happens(m.w.script.Slow) {
		takes = m.dice.Between(0, time.Duration(min(out.Records, 4))*transactionTimeout/2)
	}
	late := m.w.Now.Add(takes).After(out.Until)
	if late {
		takes = max(0, out.Until.Sub(m.w.Now))
	}
	m.life.Later(takes, func() {
		records := m.loop.records[:out.Records]
		done, bad := m.user(records, out.Skip)
		switch {
		case late:
			m.step(work.Processed{Outcome: work.Late})
		case bad != nil:
			m.step(work.Processed{Outcome: work.Poison, Marks: bad})
		case m.group.brain.Expelled() && m.dice.N(2) == 0:
			m.step(work.Processed{Outcome: work.BrokenOff})
		default:
			m.loop.records = m.loop.records[out.Records:]
			m.step(done)
		}
	})
}

// user is the user's function: an effect for each record, up to one that it cannot process.
func (m *member) user(records []polled, skip []work.Mark) (done work.Processed, bad []work.Mark) {
	for _, r := range records {
		at := work.Mark{Partition: workPartition(r.of.at), At: r.of.offset}
		to := partition{Topic: outputTopic, Index: int32((r.of.offset + int64(r.of.at.Index)) % outputs)}
		switch {
		case slices.Contains(skip, at):
			to = partition{Topic: lettersTopic}
		case m.w.fails(r.of):
			return done, []work.Mark{at}
		}
		m.prod.produce(to, effect{r.of})
		n := len(done.Reached) - 1
		if n < 0 || done.Reached[n].Partition != at.Partition {
			done.Reached = append(done.Reached, work.Reached{Partition: at.Partition})
			done.Records = append(done.Records, work.Count{Partition: at.Partition})
			n++
		}
		done.Reached[n].Offset = work.Offset{At: r.next, LeaderEpoch: -1}
		done.Records[n].Records++
	}
	return done, nil
}

// commits sends a transaction's offsets in the name of the generation of now, if all of it is owned still, and ends it.
func (m *member) commits(out work.Output) {
	g := m.group.brain.Generation()
	if m.w.seams.cached {
		g = m.cached(g)
	}
	owned := !m.group.brain.Expelled()
	for _, r := range out.Offsets {
		owned = owned && m.places[partition{Topic: r.Topic, Index: r.Partition.Partition}] != nil
	}
	if !owned {
		m.step(work.Committed{Outcome: work.NotOwned, Used: g.ID, Generation: g.ID})
		return
	}
	m.prod.commit(out.Until, out.Offsets, g, func(o work.Outcome, err error) {
		if o == work.Done {
			for _, r := range out.Offsets {
				if pl := m.places[partition{Topic: r.Topic, Index: r.Partition.Partition}]; pl != nil {
					pl.committed = r.At
				}
			}
		}
		m.step(work.Committed{Outcome: o, Used: g.ID, Generation: m.group.brain.Generation().ID, Err: err})
	})
}

// cached is the generation that it was in first.
func (m *member) cached(now membership.Generation) membership.Generation {
	if m.loop.first.Member == "" {
		m.loop.first = now
	}
	return m.loop.first
}
