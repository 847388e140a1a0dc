package upgrade

import (
	"context"
	"slices"
	"time"

	"github.com/skeinstream/skein/interop/internal/member"
)

// newProtocol: members of the new protocol (KIP-848) come to a classic group of Kafka's, which the coordinator makes one
// of that protocol, and leave it, which makes it a classic one again (R-H7 to R-H9, M23). Ours are COOPERATIVE all the time: they give up
// what the newcomer gets, and nothing else. Old code that is EAGER gives up all it has, as in any group.
func (l *life) newProtocol(ours, old, newcomer code) {
	l.t.Helper()
	l.phase("a classic group: %v, %v", ours, old)
	l.fleet(ours, ours, old)
	mine := l.slots[:2]
	l.rests("classic")
	before := l.generation()

	l.phase("a member of the new protocol comes: %v", newcomer)
	since, had := member.Now(), l.have(mine)
	z := &slot{name: "z"}
	l.slots = append(l.slots, z)
	l.start(z, newcomer)
	l.settle("the new protocol comes")
	l.rests("consumer")
	if now := l.generation(); !now.gone {
		l.t.Errorf("the classic group goes on with %+v", now)
	}
	l.gaveUpNoMore(since, mine, had)

	l.phase("one is bounced beside it: %v", ours)
	l.bounce(mine[0], ours)
	l.rests("consumer")

	l.phase("the member of the new protocol leaves")
	since, had = member.Now(), l.have(mine)
	l.leave(z)
	l.slots = l.slots[:3]
	l.settle("the new protocol leaves")
	l.rests("classic")
	l.keptAll(since, mine, had)
	if after := l.generation(); after.gone || after.number <= before.number || len(after.members) != len(l.slots) {
		l.t.Errorf("after generation %d the classic group is %+v", before.number, after)
	}
	l.finish()
}

// rests waits until the group is of a type, and every member has come to what it is to have. Who has not is out of it when the group is converted: what it has is
// lost, and a Java member that is about to sync ends, since the name under which it does is not the one that is selected then.
func (l *life) rests(kind string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), member.Patience)
	defer cancel()
	for {
		groups, err := l.w.log.admin.ListGroups(ctx)
		l.must(err)
		is := groups[l.name]
		if is.GroupType == kind && is.State == "Stable" {
			return
		}
		select {
		case <-time.After(heartbeat):
		case <-ctx.Done():
			l.t.Fatalf("the group is of type %q and %s, and is to be %q and at rest", is.GroupType, is.State, kind)
		}
	}
}

// have is what members own.
func (l *life) have(slots []*slot) map[string][]int32 {
	have := map[string][]int32{}
	for _, s := range slots {
		have[s.now()] = l.seen.Owned(s.now())
	}
	return have
}

// gaveUpNoMore: of what members had since a moment, they have given up what is not theirs now, and nothing came and went.
func (l *life) gaveUpNoMore(since int64, slots []*slot, had map[string][]int32) {
	l.t.Helper()
	for name, is := range l.have(slots) {
		for _, p := range l.touched(since, name) {
			if slices.Contains(had[name], p) == slices.Contains(is, p) {
				l.t.Errorf("%s had %v and has %v: partition %d was touched for nothing", name, had[name], is, p)
			}
		}
	}
}

// keptAll: members kept what they had.
func (l *life) keptAll(since int64, slots []*slot, had map[string][]int32) {
	l.t.Helper()
	l.gaveUpNoMore(since, slots, had)
	for name, is := range l.have(slots) {
		for _, p := range had[name] {
			if !slices.Contains(is, p) {
				l.t.Errorf("%s had %v and has %v", name, had[name], is)
			}
		}
	}
}

// touched are the partitions that a member got or gave up since a moment.
func (l *life) touched(since int64, name string) (touched []int32) {
	for _, e := range l.seen.All() {
		if e.Member == name && e.At >= since && slices.Contains([]member.Kind{member.Assigned, member.Revoked, member.Lost}, e.Kind) {
			touched = append(touched, e.Partitions...)
		}
	}
	return touched
}
