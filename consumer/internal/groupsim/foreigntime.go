package groupsim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// due does what the clock asks for, and says when to look again.
func (f *foreign) due() {
	if !f.retry.IsZero() && !f.now.Before(f.retry) {
		f.retry = time.Time{}
		switch f.stage {
		case joining:
			f.join()
		case syncing:
			f.send(f.sync)
		}
	}
	if f.polls() && !f.now.Before(f.polled.Add(pollMax)) {
		f.rest()
	}
	if f.beats() && !f.now.Before(f.beat) {
		f.sendBeat()
	}
	f.out.Wake = f.wake()
}

func (f *foreign) wake() (next time.Time) {
	soonest := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	soonest(f.retry)
	if f.polls() {
		soonest(f.polled.Add(pollMax))
	}
	if f.beats() {
		soonest(f.beat)
	}
	return next
}

func (f *foreign) polls() bool {
	return f.stage != idle && f.stage != resting && f.stage != ended && f.generation >= 0
}

// rest leaves for a user who is away (R-B11).
func (f *foreign) rest() {
	f.sayGoodbye()
	f.member, f.generation, f.lost = "", -1, len(f.owned) > 0
	f.out.Stop = append(f.out.Stop, f.owned...)
	if f.call != nil {
		f.then = f.asleep
		return
	}
	f.asleep()
}

func (f *foreign) asleep() {
	f.stage, f.id, f.retry = resting, 0, time.Time{}
	if f.now.Before(f.polled.Add(pollMax)) {
		f.prepare()
	}
}

// beats says that heartbeats are sent: not while a JoinGroup waits (R-B10).
func (f *foreign) beats() bool {
	switch f.stage {
	case preparing, leading, giving, taking, steady:
		return f.generation >= 0 && f.beating == 0
	}
	return false
}

func (f *foreign) sendBeat() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = groupName, f.generation, f.member
	if f.s.instance != "" {
		req.InstanceID = &f.s.instance
	}
	f.last++
	f.beating, f.beatOf = f.last, f.generation
	f.out.Requests = append(f.out.Requests, membership.Request{ID: f.last, Req: req})
}

func (f *foreign) beaten(in membership.Answered) {
	f.beating, f.beat = 0, f.now.Add(heartbeat)
	resp, ok := in.Response.(*kmsg.HeartbeatResponse)
	if !ok || f.generation < 0 || f.beatOf != f.generation {
		return
	}
	switch code := resp.ErrorCode; {
	case code == kerr.RebalanceInProgress.Code && f.stage == steady:
		f.prepare()
	case code == kerr.IllegalGeneration.Code || code == kerr.UnknownMemberID.Code:
		if f.stage == steady {
			f.forget(code)
		} else if f.call != nil {
			f.lost = len(f.owned) > 0
		}
	case code == kerr.FencedInstanceID.Code:
		f.fail(kerr.FencedInstanceID)
	}
}
