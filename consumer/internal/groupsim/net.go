package groupsim

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var errNoAnswer = errors.New("the connection broke")

func itoa(n int) string { return strconv.Itoa(n) }

// wait is how long a client waits for an answer (R-B11).
func wait(req kmsg.Request) time.Duration {
	if _, joins := req.(*kmsg.JoinGroupRequest); joins {
		return pollMax + 5*time.Second
	}
	return 5 * time.Second
}

// call is a request that somebody waits for.
type call struct {
	over bool
	end  func(resp any, err error)
}

// send has a request answered once, with a response or an error, however the network treats it. Nothing of it reaches who
// asked after that, nor after the process has ended; the broker may get it all the same, twice, and late.
func (i *incarnation) send(req kmsg.Request, done func(resp any, err error)) {
	i.sent++
	number := i.sent
	c := i.call(func(resp any, err error) {
		if err == nil && joinsOrSyncs(req) {
			i.heard = max(i.heard, number)
		}
		done(resp, err)
	})
	w, d := i.p.w, i.p.w.dice
	broken := func() { c.end(nil, errNoAnswer) }
	i.later(wait(req), broken)
	answer := func(resp any) {
		if w.happens(w.script.Lost) {
			i.later(d.between(0, time.Second), broken)
			return
		}
		resp = asSent(req, resp)
		i.later(w.travels(), func() { c.end(resp, nil) })
	}
	if w.happens(w.script.Lost) {
		i.later(d.between(0, time.Second), broken)
		return
	}
	there := w.travels()
	i.deliver(req, there, answer)
	if w.happens(w.script.Twice) {
		i.deliver(req, there+d.between(0, 3*time.Second), func(any) {})
	}
}

func (i *incarnation) call(done func(any, error)) *call {
	c := &call{}
	c.end = func(resp any, err error) {
		if !c.over {
			c.over = true
			done(resp, err)
		}
	}
	i.calls = append(slices.DeleteFunc(i.calls, func(c *call) bool { return c.over }), c)
	return c
}

// deliver brings a request to the coordinator, unless its connection is gone by then: a client that sends again does so on
// another one. Of a JoinGroup or SyncGroup that means: not once the client has had an answer to it, or to a later one. The
// classic protocol stands or falls with that: it numbers no requests, and a JoinGroup from before a round, when the member
// owned nothing, would put the member into the next one as if it still did (docs/decision/0008).
func (i *incarnation) deliver(req kmsg.Request, after time.Duration, answer func(any)) {
	w := i.p.w
	commits, number := i.commits, i.sent
	w.after(after, func() {
		switch req.(type) {
		case *kmsg.OffsetCommitRequest:
			if commits != i.commits {
				return
			}
		case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
			if number <= i.heard || !i.lives() && w.now.After(i.died.Add(time.Second)) {
				return
			}
		}
		if after > time.Second { // it comes out of the past
			w.judge.disturbed()
		}
		w.co.ask(i, req, answer)
	})
}

func joinsOrSyncs(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
		return true
	}
	return false
}

// travels is how long a message is under way: some are as late as a network with retransmissions makes them.
func (w *world) travels() time.Duration {
	switch d := w.dice; {
	case w.happens(w.script.Late):
		return d.between(0, 15*time.Second)
	case d.n(16) == 0:
		return d.between(0, 300*time.Millisecond)
	default:
		return distance(d)
	}
}

func distance(d *dice) time.Duration { return d.between(200*time.Microsecond, 10*time.Millisecond) }

// happens throws the dice for something that happens to so many of a thousand messages until the calm.
func (w *world) happens(thousand int) bool { return !w.calm && w.dice.in(thousand) }

// hangUp breaks the connections of a process.
func (i *incarnation) hangUp() {
	calls := i.calls
	i.calls = nil
	for _, c := range calls {
		i.later(i.p.w.dice.between(0, 50*time.Millisecond), func() { c.end(nil, errNoAnswer) })
	}
}

// asSent is an answer as it arrives: what its version cannot carry is lost.
func asSent(req kmsg.Request, resp any) any {
	r, ok := resp.(*kmsg.JoinGroupResponse)
	if !ok || req.GetVersion() == req.MaxVersion() {
		return resp
	}
	r.SetVersion(req.GetVersion())
	back := kmsg.NewPtrJoinGroupResponse()
	back.SetVersion(req.GetVersion())
	if err := back.ReadFrom(r.AppendTo(nil)); err != nil {
		panic("groupsim: an answer that cannot be read: " + err.Error())
	}
	return back
}
