package spread

import (
	"math"

	"github.com/skeinstream/skein/assign/internal/group"
)

// stock is one member of a group with equal subscriptions: what it has and owned
// of all topics, and what the sum of squares gains or loses at most if it gives
// up one of what it kept or took, or keeps or takes one more.
type stock struct {
	has, owned           int32
	dropKept, dropTaken  int32 // won at most; 0 when there is none
	keepMore, takeMore   int32 // lost at least; never32 when there is none
	hasTopic, ownedTopic int32 // of the topic at hand
}

const never32 = math.MaxInt32

// isBest reports, of a group with equal subscriptions, whether the topics
// are spread as evenly as can be; false is no proof of the contrary.
//
// Who has which load, and how many partitions each member keeps of its own, are given
// by the goals before, but for who has one more than others. If every member were
// free to choose among its own and among all topics, it could not do better than
// when no exchange of one for one helps it, since squares are convex; nor
// could the one more be with anybody cheaper if nobody who has it pays more than
// somebody who has not would. Where all this holds, there is no round that wins.
func (p *Problem) isBest() bool {
	stocks := make([]stock, len(p.Hub))
	for m := range stocks {
		stocks[m].keepMore, stocks[m].takeMore = never32, never32
	}
	even := true
	runs := p.Sources.Of(0)
	for _, r := range runs {
		for q := r.From; q < r.To; q++ {
			stocks[p.Owner[q]].hasTopic++
			if m := p.Before[q]; m != group.None {
				stocks[m].ownedTopic++
			}
		}
		least, most := int32(never32), int32(0)
		for m := range stocks {
			s := &stocks[m]
			least, most = min(least, s.hasTopic), max(most, s.hasTopic)
			s.addTopic()
		}
		even = even && most <= least+1
	}
	return even || p.nobodyGains(stocks)
}

// addTopic counts the topic at hand.
func (s *stock) addTopic() {
	n, drop, add := s.hasTopic, 2*s.hasTopic-1, 2*s.hasTopic+1
	s.has += n
	s.owned += s.ownedTopic
	if n > s.ownedTopic {
		s.dropTaken = max(s.dropTaken, drop)
	} else {
		s.dropKept = max(s.dropKept, drop)
	}
	if n < s.ownedTopic {
		s.keepMore = min(s.keepMore, add)
	} else {
		s.takeMore = min(s.takeMore, add)
	}
	s.hasTopic, s.ownedTopic = 0, 0
}

func (p *Problem) nobodyGains(stocks []stock) bool {
	// Of those for whom the one more is kept, and is taken: what who has it pays at
	// most, and what who has it not would pay at least.
	pays, would := [2]int32{}, [2]int32{never32, never32}
	for m := range stocks {
		s := &stocks[m]
		if s.dropKept > s.keepMore || s.dropTaken > s.takeMore {
			return false
		}
		high := p.High[m]
		taken, drop, add := 0, s.dropKept, s.keepMore
		if s.owned < high {
			taken, drop, add = 1, s.dropTaken, s.takeMore
		}
		switch {
		case p.Low[m] == high:
		case s.has == high:
			pays[taken] = max(pays[taken], drop)
		default:
			would[taken] = min(would[taken], add)
		}
	}
	return pays[0] <= would[0] && pays[1] <= would[1]
}
