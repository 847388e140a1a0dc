package groupsim

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func itoa(n int) string { return strconv.Itoa(n) }

// wait is how long a client waits for an answer (R-B11).
func wait(req kmsg.Request) time.Duration {
	if _, joins := req.(*kmsg.JoinGroupRequest); joins {
		return pollMax + 5*time.Second
	}
	return 5 * time.Second
}

// send has a request answered once, with a response or an error, however the network treats it. It is brought to the coordinator unless
// its connection is gone by then: a client that sends again does so on another one. Of a JoinGroup or SyncGroup that means: not
// once the client has had an answer to it, or to a later one; and of a heartbeat of the new protocol, which says what the member owns. The classic protocol stands or falls with that: it numbers no requests, and a
// JoinGroup from before a round, when the member owned nothing, would put the member into the next one as if it still did
// (docs/decision/0008).
func (i *incarnation) send(req kmsg.Request, done func(resp any, err error)) {
	i.sent++
	w := i.p.w
	commits, number := i.commits, i.sent
	arrives := func(took time.Duration, answer func(any)) {
		switch req.(type) {
		case *kmsg.OffsetCommitRequest:
			if commits != i.commits {
				return
			}
		case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest, *kmsg.ConsumerGroupHeartbeatRequest:
			if number <= i.heard || !i.Lives() && w.Now.After(i.Died().Add(time.Second)) {
				return
			}
		}
		if took > time.Second { // it comes out of the past
			w.judge.disturbed()
		}
		w.co.ask(i, req, func(resp any) { answer(asSent(req, resp)) })
	}
	w.net.Send(i.Life, wait(req), arrives, func(resp any, err error) {
		if err == nil && inOrder(req) {
			i.heard = max(i.heard, number)
		}
		done(resp, err)
	})
}

// inOrder says that a request means nothing any more once the client has heard of a later one.
func inOrder(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest, *kmsg.ConsumerGroupHeartbeatRequest:
		return true
	}
	return false
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
