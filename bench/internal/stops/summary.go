package stops

import (
	"slices"
	"time"
)

// Noticeable is from when on a partition counts as stopped. Below it is what a
// busy machine does to a partition that nobody touches.
const Noticeable = 100 * time.Millisecond

// Summary is what all changes of a scenario did, in all its rounds.
type Summary struct {
	Changes int
	Moving  []time.Duration // stops of the partitions that had to move, in order
	Staying []time.Duration // of those that had not, in order; a partition counts once a change
	Noise   time.Duration   // longest stop in calm times
	Moves   int             // partitions that moved
	Fewest  int             // that had to
	Reread  int64
	Skipped int64

	Total      time.Duration // that partitions were stopped noticeably, all together
	Partitions int           // so many in each round; Total is theirs
}

// Add takes in the outcomes of one round.
func (s *Summary) Add(outcomes []Outcome) {
	partitions := 0
	for _, o := range outcomes {
		partitions = len(o.Stops)
		s.Reread += o.Reread
		s.Skipped += o.Skipped
		for _, stop := range o.Stops {
			s.add(o, stop)
		}
		if o.Calm {
			continue
		}
		s.Changes++
		s.Moves += o.Moves()
		s.Fewest += o.Fewest
	}
	s.Partitions += partitions
	slices.Sort(s.Moving)
	slices.Sort(s.Staying)
}

func (s *Summary) add(o Outcome, stop Stop) {
	if stop.Took >= Noticeable {
		s.Total += stop.Took
	}
	switch {
	case o.Calm:
		s.Noise = max(s.Noise, stop.Took)
	case stop.Needed:
		s.Moving = append(s.Moving, stop.Took)
	default:
		s.Staying = append(s.Staying, stop.Took)
	}
}

// Stopped counts the stops that are noticeable.
func Stopped(sorted []time.Duration) int {
	first, _ := slices.BinarySearch(sorted, Noticeable)
	return len(sorted) - first
}

// Median is the middle of sorted stops, 0 of none.
func Median(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Longest is the last of sorted stops, 0 of none.
func Longest(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)-1]
}

// Mean is how long a partition was stopped in a round, all changes together.
func (s *Summary) Mean() time.Duration {
	if s.Partitions == 0 {
		return 0
	}
	return s.Total / time.Duration(s.Partitions)
}
