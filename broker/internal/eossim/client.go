package eossim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// client is one process of the simulated world. It belongs to one goroutine, sends one request at a time and waits for the
// answer, but what it has given up may still come through.
type client struct {
	w           *world
	name        string
	dice        *rand.Rand
	trace       *trace
	until       time.Duration // it crashes then; 0: never
	steady      bool          // the network does nothing to it
	hasty       bool          // it does not try again what was not answered
	overtaken   bool          // its requests may come late over new connections, too
	links       [connections]*link
	correlation int32
	sent        func() // is called when a request has come through
}

func (w *world) client(name string, number int) *client {
	c := &client{w: w, name: name, dice: w.dice(name, number), trace: &trace{name: name}, sent: func() {}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traces = append(w.traces, c.trace)
	return c
}

// dead says that the client has crashed.
func (c *client) dead() bool { return c.until > 0 && c.w.now() >= c.until }

// call sends a request once. code says what the answer says.
func (c *client) call(req kmsg.Request, version int16, about string, code func(kmsg.Response) int16) (resp kmsg.Response, err error) {
	if c.dead() {
		c.drop()
		return nil, errDead
	}
	req.SetVersion(version)
	f := c.fate()
	s := step{sent: c.w.now(), key: req.Key(), version: version, fate: f, about: about}
	body, err := c.exchange(req, f, c.sent)
	if err == nil {
		resp, err = parse(req, body)
	}
	if c.dead() { // before it has seen the answer
		c.drop()
		err = errDead
	}
	if s.got, s.err = c.w.now(), err; err == nil {
		s.code = code(resp)
	}
	c.trace.add(s)
	return resp, err
}

func parse(req kmsg.Request, body []byte) (kmsg.Response, error) {
	skip := 4 // the correlation id
	if req.IsFlexible() {
		skip++ // no tagged fields
	}
	if len(body) < skip {
		return nil, errors.New("a short response")
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(body[skip:])
}

// rest lets time go by.
func (c *client) rest(most time.Duration) { time.Sleep(spread(c.dice, most)) }

// retriable says that the same request may be answered otherwise later.
func retriable(code int16) bool {
	switch kerr.ErrorForCode(code) {
	case kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.ConcurrentTransactions,
		kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.KafkaStorageError, kerr.UnstableOffsetCommit:
		return true
	}
	return false
}

// progress bounds how long a client may have to try one request.
const progress = 90 * time.Second

// insist sends a request until it is answered by something that is not to be tried again. lost says that there was a try whose
// outcome nobody knows. The error is errDead, errLost of a hasty client, or that a client could make no progress, which is a problem of the run.
func (c *client) insist(req kmsg.Request, version int16, about string, code func(kmsg.Response) int16) (resp kmsg.Response, lost bool, err error) {
	for began := c.w.now(); ; {
		resp, err := c.call(req, version, about, code)
		switch {
		case err == errDead:
			return nil, true, err
		case err == errLost && c.hasty:
			return nil, true, err
		case err == errLost:
			lost = true
		case err == errDown:
		case err != nil:
			c.w.problem("%s: %s: %w", c.name, about, err)
			return nil, true, errDead
		case !retriable(code(resp)):
			return resp, lost, nil
		case kerr.ErrorForCode(code(resp)) == kerr.NotCoordinator: // what it had decided may be in its log
			lost = true
		}
		if c.w.now() > began+progress {
			c.w.problem("%s: no progress with %s v%d %s", c.name, kmsg.NameForKey(req.Key()), version, about)
			return nil, true, errDead
		}
		c.rest(100 * time.Millisecond)
	}
}
