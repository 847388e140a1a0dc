package differential

import "github.com/twmb/franz-go/pkg/kmsg"

// someID is mostly the player's own.
func (w *groupWorld) someID(r *role) string {
	switch w.r.IntN(12) {
	case 0:
		return nobody
	case 1:
		return ""
	case 2:
		return w.someone().name
	case 3:
		return r.name + "-"
	}
	return r.name
}

// someInstance is mostly the player's own, or none.
func (w *groupWorld) someInstance(r *role) string {
	switch w.r.IntN(10) {
	case 0:
		return "instance-x"
	case 1:
		return w.someone().instance
	case 2:
		return ""
	}
	return r.instance
}

// somePlus is mostly the generation itself.
func (w *groupWorld) somePlus() int32 {
	return pick(w.world, []int32{0, 0, 0, 0, 0, 0, -1, 1, 50})
}

func (w *groupWorld) someGroup() string {
	switch w.r.IntN(10) {
	case 0:
		return w.group + "-missing"
	case 1, 2:
		return w.group + "-simple"
	}
	return w.group
}

func (w *groupWorld) heartbeat() step {
	r := w.someone()
	h := heartbeatSpec{
		of: r.name, group: w.group, version: w.version(kmsg.Heartbeat),
		id: w.someID(r), instance: w.someInstance(r), plus: w.somePlus(),
	}
	if w.chance(15) {
		h.group = pick(w.world, []string{"", w.group + "-missing"})
	}
	return h.step()
}

func (w *groupWorld) leave() step {
	l := leaveSpec{group: w.group, version: w.version(kmsg.LeaveGroup), reason: pick(w.world, []string{"", "closing"})}
	for range 1 + w.r.IntN(2) {
		r := w.someone()
		m := leaver{id: w.someID(r)}
		switch w.r.IntN(4) {
		case 0:
			m.instance = w.someInstance(r)
		case 1:
			m.id, m.instance = "", r.instance
		}
		l.members = append(l.members, m)
	}
	switch w.r.IntN(20) {
	case 0:
		l.members = nil
	case 1:
		l.group = pick(w.world, []string{"", w.group + "-missing", w.group + "-simple"})
	}
	return l.step()
}

// leaveStale lets go of ids that would hold up every round.
func (w *groupWorld) leaveStale() step {
	return leaveSpec{group: w.group, version: 4, stale: true}.step()
}

func (w *groupWorld) describeOf(groups ...string) describeSpec {
	return describeSpec{version: w.version(kmsg.DescribeGroups), groups: groups, operations: w.chance(4)}
}

func (w *groupWorld) describe() step {
	switch w.r.IntN(8) {
	case 0:
		return w.describeOf(w.group, w.group+"-missing", w.group+"-simple").step()
	case 1:
		return w.describeOf(w.group, w.group).step()
	case 2:
		return w.describeOf().step()
	case 3:
		return w.describeOf("").step()
	}
	return w.describeOf(w.group).step()
}

func (w *groupWorld) listSpec() listSpec {
	l := listSpec{version: w.version(kmsg.ListGroups)}
	states := []string{"Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "stable", "EMPTY", "Dead", "Assigning", "nonsense", ""}
	types := []string{"classic", "Classic", "consumer", "share", "nonsense", ""}
	for range w.r.IntN(3) {
		l.states = append(l.states, pick(w.world, states))
	}
	if w.chance(2) {
		l.types = append(l.types, pick(w.world, types))
	}
	return l
}

func (w *groupWorld) list() step { return w.listSpec().step() }

func (w *groupWorld) deleteGroups() step {
	d := deleteGroupsSpec{version: w.version(kmsg.DeleteGroups), groups: []string{w.group}}
	switch w.r.IntN(6) {
	case 0:
		d.groups = append(d.groups, w.group+"-missing", w.group+"-simple")
	case 1:
		d.groups = append(d.groups, w.group)
	case 2:
		d.groups = []string{}
	case 3:
		d.groups = []string{""}
	}
	return d.step()
}

func (w *groupWorld) findCoordinator() step {
	f := findSpec{version: w.version(kmsg.FindCoordinator), kind: pick(w.world, []int8{0, 0, 0, 0, 1, 2, 3, -1, 77})}
	f.keys = pick(w.world, [][]string{{w.group}, {w.group, w.group + "-missing"}, {w.group, w.group}, {""}, {}, {"a:b"}})
	return f.step()
}
