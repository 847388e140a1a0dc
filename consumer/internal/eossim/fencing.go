package eossim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/fence"
)

// fencing is the shell around the machine that fences those who have gone from the group.
type fencing struct {
	machine *fence.Machine
	round   []string  // the members of the round whose roster was the last
	wakes   time.Time // when the machine wants to look at the clock; zero: never
}

func (s *Script) timeout() time.Duration { return time.Duration(s.Timeout) * time.Second }

// publishes is what the group is told of the member.
func (m *member) publishes() []byte {
	if m.spec.mute || !m.w.script.Fencing {
		return nil
	}
	return fence.Publish(groupName, m.id)
}

// hears takes who is in a round that the member leads. Its number is not enough to know it by: a coordinator that fails may give it again.
func (f *fencing) hears(resp kmsg.Response) {
	if r, is := resp.(*kmsg.JoinGroupResponse); is && len(r.Members) > 0 {
		f.round = nil
		for _, member := range r.Members {
			f.round = append(f.round, member.MemberID)
		}
	}
}

// misses hears who is there, and who is not.
func (m *member) misses(present, missing [][]byte, instances []string) {
	if m.spec.mute || !m.w.script.Fencing {
		return
	}
	in := fence.Roster{Present: ids(present), Missing: ids(missing)}
	if !m.w.seams.nameless {
		for _, i := range instances {
			in.Present = append(in.Present, fence.Named(groupName, i))
		}
	}
	m.fences(m.fencing.machine.Step(m.w.Now, in))
}

func ids(published [][]byte) (list []string) {
	for _, p := range published {
		if id := fence.Name(groupName, p); id != "" {
			list = append(list, id)
		}
	}
	return list
}

func (m *member) fences(out fence.Output) {
	f := &m.fencing
	for _, id := range out.Fence {
		m.fence(id)
	}
	f.wakes = out.Wake
	if at := f.wakes; !at.IsZero() {
		m.life.Later(max(0, at.Sub(m.w.Now)), func() {
			if f.wakes.Equal(at) {
				m.fences(f.machine.Tick(m.w.Now))
			}
		})
	}
}

// fence is one attempt. What the network repeats is not sent again over the same connection.
func (m *member) fence(id string) {
	m.w.judge.fences(m, id)
	if m.w.seams.spares {
		return
	}
	m.connect()
	of, first := m.client(m.connection), true
	m.w.net.Send(m.life, 5*time.Second, func(_ time.Duration, answer func(any)) {
		if first {
			m.w.cluster.Ask(of, m.w.fencingOf(id), answer)
		}
		first = false
	}, func(resp any, err error) {
		if err == nil {
			err = kerr.ErrorForCode(resp.(*kmsg.InitProducerIDResponse).ErrorCode)
		}
		m.w.Say("%s has fenced %s: %v", m.name(), id, err)
		m.fences(m.fencing.machine.Step(m.w.Now, fence.Answered{ID: id, Answer: fence.AnswerOf(err)}))
	})
}

// fencingOf asks for another producer of an id.
func (w *world) fencingOf(id string) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 4, &id, -1, -1
	req.TransactionTimeoutMillis = int32(w.script.timeout().Milliseconds())
	return req
}

// fences: nobody is fenced who is in the round that misses it, whatever it publishes.
func (j *judge) fences(by *member, id string) {
	j.counts.Fenced++
	for _, p := range j.w.order {
		if m := p.now; m != nil && m != by && m.id == id && slices.Contains(by.fencing.round, m.group.brain.Generation().Member) {
			j.violates("fenced", "%s fences %s, which is in its round", by.name(), m.name())
		}
	}
}

// held is for how long what a member has left open may hold up readers: until its session has ended, the others have heard of that, and a few
// requests have gone to and fro.
const held = session + heartbeat + 2*time.Second

// dies: what the dead have left open is ended long before the broker would do it.
func (j *judge) dies(m *member) {
	j.open(m.id, func(open bool) {
		if !open {
			return
		}
		j.counts.Died++
		j.w.After(held, func() {
			j.open(m.id, func(open bool) {
				if open {
					j.violates("held", "the transaction of %s is open %v after its death", m.name(), held)
				}
			})
		})
	})
}

// open asks whether a transaction is.
func (j *judge) open(id string, then func(bool)) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	j.w.cluster.Ask(j.w.somebody(), req, func(resp any) {
		then(resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State == "Ongoing")
	})
}
