package story

import (
	"fmt"
	"maps"

	"github.com/skeinstream/skein/internal/ownership"
)

// Ends takes what the producer was told: everything below is to be handled in the end.
func (s *State) Ends(ends map[int32]int64) { s.ends = maps.Clone(ends) }

// Opening is the event with which an act begins.
func (s *State) Opening(act int) Event {
	a := s.Acts[act]
	return Event{Event: ownership.Event{Kind: ownership.Began, Phase: a.Title, Clean: a.Clean, Limit: a.Limit}, Act: act, Text: a.Point}
}

// Meets looks whether the act that ends here has come to where it should.
func (s *State) Meets() {
	act := s.Acts[s.Act]
	if assignor, protocol := s.InForce(); assignor != act.Assignor || protocol != act.Protocol() {
		s.expectation = append(s.expectation, fmt.Sprintf("%q ends with %s and %s, not with %s and %s", act.Title, assignor, protocol, act.Assignor, act.Protocol()))
	}
}

// Drained says that everything that was produced is handled.
func (s *State) Drained() bool {
	for p, end := range s.ends {
		if s.Parts[p].Handled < end {
			return false
		}
	}
	return true
}

// Verdict is what the play has come to so far.
func (s *State) Verdict() ownership.Verdict {
	v := s.watch.Verdict(s.ends)
	v.Wrongs = append(append(v.Wrongs, s.expectation...), s.Failures...)
	return v
}
