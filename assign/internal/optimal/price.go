package optimal

import (
	"errors"
	"math"

	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/moves"
)

// ErrTooLarge says that the goals of so large a group do not fit into one 64-bit number.
var ErrTooLarge = errors.New("too many partitions and members for this many goals")

// price makes the goals into one number: what is paid for the first exceeds all
// that can ever be paid for the next. Former owners are only a hint, and are
// left out where they do not fit.
func (s *solver) price() (moves.Price, error) {
	if s.Former != nil {
		if p, fits := s.prices(s.formerCount() + 1); fits {
			p.Estranged = 1
			return p, nil
		}
		s.Former = nil
	}
	p, fits := s.prices(1)
	if !fits {
		return p, ErrTooLarge
	}
	return p, nil
}

// prices starts with the least goal at the given unit, and reports whether a
// path over all members stays within 64 bits.
func (s *solver) prices(unit int64) (p moves.Price, fits bool) {
	most := int64(s.Partitions()) + 1 // no goal is missed more often
	fits = true
	next := func() int64 {
		u := unit
		fits = fits && unit < math.MaxInt64/4/int64(len(s.MemberClass)+1)
		unit = min(unit, math.MaxInt64/most) * most
		return u
	}
	if s.Racks != nil && !s.RacksFirst {
		p.Misfit = next()
	}
	if s.Slack > 0 {
		p.Uneven = next()
	}
	p.Move = next()
	if s.Racks != nil && s.RacksFirst {
		p.Misfit = next()
	}
	return p, fits
}

func (s *solver) formerCount() (n int64) {
	for _, m := range s.Former {
		if m != group.None {
			n++
		}
	}
	return n
}
