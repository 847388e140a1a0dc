package upgrade

import (
	"slices"

	"github.com/skeinstream/skein/interop/internal/member"
)

// history is all that is known of a group's life: what its members said, and
// what the broker wrote down about it.
type history struct {
	events      []member.Event
	commits     []commit        // in the order of the log
	generations []generation    // in the order of the log
	phases      []phase         // in order; everything belongs to the last that began before
	ends        map[int32]int64 // of the topic's partitions
}

// commit is an offset that the broker has accepted.
type commit struct {
	at        int64 // when it was read, in microseconds; the broker's own stamp may be of when it got to the request before
	partition int32
	offset    int64
}

// generation is a round that has ended: the leader's plan was there.
type generation struct {
	at       int64 // when it was read
	gone     bool  // it is none: the group is no classic one any more
	number   int32
	protocol string
	leader   string             // a member id
	members  map[string]planned // by member id
}

// planned is a member in a generation.
type planned struct {
	client     string // its client id, which is its name in events
	partitions []int32
}

// ids are the members of a generation.
func (g generation) ids() []string {
	ids := make([]string, 0, len(g.members))
	for id := range g.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// phase is a part of a life, such as one rolling bounce.
type phase struct {
	at   int64
	name string
}
