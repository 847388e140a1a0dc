package differential

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupWorld draws the steps of a case about one consumer group, its members,
// and their offsets. Like world it never looks at answers. What a step asks may
// depend on what its player was told, which is the same on both sides.
type groupWorld struct {
	*world
	group string
	kind  string
	casts []*role
	votes bool // members do not agree about the order of protocols
	step  []step
}

// role is the idea of a player.
type role struct {
	name, instance string
	offers         []offer
	changes        int
}

func newGroupWorld(seed uint64, prefix string, ranges map[int16]versions, now int64) *groupWorld {
	w := &groupWorld{world: newWorld(seed, prefix, ranges, now)}
	w.group = prefix + "g"
	w.kind = pick(w.world, []string{"consumer", "consumer", "consumer", "consumer", "connect", "sr"})
	w.votes = w.chance(6)
	for _, name := range []string{"a", "b", "c", "d"}[:1+w.r.IntN(4)] {
		r := &role{name: name}
		if w.chance(3) {
			r.instance = "instance-" + name
		}
		w.casts = append(w.casts, r)
	}
	return w
}

// steps draws a case of about n steps.
func (w *groupWorld) steps(n int) []step {
	w.step = []step{w.createOne("plain"), w.createOne("plain")}
	for _, r := range w.casts {
		w.renew(r)
	}
	makers := w.groupMakers()
	for len(w.step) < n {
		if w.chance(12) {
			w.converge()
			continue
		}
		w.step = append(w.step, pickWeighted(w.world, makers)())
	}
	return append(w.step, w.groupEnd()...)
}

func (w *groupWorld) groupMakers() []maker {
	return []maker{
		{14, w.join}, {3, w.joinHandedOut}, {5, w.joinAnew}, {5, w.oddJoin},
		{10, w.leaderSync}, {6, w.followerSync}, {4, w.oddSync},
		{8, w.heartbeat}, {4, w.leave}, {2, w.leaveStale},
		{14, w.commit}, {9, w.offsetFetch}, {3, w.offsetDelete},
		{4, w.describe}, {2, w.list}, {2, w.deleteGroups}, {2, w.findCoordinator},
		{1, w.newTopic}, {1, w.deleteOne},
	}
}

// converge lets every player join and sync, as clients do that mean well.
func (w *groupWorld) converge() {
	w.step = append(w.step, w.leaveStale())
	for range 2 { // the second time round the ids that were handed out join
		for _, i := range w.r.Perm(len(w.casts)) {
			j := w.joinOf(w.casts[i])
			w.step = append(w.step, j.step())
			j.only = "handed out"
			w.step = append(w.step, j.step())
		}
	}
	for _, i := range w.r.Perm(len(w.casts)) {
		w.step = append(w.step, w.syncOf(w.casts[i], "leader").step(), w.syncOf(w.casts[i], "follower").step())
	}
}

// groupEnd looks at everything, and then takes the group apart.
func (w *groupWorld) groupEnd() []step {
	var steps []step
	steps = append(steps, w.describeOf(w.group, w.group+"-simple").step(), w.listSpec().step(), w.fetchEverything(w.group), w.fetchEverything(w.group+"-simple"))
	for _, r := range w.casts {
		steps = append(steps, heartbeatSpec{of: r.name, group: w.group, version: 4, id: r.name}.step())
	}
	leave := leaveSpec{group: w.group, version: 5, stale: true}
	for _, r := range w.casts {
		leave.members = append(leave.members, leaver{id: r.name})
	}
	return append(steps, leave.step(), w.describeOf(w.group).step(),
		deleteGroupsSpec{version: 2, groups: []string{w.group, w.group + "-simple"}}.step(), w.describeOf(w.group).step())
}

func (w *groupWorld) someone() *role { return w.casts[w.r.IntN(len(w.casts))] }

// names are the protocols of the group's type.
func (w *groupWorld) names() []string {
	if w.kind == "consumer" {
		return []string{"range", "roundrobin", "sticky", "cooperative-sticky"}
	}
	return []string{"v2", "v1", "v0"}
}

// renew draws what a player offers. All keep to one order, unless the case is
// about votes: how a tie ends is for each broker to say.
func (w *groupWorld) renew(r *role) {
	names := w.names()
	from := w.r.IntN(len(names) - 1)
	names = slices.Clone(names[from : from+1+w.r.IntN(len(names)-from)])
	if !w.chance(4) && !slices.Contains(names, w.names()[1]) {
		names = append(names, w.names()[1])
		slices.SortFunc(names, func(a, b string) int { return slices.Index(w.names(), a) - slices.Index(w.names(), b) })
	}
	if w.votes && w.chance(2) {
		slices.Reverse(names)
	}
	r.changes++
	r.offers = nil
	for _, name := range names {
		r.offers = append(r.offers, w.offer(name, r.changes))
	}
}

func (w *groupWorld) offer(name string, change int) offer {
	o := offer{name: name, user: fmt.Sprint(change), form: pick(w.world, subscriptionForms())}
	for _, t := range w.topics {
		if w.chance(2) {
			o.topics = append(o.topics, t.name)
		}
	}
	if w.kind != "consumer" || w.chance(20) {
		o.raw = fmt.Sprint("raw ", change)
	}
	return o
}

func (w *groupWorld) joinOf(r *role) joinSpec {
	j := joinSpec{by: r.name, group: w.group, version: w.version(kmsg.JoinGroup), id: r.name, instance: r.instance, kind: w.kind, offers: r.offers}
	if w.chance(3) {
		j.reason = "because"
	}
	if w.votes {
		j.mark = votesText
	}
	return j
}

func (w *groupWorld) join() step {
	r := w.someone()
	if w.chance(4) {
		w.renew(r)
	}
	return w.joinOf(r).step()
}

// joinHandedOut goes on with an id that was handed out.
func (w *groupWorld) joinHandedOut() step {
	j := w.joinOf(w.someone())
	j.only, j.instance = "handed out", ""
	return j.step()
}

// joinAnew comes without an id, as a client does that has been restarted.
func (w *groupWorld) joinAnew() step {
	r := w.someone()
	if w.chance(3) {
		w.renew(r)
	}
	j := w.joinOf(r)
	j.id = ""
	return j.step()
}

// oddJoin has one thing wrong with it.
func (w *groupWorld) oddJoin() step {
	j := w.joinOf(w.someone())
	other := w.someone()
	switch w.r.IntN(11) {
	case 0:
		j.id = nobody
	case 1:
		j.id = other.name
	case 2:
		j.id += "-"
	case 3:
		j.instance = pick(w.world, []string{"instance-a", "instance-b", "instance-x", `""`})
	case 4:
		j.kind = pick(w.world, []string{"", "other", "consumer"})
	case 5:
		j.offers = nil
	case 6:
		j.offers = []offer{{name: "strange", raw: "x"}}
	case 7:
		j.session = pick(w.world, []int32{-1, 1, 999, 1_800_001, 1_800_000})
	case 8:
		j.group = pick(w.world, []string{"", w.group + "-missing"})
	case 9:
		j.id, j.group, j.offers = nobody, w.group+"-missing", nil
	default:
		j.offers = []offer{{name: w.names()[1], raw: "unreadable"}}
	}
	return j.step()
}

func (w *groupWorld) syncOf(r *role, only string) syncSpec {
	y := syncSpec{by: r.name, group: w.group, version: w.version(kmsg.SyncGroup), id: r.name, instance: r.instance, kind: "own", protocol: "own", only: only}
	if only == "leader" {
		y.assign = pick(w.world, []string{"all", "all", "all", "first", "others", "empty", ""})
	}
	return y
}

func (w *groupWorld) leaderSync() step   { return w.syncOf(w.someone(), "leader").step() }
func (w *groupWorld) followerSync() step { return w.syncOf(w.someone(), "follower").step() }

func (w *groupWorld) oddSync() step {
	y := w.syncOf(w.someone(), "")
	switch w.r.IntN(8) {
	case 0:
		y.plus = pick(w.world, []int32{-1, 1, -5, 100})
	case 1:
		y.id = pick(w.world, []string{nobody, "", w.someone().name})
	case 2:
		y.instance = pick(w.world, []string{"instance-a", "instance-b", "instance-x"})
	case 3:
		y.version, y.kind = 5, pick(w.world, []string{"", "other", "consumer"})
	case 4:
		y.version, y.protocol = 5, pick(w.world, []string{"", "other", "range"})
	case 5:
		y.group = pick(w.world, []string{"", w.group + "-missing"})
	case 6:
		y.id += "-"
	default:
		y.assign = pick(w.world, []string{"all", "others"})
	}
	return y.step()
}
