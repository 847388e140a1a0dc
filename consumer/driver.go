package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// driver is the shell of the membership machine. One goroutine, run, owns the machine; others send it functions to run. Requests are
// sent by goroutines of their own, which end with life.
type driver struct {
	c       *Consumer
	machine *membership.Machine
	work    chan func()
	stopped chan struct{} // run has returned

	// life ends every request that is still out; whoever ends it waits for sending and leaving.
	life    context.Context
	end     context.CancelFunc
	sending sync.WaitGroup
	leaving sync.WaitGroup

	wake    time.Time
	heard   time.Time // when the coordinator answered last
	current *call     // the callback that the user runs, or is to
	topics  topics
	tidies  bool // tidy is under way

	user user
}

// user is what the driver knows of the goroutine that polls.
type user struct {
	polled  atomic.Int64 // when it came last, as a duration since began
	waiting atomic.Bool  // it waits in Poll: it is not away (R-B11)
	resting atomic.Bool  // the machine waits for it
	fed     int64        // what the machine was told last; the driver's own
	began   time.Time
}

// waits says that the user is there for as long as it waits, until the function that is returned.
func (u *user) waits() func() {
	u.waiting.Store(true)
	return func() {
		u.polled.Store(time.Since(u.began).Nanoseconds())
		u.waiting.Store(false)
	}
}

func newDriver(c *Consumer, m *membership.Machine) *driver {
	d := &driver{c: c, machine: m, work: make(chan func()), stopped: make(chan struct{})}
	d.life, d.end = context.WithCancel(context.Background())
	d.user.began = time.Now()
	return d
}

// run is the goroutine that owns the machine. It ends when the membership is closed, or with life.
func (d *driver) run() {
	defer close(d.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !d.machine.Closed() {
		d.arm(timer)
		select {
		case f := <-d.work:
			f()
		case <-timer.C:
			d.tick()
		case <-d.life.Done():
			return
		}
	}
}

// arm sets the timer to what is due first.
func (d *driver) arm(timer *time.Timer) {
	next := time.Now().Add(time.Hour)
	for _, at := range []time.Time{d.wake, d.topics.next, d.silent()} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	timer.Reset(time.Until(next))
}

func (d *driver) tick() {
	now := time.Now()
	if due(d.topics.next, now) {
		d.refresh()
	}
	if due(d.silent(), now) {
		d.current.end(ErrSilent)
	}
	d.polls()
	d.does(d.machine.Tick(now))
}

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// post has the driver's goroutine run f some time; it waits for no more than that it is taken.
func (d *driver) post(f func()) {
	select {
	case d.work <- f:
	case <-d.stopped:
	}
}

// ask has it run f, and waits until it has.
func (d *driver) ask(f func()) {
	done := make(chan struct{})
	d.post(func() { defer close(done); f() })
	select {
	case <-done:
	case <-d.stopped:
	}
}

// step gives the machine an input.
func (d *driver) step(in membership.Input) {
	d.polls()
	d.does(d.machine.Step(time.Now(), in))
}

// polls tells the machine of the user's polls.
func (d *driver) polls() {
	now := time.Since(d.user.began).Nanoseconds()
	at := d.user.polled.Load()
	if d.user.waiting.Load() {
		at = now
	}
	if at <= d.user.fed {
		return
	}
	d.user.fed = at
	d.does(d.machine.Step(time.Now(), membership.Polled{At: d.user.began.Add(time.Duration(at))}))
}

// does carries an output out.
func (d *driver) does(out membership.Output) {
	d.carry(out)
	if !out.Fatal {
		d.c.desk.fail(out.Err, false)
	}
}

// carry is does without the error, unless that is fatal.
func (d *driver) carry(out membership.Output) {
	d.wake = out.Wake
	d.c.table.setGeneration(d.machine.Generation())
	d.stop(out.Stop)
	if d.machine.Expelled() || out.Fatal || out.Call != nil && out.Call.Callback == membership.Lost {
		d.expelled()
	}
	d.events(out.Events)
	d.start(out.Start, d.c.cfg.Listener.Assigned != nil)
	d.c.cfg.Hooks.roster(out.Roster)
	for _, r := range out.Requests {
		d.send(r)
	}
	if out.Want != nil {
		d.want(out.Want)
	}
	if out.Fatal {
		d.c.log.Error("the membership has ended: close the consumer", "group", d.c.cfg.Group, "error", out.Err)
		d.c.desk.fail(out.Err, true)
	}
	if out.Call != nil {
		d.call(out.Call)
	}
	d.user.resting.Store(d.machine.Resting())
	if d.machine.Resting() {
		d.polls()
	}
}

func (d *driver) events(events []Event) {
	for _, e := range events {
		d.tell(e)
	}
}

// send sends a request to the group's coordinator. Nobody waits for the answer to a LeaveGroup but who closes.
func (d *driver) send(r membership.Request) {
	if leave, ok := r.Req.(*kmsg.LeaveGroupRequest); ok {
		d.leaving.Go(func() { d.leave(leave) })
		return
	}
	d.sending.Go(func() {
		began := time.Now()
		resp, err := d.request(r.Req)
		d.c.stats.answered(r.Req, resp, err, time.Since(began))
		d.unanswered("a request to the group's coordinator was not answered: trying again", err)
		d.post(func() { d.answered(membership.Answered{ID: r.ID, Response: resp, Err: err}) })
	})
}

// unanswered tells of a request that got no answer. The user hears of what will not pass, such as a wrong password.
func (d *driver) unanswered(msg string, err error) {
	if err == nil || d.life.Err() != nil {
		return
	}
	d.c.log.Warn(msg, "group", d.c.cfg.Group, "error", err)
	if !passing(err) {
		d.c.desk.fail(err, false)
	}
}

// answered takes an answer, which shows besides that the coordinator lives.
func (d *driver) answered(in membership.Answered) {
	if in.Err == nil {
		d.heard = time.Now()
	}
	d.step(in)
}

// silent is when the coordinator has been silent for the time in which it gives a member up that it does not hear.
func (d *driver) silent() time.Time {
	if d.current == nil || d.heard.IsZero() || d.current.over.Err() != nil {
		return time.Time{}
	}
	return d.heard.Add(d.c.cfg.SessionTimeout)
}

func (d *driver) request(req kmsg.Request) (kmsg.Response, error) {
	if join, ok := req.(*kmsg.JoinGroupRequest); ok && join.InstanceID != nil {
		return d.c.joinStatic(d.life, join)
	}
	return d.c.kafka.Request(d.life, req)
}

func (d *driver) leave(req *kmsg.LeaveGroupRequest) {
	if _, err := d.c.kafka.Request(d.life, req); err != nil {
		d.c.log.Warn("leaving the group failed: it finds out by itself", "group", req.Group, "error", err)
	}
}

// stop takes partitions away.
func (d *driver) stop(list []TopicPartition) {
	stopped := d.c.table.stop(list)
	if len(stopped) == 0 {
		return
	}
	d.c.withTap(func() { d.c.forget(stopped) })
	d.c.kafka.ResumeFetchPartitions(byTopic(keys(stopped))) // a pause ends with the ownership (R-B5)
}

// start makes partitions the member's. Records come once it is known where from, and the Listener has heard of them if it is to.
func (d *driver) start(list []TopicPartition, untold bool) {
	started := d.c.table.start(list)
	d.c.table.tell(list, untold)
	if len(started) > 0 {
		d.sending.Go(func() { d.c.settle(d.life, started) })
	}
}

// expelled: what is owned is lost, and whoever works on it is told at once (FR-D1).
func (d *driver) expelled() {
	d.c.table.expel()
	if d.current != nil {
		d.current.end(ErrExpelled)
	}
}
