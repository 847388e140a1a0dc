package differential

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one thing done on both sides.
type step struct {
	text    string // how a script shows it
	request func(s *side) kmsg.Request
	// after waits or remembers, once the answer is there; it may be nil.
	after func(s *side, response kmsg.Response) error
	// silent steps get no answer (acks=0): what is compared is whether the
	// connection stays open.
	silent bool
}

// outcome is what a step gave on one side.
type outcome struct {
	lines []string
	err   error // of the test's own making: the case cannot go on
}

// run does the step on one side.
func (p step) run(s *side) outcome {
	request := p.request(s)
	if p.silent {
		return s.runSilent(request)
	}
	response, err := s.ask(request)
	if errors.Is(err, errClosed) || errors.Is(err, errNoAnswer) {
		return outcome{lines: []string{"answer = " + err.Error()}}
	}
	if err != nil {
		return outcome{err: fmt.Errorf("%s: %w", s.name, err)}
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
