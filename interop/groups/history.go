package groups

import (
	"fmt"
	"math"
	"time"

	"github.com/skeinstream/skein/interop/internal/member"
)

// check tells what of a history must not be: a partition with two owners, a
// record that nobody handled, one that was handled although the group's offset
// was beyond it when its handler got the partition, an offset that went back.
func check(history []member.Event, ends map[int32]int64) []string {
	c := checker{owner: map[int32]string{}, reading: map[int32]*reading{}, next: map[int32]int64{}, offset: map[int32]int64{}, leaving: map[string]bool{}}
	for _, e := range member.Sorted(history) {
		c.step(e)
	}
	for p, end := range ends {
		if c.next[p] != end {
			c.wrong(member.Event{Kind: member.Ended, Partitions: []int32{p}}, "handled up to %d of %d", c.next[p], end)
		}
	}
	return c.wrongs
}

// abandoned are the partitions that members have lost which were asked to leave, and that nobody has had since: in the middle of a round no
// commit of theirs counts any more (R-B17), and what they have handled last is read again.
func abandoned(history []member.Event) map[int32]bool {
	leaving, lost := map[string]bool{}, map[int32]bool{}
	for _, e := range member.Sorted(history) {
		if e.Kind == member.Leaving {
			leaving[e.Member] = true
		}
		for _, p := range e.Partitions {
			switch e.Kind {
			case member.Assigned:
				delete(lost, p)
			case member.Lost:
				lost[p] = leaving[e.Member]
			}
		}
	}
	return lost
}

// reading is how far the owner of a partition is.
type reading struct {
	started bool
	from    int64 // the group's offset when it got the partition, as far as known
	next    int64
}

type checker struct {
	owner   map[int32]string
	reading map[int32]*reading
	next    map[int32]int64 // below it somebody has handled everything
	offset  map[int32]int64 // the group's, last seen
	leaving map[string]bool // members that were asked to leave
	calm    int64           // until when the broker's start is felt
	wrongs  []string
}

// settling is how long a client may take to notice that the broker is back.
const settling = 3 * time.Second

func (c *checker) wrong(e member.Event, format string, args ...any) {
	c.wrongs = append(c.wrongs, fmt.Sprintf(format, args...)+": "+e.String())
}

func (c *checker) step(e member.Event) {
	switch e.Kind {
	case member.Ended:
		for p, owner := range c.owner {
			if owner == e.Member {
				delete(c.owner, p)
			}
		}
		return
	case member.Leaving:
		c.leaving[e.Member] = true
	case member.Down:
		c.calm = math.MaxInt64
	case member.Up:
		c.calm = e.At + settling.Microseconds()
	case member.Lost:
		// Whom a broker that is away does not answer may draw the same conclusion; and who leaves in the middle of a round
		// may be out of date already (R-B17).
		if e.At > c.calm && !c.leaving[e.Member] {
			c.wrong(e, "a live member was thrown out")
		}
	}
	for _, p := range e.Partitions {
		switch e.Kind {
		case member.Assigned:
			c.assigned(e, p)
		case member.Revoked, member.Lost:
			if c.owner[p] == e.Member {
				delete(c.owner, p)
			}
		case member.Handled:
			c.handled(e, p)
		case member.Committed:
			if e.Member == "" { // of when a member was told nothing follows about the order
				c.committed(e, p)
			}
		}
	}
}

func (c *checker) assigned(e member.Event, p int32) {
	if owner := c.owner[p]; owner != "" && owner != e.Member {
		c.wrong(e, "partition %d is still owned by %s", p, owner)
	}
	c.owner[p] = e.Member
	c.reading[p] = &reading{from: c.offset[p]}
}

func (c *checker) handled(e member.Event, p int32) {
	if c.owner[p] != e.Member {
		c.wrong(e, "partition %d is owned by %q", p, c.owner[p])
		return
	}
	if e.Count != e.Last-e.First+1 {
		c.wrong(e, "%d records from %d to %d", e.Count, e.First, e.Last)
	}
	r := c.reading[p]
	switch {
	case r.started && e.First != r.next:
		c.wrong(e, "partition %d goes on at %d, not at %d", p, e.First, r.next)
	case !r.started && e.First < r.from:
		c.wrong(e, "partition %d begins at %d, below the committed offset %d", p, e.First, r.from)
	case !r.started && e.First > c.next[p]:
		c.wrong(e, "partition %d begins at %d: nobody has handled %d", p, e.First, c.next[p])
	}
	r.started, r.next = true, e.Last+1
	c.next[p] = max(c.next[p], r.next)
}

func (c *checker) committed(e member.Event, p int32) {
	if e.First < c.offset[p] {
		c.wrong(e, "the offset of partition %d went back from %d", p, c.offset[p])
	}
	if e.First > c.next[p] {
		c.wrong(e, "the offset of partition %d is beyond %d, which nobody has handled", p, c.next[p])
	}
	c.offset[p] = e.First
}
