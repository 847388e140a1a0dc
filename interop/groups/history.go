package groups

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// kind is what an event tells.
type kind string

const (
	assigned  kind = "assigned"  // the client gave the member partitions
	revoked   kind = "revoked"   // the client took partitions from it, or it is about to leave
	lost      kind = "lost"      // the client says that others may have had them already
	handled   kind = "handled"   // the member is done with records first to last of one partition
	committed kind = "committed" // the broker, asked from outside, tells the group's offset of a partition
	ended     kind = "ended"     // the member's process is gone
	down      kind = "down"      // the broker is being started again
	up        kind = "up"        // and is there
)

// event is one moment of a group's life. Members stamp theirs themselves, by
// the clock of the machine that all of them share, before they go on: the order
// of the stamps is the order of cause and effect.
type event struct {
	at          int64 // microseconds
	member      string
	kind        kind
	partitions  []int32
	first, last int64 // of handled; first is the offset of committed
	count       int64
}

func (e event) String() string {
	return fmt.Sprintf("%d.%06d %s %s %v %d-%d", e.at/1e6%1e4, e.at%1e6, e.member, e.kind, e.partitions, e.first, e.last)
}

// check tells what of a history must not be: a partition with two owners, a
// record that nobody handled, one that was handled although the group's offset
// was beyond it when its handler got the partition, an offset that went back.
func check(history []event, ends map[int32]int64) []string {
	c := checker{owner: map[int32]string{}, reading: map[int32]*reading{}, next: map[int32]int64{}, offset: map[int32]int64{}}
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range sorted {
		c.step(e)
	}
	for p, end := range ends {
		if c.next[p] != end {
			c.wrong(event{kind: ended, partitions: []int32{p}}, "handled up to %d of %d", c.next[p], end)
		}
	}
	return c.wrongs
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
	calm    int64           // until when the broker's start is felt
	wrongs  []string
}

// settling is how long a client may take to notice that the broker is back.
const settling = 3 * time.Second

func (c *checker) wrong(e event, format string, args ...any) {
	c.wrongs = append(c.wrongs, fmt.Sprintf(format, args...)+": "+e.String())
}

func (c *checker) step(e event) {
	switch e.kind {
	case ended:
		for p, owner := range c.owner {
			if owner == e.member {
				delete(c.owner, p)
			}
		}
		return
	case down:
		c.calm = math.MaxInt64
	case up:
		c.calm = e.at + settling.Microseconds()
	case lost:
		// Whom a broker that is away does not answer may draw the same conclusion.
		if e.at > c.calm {
			c.wrong(e, "a live member was thrown out")
		}
	}
	for _, p := range e.partitions {
		switch e.kind {
		case assigned:
			c.assigned(e, p)
		case revoked, lost:
			if c.owner[p] == e.member {
				delete(c.owner, p)
			}
		case handled:
			c.handled(e, p)
		case committed:
			c.committed(e, p)
		}
	}
}

func (c *checker) assigned(e event, p int32) {
	if owner := c.owner[p]; owner != "" && owner != e.member {
		c.wrong(e, "partition %d is still owned by %s", p, owner)
	}
	c.owner[p] = e.member
	c.reading[p] = &reading{from: c.offset[p]}
}

func (c *checker) handled(e event, p int32) {
	if c.owner[p] != e.member {
		c.wrong(e, "partition %d is owned by %q", p, c.owner[p])
		return
	}
	if e.count != e.last-e.first+1 {
		c.wrong(e, "%d records from %d to %d", e.count, e.first, e.last)
	}
	r := c.reading[p]
	switch {
	case r.started && e.first != r.next:
		c.wrong(e, "partition %d goes on at %d, not at %d", p, e.first, r.next)
	case !r.started && e.first < r.from:
		c.wrong(e, "partition %d begins at %d, below the committed offset %d", p, e.first, r.from)
	case !r.started && e.first > c.next[p]:
		c.wrong(e, "partition %d begins at %d: nobody has handled %d", p, e.first, c.next[p])
	}
	r.started, r.next = true, e.last+1
	c.next[p] = max(c.next[p], r.next)
}

func (c *checker) committed(e event, p int32) {
	if e.first < c.offset[p] {
		c.wrong(e, "the offset of partition %d went back from %d", p, c.offset[p])
	}
	if e.first > c.next[p] {
		c.wrong(e, "the offset of partition %d is beyond %d, which nobody has handled", p, c.next[p])
	}
	c.offset[p] = e.first
}

// tell is a history in order, a line an event, but for offsets seen again.
func tell(history []event) string {
	var b strings.Builder
	sorted, offsets := slices.Clone(history), map[int32]int64{}
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range sorted {
		if e.kind == committed {
			if offsets[e.partitions[0]] == e.first {
				continue
			}
			offsets[e.partitions[0]] = e.first
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
