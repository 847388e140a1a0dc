package group

import (
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// Offsets end when nobody has needed them for offsets.retention.minutes (KIP-211, R-D19):
//
//	simple group                                 since the commit
//	Empty                                        since it became Empty (since the commit if that is not known)
//	Stable consumers, subscriptions known        since the commit, for topics that nobody subscribes to
//	anything else                                never
//
// A commit of an old client (v2 to v4) may have brought an expiry of its own; it takes the place of these times, but does
// not end what would be kept for ever. Nothing ends of a partition that has an offset in an open transaction. A group that
// is Empty and has no offsets left, not even those, is removed with its last one.

// expire returns the tombstones of what has ended by now.
func (m *Machine) expire(now time.Time) []machine.Record {
	var ending []*Group
	for _, g := range m.groups {
		if g.ending(now, m.settings.OffsetsRetention) {
			ending = append(ending, g)
		}
	}
	slices.SortFunc(ending, func(a, b *Group) int { return strings.Compare(a.name, b.name) })
	var records []machine.Record
	for _, g := range ending {
		offsets, all := g.expired(now, m.settings.OffsetsRetention)
		records = append(records, offsets...)
		m.totals.expired += int64(len(offsets))
		if all && g.state == Empty {
			records = append(records, groupTombstone(g.name))
		}
	}
	return records
}

// expiration says what an offset's time is counted from.
type expiration int

const (
	never expiration = iota
	sinceCommit
	sinceEmpty
)

func (g *Group) expiration() expiration {
	switch {
	case g.protocolType == "":
		return sinceCommit
	case g.state == Empty && g.stateSince.IsZero():
		return sinceCommit
	case g.state == Empty:
		return sinceEmpty
	case g.state == Stable && g.protocolType == consumerProtocol:
		return sinceCommit // of topics that subscribedTo does not name
	}
	return never
}

// ending says whether there is anything for expired to do: most groups have nothing, and are not walked twice.
func (g *Group) ending(now time.Time, retention time.Duration) bool {
	if g.offsets.empty() {
		return g.state == Empty
	}
	base := g.expiration()
	return base != never && slices.ContainsFunc(g.offsets.topics, func(t *topicOffsets) bool {
		return !g.subscribedTo(t.topic.name) && slices.ContainsFunc(t.list, func(c committed) bool {
			return g.hasExpired(&c, base, now, retention) && !t.unstable(c.partition)
		})
	})
}

// expired returns tombstones of the offsets of a group that is ending, and whether those are all.
func (g *Group) expired(now time.Time, retention time.Duration) (out []machine.Record, all bool) {
	all = true
	base := g.expiration()
	for _, t := range g.offsets.topics {
		kept := g.subscribedTo(t.topic.name)
		all = all && t.open == nil
		for i := range t.list {
			if kept || !g.hasExpired(&t.list[i], base, now, retention) || t.unstable(t.list[i].partition) {
				all = false
				continue
			}
			out = append(out, offsetTombstone(g.name, t.topic.name, t.list[i].partition))
		}
	}
	return out, all
}

func (g *Group) hasExpired(c *committed, base expiration, now time.Time, retention time.Duration) bool {
	if at := c.expires(); at != noExpiry {
		return now.UnixMilli() >= at
	}
	since := c.at
	if base == sinceEmpty {
		since = g.stateSince.UnixMilli()
	}
	return now.UnixMilli()-since >= retention.Milliseconds()
}
