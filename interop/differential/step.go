package differential

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one thing done on both sides.
type step struct {
	text string // how a script shows it
	// request builds what is asked. Nil leaves the step out: there is nothing
	// to ask as things stand, which is for both sides alike.
	request func(s *side) kmsg.Request
	// learn remembers what the answer names, before it is rendered; it may be nil.
	learn func(s *side, response kmsg.Response)
	// after waits or remembers, once the answer is there; it may be nil.
	after func(s *side, response kmsg.Response) error
	// silent steps get no answer (acks=0): what is compared is whether the
	// connection stays open.
	silent bool
	// by is the member whose connection carries the request, which may wait for
	// minutes there; "" is the connection that all else uses.
	by    string
	group string // which group a member's request is about
	// releases: the answer may let requests go on that have been waiting.
	releases bool
	// again: Kafka may answer CONCURRENT_TRANSACTIONS while it writes markers, which we never do: the request is repeated until
	// it is over.
	again bool
	wait  wait
}

// wait is a step that asks nothing: time passes.
type wait struct {
	pause time.Duration // this long
	until string        // until this member's waiting request is answered
}

// outcome is what a step gave on one side.
type outcome struct {
	lines []string
	err   error // of the test's own making: the case cannot go on
	// skipped: there was nothing to ask.
	skipped bool
}

// run does the step on one side.
func (p step) run(s *side) outcome {
	request := p.request(s)
	if request == nil {
		return outcome{skipped: true}
	}
	if p.silent {
		return s.runSilent(request)
	}
	ask := s.ask
	if p.again {
		ask = s.comeAgain
	}
	response, err := ask(request)
	return p.outcome(s, response, err)
}

// outcome is what an answer gave.
func (p step) outcome(s *side, response kmsg.Response, err error) outcome {
	if errors.Is(err, errClosed) || errors.Is(err, errNoAnswer) {
		return outcome{lines: []string{"answer = " + err.Error()}}
	}
	if err != nil {
		return outcome{err: fmt.Errorf("%s: %w", s.name, err)}
	}
	if p.learn != nil {
		p.learn(s, response)
	}
	lines := s.render(response)
	if p.after != nil {
		if err := p.after(s, response); err != nil {
			return outcome{err: fmt.Errorf("%s, afterwards: %w", s.name, err)}
		}
	}
	return outcome{lines: lines}
}

// runSilent sends the request and then asks something else on the same
// connection.
func (s *side) runSilent(request kmsg.Request) outcome {
	if err := s.conn.send(request); err != nil {
		return outcome{err: err}
	}
	if _, err := s.conn.exchange(kmsg.NewPtrApiVersionsRequest()); err != nil {
		return outcome{lines: []string{"connection = " + err.Error()}}
	}
	return outcome{lines: []string{"connection = open"}}
}
