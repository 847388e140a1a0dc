package groupsim

import "github.com/skeinstream/skein/internal/simulation"

// Shrink takes out of a script what it does not need to keep on being what it is.
func Shrink(s *Script, is func(*Script) bool) *Script { return simulation.Shrink(s, smaller, is) }

// smaller are a script's versions without one line, or with a better network.
func smaller(s *Script) []*Script {
	return simulation.Smaller(s, func(s *Script) *simulation.Script { return &s.Script },
		func(s *Script) *int { return &s.Slow }, func(s *Script) *int { return &s.Fail })
}
