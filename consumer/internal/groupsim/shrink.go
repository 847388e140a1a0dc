package groupsim

import (
	"slices"

	"github.com/skeinstream/skein/internal/simulation"
)

// Shrink takes out of a script what it does not need to keep on being what it is.
func Shrink(s *Script, is func(*Script) bool) *Script { return simulation.Shrink(s, smaller, is) }

// smaller are a script's versions without one line, or with a better network.
func smaller(s *Script) (list []*Script) {
	but := func(change func(*Script)) {
		c := *s
		c.Lines, c.Topics = slices.Clone(s.Lines), slices.Clone(s.Topics)
		change(&c)
		list = append(list, &c)
	}
	for i := len(s.Lines) - 1; i >= 0; i-- {
		but(func(c *Script) { c.Lines = slices.Delete(c.Lines, i, i+1) })
	}
	for _, number := range []func(*Script) *int{
		func(c *Script) *int { return &c.Lost }, func(c *Script) *int { return &c.Twice }, func(c *Script) *int { return &c.Late },
		func(c *Script) *int { return &c.Slow }, func(c *Script) *int { return &c.Fail },
	} {
		if *number(s) != 0 {
			but(func(c *Script) { *number(c) = 0 })
		}
	}
	for i, t := range s.Topics {
		if t.Partitions > 1 {
			but(func(c *Script) { c.Topics[i].Partitions-- })
		}
	}
	return list
}
