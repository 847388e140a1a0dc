package groupsim

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Rows are those of the matrix R-C.3 that a run can come through, with how a run shows it. M17 to M19 and M21 are ways that
// are wrong; runs of them show a violation.
var Rows = []string{"M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9", "M10", "M11 kafka", "M11 skein", "M12", "M13", "M14", "M15", "M16", "M20", "M22 same", "M22 other", "M23 there", "M23 back"}

func (j *judge) row(name string) { j.rows[name]++ }

// kinds are those of the members, nil when one is not known.
func (s *snapshot) kinds() (all []kind) {
	if s == nil {
		return nil
	}
	for _, m := range s.members {
		if m.of == nil {
			return nil
		}
		all = append(all, m.of.spec.kind)
	}
	return all
}

// all says that there are members, and each is so.
func all(kinds []kind, is func(kind) bool) bool {
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k kind) bool { return !is(k) })
}

func some(kinds []kind, is func(kind) bool) bool { return slices.ContainsFunc(kinds, is) }

func exactly(codes string, list ...string) func(kind) bool {
	return func(k kind) bool { return k.is(codes, list...) }
}

func either(a, b func(kind) bool) func(kind) bool { return func(k kind) bool { return a(k) || b(k) } }

var (
	oldRange  = exactly("O", rg)
	bothOrder = either(exactly("SDT", cs, rg), exactly("SDT", rg, cs))
	shipped   = either(exactly("S", cs, rg), exactly("S", rg, cs))
	onlyCS    = exactly("ST", cs)
	dynamic   = exactly("D", cs, rg)
	eagers    = []string{"roundrobin", "sticky", "fair"}
)

func (s *snapshot) claims() bool {
	return slices.ContainsFunc(s.members, func(m stored) bool { return m.claim })
}

// stableRow looks at a generation and the one before it.
func (j *judge) stableRow(was, is *snapshot) {
	now, before := is.kinds(), was.kinds()
	if len(now) == 0 {
		return
	}
	if was != nil && was.converted { // its plan was not made by what it has selected
		before = nil
	}
	j.aloneRow(now, is)
	if len(before) > 0 {
		j.changeRow(before, now, was, is)
	}
}

// aloneRow is about groups of one kind.
func (j *judge) aloneRow(now []kind, is *snapshot) {
	switch {
	case len(now) < 2:
	case all(now, exactly("S", cs, rg)) && is.protocol == cs && !is.claims():
		j.row("M3")
	case all(now, exactly("S", rg, cs)) && is.protocol == rg:
		j.row("M4")
	case all(now, dynamic) && is.protocol == cs && is.claims():
		j.row("M9")
	}
	if some(now, exactly("D", rg)) && is.protocol == rg {
		j.row("M15")
	}
}

func (j *judge) changeRow(before, now []kind, was, is *snapshot) {
	climbed := all(before, dynamic) && was.protocol == cs
	switch {
	case all(before, oldRange) && some(now, bothOrder) && is.protocol == rg:
		j.row("M1")
	case some(before, shipped) && !some(before, onlyCS) && some(now, onlyCS) && some(now, shipped) && is.protocol == cs:
		j.row("M5")
	case all(before, onlyCS) && some(now, shipped) && is.protocol == cs:
		j.row("M8")
	case climbed && some(now, dynamic) && some(now, oldRange) && is.protocol == rg && !was.claims():
		j.row("M10")
	case climbed && some(now, dynamic) && some(now, oldRange) && is.protocol == rg:
		j.row("M11 skein")
	case climbed && some(now, exactly("DS", rg, cs)) && is.protocol == cs:
		j.row("M12")
	case climbed && some(now, either(onlyCS, exactly("S", cs, rg))) && is.protocol == cs:
		j.row("M13")
	}
	for _, name := range eagers {
		both := either(exactly("SD", cs, name), exactly("SD", name, cs))
		if all(before, exactly("O", name)) && some(now, both) && is.protocol == name ||
			some(before, both) && !some(before, onlyCS) && some(now, onlyCS) && is.protocol == cs {
			j.row("M16")
		}
	}
}

// refusedRow is a JoinGroup that was answered INCONSISTENT_GROUP_PROTOCOL.
func (j *judge) refusedRow(i *incarnation, req *kmsg.JoinGroupRequest) {
	before := j.last.kinds()
	if len(before) == 0 || j.ids[req.MemberID] != nil {
		return
	}
	k := i.spec.kind
	switch {
	case all(before, oldRange) && k.is("SDT", cs):
		j.row("M2")
	case all(before, exactly("S", rg, cs)) && onlyCS(k) && j.w.script.Broker == "kafka" && j.failover:
		j.row("M6")
	case all(before, onlyCS) && oldRange(k):
		j.row("M7")
	case all(before, dynamic) && j.last.claims() && oldRange(k) && j.w.script.Broker == "kafka":
		j.row("M11 kafka")
	case all(before, exactly("D", cs)) && oldRange(k):
		j.row("M14")
	}
}

// comesBackRow is a static member that takes its place again: M22.
func (j *judge) comesBackRow(i *incarnation, was *life, resp *kmsg.JoinGroupResponse) {
	if was == nil || was.of.spec.kind.String() == i.spec.kind.String() {
		return
	}
	if j.last != nil && resp.Generation == j.last.generation {
		j.row("M22 same")
	} else {
		j.row("M22 other")
	}
}

// event sees what our members tell of themselves.
func (j *judge) event(i *incarnation, e membership.Event) {
	if j.w.Tracing() {
		j.w.Say("%s %s", i.name(), tellEvent(e))
	}
	switch e.Kind {
	case membership.Withheld:
		j.row("M20")
	case membership.Completed:
		for _, at := range i.handed() {
			j.owns(i, at)
		}
	}
}
