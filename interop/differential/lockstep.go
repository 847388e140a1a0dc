package differential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests of group members may wait until other members have done something.
// A request waits when neither side has answered it a while after it was sent;
// its answers are compared when they come, whatever step brings them. When one
// side answers the other has to, too.
const (
	// parkAfter is how long a request may take before it counts as waiting. One
	// that is merely slow is compared a step later.
	parkAfter = 20 * time.Millisecond
	// followAfter is how much later than the answer that released them the
	// answers to waiting requests may come.
	followAfter = 4 * time.Millisecond
	// allJoinedAfter is how long a group is waited for whose members have all
	// joined, when it may have something else to wait for.
	allJoinedAfter = 600 * time.Millisecond
	// oneSided is how long one side may take once the other has answered, and both for what has to come.
	oneSided = 10 * time.Second
)

// exchange is one request with its answers.
type exchange struct {
	step          step
	kafka, target outcome
	later         bool // answered in a later step than it was asked in
}

// flight is a member's request that has been sent to both sides.
type flight struct {
	step          step
	kafka, target chan reply
}

type reply struct {
	response kmsg.Response
	err      error
}

// land waits for the end of a flight whose connections are closed.
func (f *flight) land() {
	<-f.kafka
	<-f.target
}

// do does one step, and returns all that was answered in it.
func (p *pair) do(s step) ([]exchange, error) {
	switch {
	case s.request == nil:
		return p.pass(s.wait)
	case s.by != "":
		return p.fly(s)
	}
	k, t := p.both(s)
	if err := errors.Join(k.err, t.err); err != nil {
		return nil, err
	}
	if k.skipped && t.skipped {
		return nil, nil
	}
	all := []exchange{{step: s, kafka: k, target: t}}
	if s.releases {
		all = append(all, p.released(followAfter)...)
	}
	return all, failed(all)
}

// pass lets time go by, and returns what was answered meanwhile.
func (p *pair) pass(w wait) ([]exchange, error) {
	if w.until != "" {
		f := p.flightOf(w.until)
		if f == nil {
			return nil, fmt.Errorf("%s waits for nothing", w.until)
		}
		own, landed := p.await(f, oneSided)
		if !landed {
			return nil, fmt.Errorf("no broker answers %s", f.step.text)
		}
		all := append([]exchange{own}, p.released(followAfter)...)
		return all, failed(all)
	}
	end := time.Now().Add(w.pause)
	var all []exchange
	for left := w.pause; left > 0; left = time.Until(end) {
		if len(p.flights) == 0 {
			pause(left)
			break
		}
		all = append(all, p.released(min(left, parkAfter))...)
	}
	return all, failed(all)
}

// fly sends a member's request on its own connection. If it has to wait there,
// both groups are looked at instead of its answers.
func (p *pair) fly(s step) ([]exchange, error) {
	if p.flightOf(s.by) != nil {
		return nil, nil
	}
	k, t := s.request(p.kafka), s.request(p.target)
	if k == nil && t == nil {
		return nil, nil
	}
	if k == nil || t == nil {
		return nil, errors.New("the test has something to ask of one side only")
	}
	f := &flight{step: s}
	var kErr, tErr error
	f.kafka, kErr = p.kafka.cast.send(s.by, k)
	f.target, tErr = p.target.cast.send(s.by, t)
	p.flights = append(p.flights, f)
	if err := errors.Join(kErr, tErr); err != nil {
		return nil, err
	}
	own, landed := p.await(f, parkAfter)
	if landed {
		all := append([]exchange{own}, p.released(followAfter)...)
		return all, failed(all)
	}
	all, err := p.look(f)
	all = append(all, p.released(0)...)
	return all, errors.Join(err, failed(all))
}

// look compares the groups instead of the answer to a request that waits. What
// the descriptions say may be a moment behind, and a group whose members have
// all joined is about to answer: both are waited for.
func (p *pair) look(f *flight) ([]exchange, error) {
	s := describeSpec{version: 5, groups: []string{f.step.group}}.step()
	s.text = f.step.text + " (waits) and then " + s.text
	for began := time.Now(); ; {
		k, t := p.both(s)
		if own, landed := p.await(f, 0); landed {
			return []exchange{own}, nil
		}
		same := len(p.filtered(s, compare(k.lines, t.lines))) == 0
		if took := time.Since(began); same && took > p.unrest(f, k.lines) || took > oneSided {
			all := []exchange{{step: s, kafka: k, target: t}}
			return all, failed(all)
		}
		pause(parkAfter)
	}
}

// unrest is how long a group may stay as it is described while a request waits.
func (p *pair) unrest(f *flight, description []string) time.Duration {
	members, joins, state := 0, 0, ""
	for _, line := range description {
		if _, value, ok := strings.Cut(line, ".State = "); ok {
			state = value
		}
		if strings.Contains(line, "].MemberID = ") {
			members++
		}
	}
	for _, other := range p.flights {
		if other.joins() {
			joins++
		}
	}
	switch {
	case f.joins() && state != "PreparingRebalance", !f.joins() && state != "CompletingRebalance":
		return oneSided // so nothing waits
	case !f.joins() || joins < members:
		return 0
	case p.delays || len(p.kafka.cast.pending) > 0:
		return allJoinedAfter
	}
	return oneSided // the first round begins with a timer
}

func (f *flight) joins() bool { return strings.HasPrefix(f.step.text, "JoinGroup") }

// flightOf is the request of a member that waits, if one does.
func (p *pair) flightOf(by string) *flight {
	for _, f := range p.flights {
		if f.step.by == by {
			return f
		}
	}
	return nil
}

// released collects the answers to requests that had to wait.
func (p *pair) released(grace time.Duration) []exchange {
	end := time.Now().Add(grace)
	var all []exchange
	for _, f := range p.flights { // await makes another list
		if e, landed := p.await(f, time.Until(end)); landed {
			e.later = true
			all = append(all, e)
		}
	}
	return all
}

// await waits until a flight is answered on either side, and then for the other.
func (p *pair) await(f *flight, grace time.Duration) (e exchange, landed bool) {
	e.step = f.step
	var late <-chan time.Time
	if len(f.kafka)+len(f.target) == 0 {
		late = time.After(max(0, grace))
	}
	select {
	case r := <-f.kafka:
		e.kafka, e.target = p.taken(f, p.kafka, r), p.waited(f, p.target, f.target)
	case r := <-f.target:
		e.target, e.kafka = p.taken(f, p.target, r), p.waited(f, p.kafka, f.kafka)
	case <-late:
		return e, false
	}
	p.flights = slices.DeleteFunc(slices.Clone(p.flights), func(other *flight) bool { return other == f })
	return e, true
}

// patience is how long one side may take once the other has answered; where
// Kafka is known to stay silent that is not long.
func (s step) patience() time.Duration {
	if strings.Contains(s.text, noRoomText) || strings.Contains(s.text, namedTwiceText) {
		return time.Second
	}
	return oneSided
}

// waited is the answer of the second side.
func (p *pair) waited(f *flight, s *side, answer chan reply) outcome {
	select {
	case r := <-answer:
		return p.taken(f, s, r)
	case <-time.After(f.step.patience()):
		s.cast.hangUp(f.step.by)
		<-answer
		return outcome{lines: []string{"answer = none"}}
	}
}

func (p *pair) taken(f *flight, s *side, r reply) outcome {
	s.cast.landed(f.step.by)
	if r.err != nil {
		s.cast.hangUp(f.step.by)
	}
	return f.step.outcome(s, r.response, r.err)
}

func failed(all []exchange) error {
	var errs []error
	for _, e := range all {
		errs = append(errs, e.kafka.err, e.target.err)
	}
	return errors.Join(errs...)
}

// choseFreely tells whether the brokers had a free choice and chose otherwise:
// who leads when the leader has gone is for each to say, and so the case cannot
// go on.
func (p *pair) choseFreely(exchanges []exchange) bool {
	joined := false
	for _, e := range exchanges {
		joined = joined || e.step.by != ""
	}
	k, t := p.kafka.cast.leaders(), p.target.cast.leaders()
	return joined && k.before == t.before && k.before != "" && k.now != t.now && k.now != k.before && t.now != t.before
}
