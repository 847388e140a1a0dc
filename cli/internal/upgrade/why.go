package upgrade

import (
	"fmt"
	"slices"
	"strings"
)

// why explains a forecast.
func (g Group) why(f Forecast) (lines []string) {
	switch f.Admitted {
	case No:
		lines = append(lines, g.whyRefused(f)...)
	case Maybe:
		lines = append(lines, g.whyMaybe(f)...)
	default:
		lines = append(lines, g.whyAdmitted(f)...)
	}
	if f.Safe == No {
		lines = append(lines, g.whyUnsafe()...)
	}
	if slices.Contains(f.Rows, "M22") {
		lines = append(lines, "static members: one that comes back within its session gets what it had without a rebalance, unless its list changes what is selected; wait for each before the next")
	}
	return lines
}

func (g Group) whyRefused(f Forecast) []string {
	lines := []string{fmt.Sprintf("newcomers are refused with INCONSISTENT_GROUP_PROTOCOL (23): %s not one name of [%s]", whoHas(f.KeptOutBy), strings.Join(f.List, ", "))}
	if g.shape() == withholds && !g.Broker.Union || g.shape() == untoldCoop {
		lines = append(lines, "members that own partitions offer COOPERATIVE assignors alone, and this broker admits by what is offered")
	}
	if slices.Contains(f.Rows, "M22") {
		lines = append(lines, fmt.Sprintf("a static member counts with its old list until its session ends, or until `skein group remove-member %s --instance-id NAME`", g.Name))
	}
	return append(lines, "those who are there go on undisturbed, and each restarted member is missing until the last of them has gone")
}

// whoHas names at most three.
func whoHas(ids []string) string {
	const most = 3
	switch {
	case len(ids) == 1:
		return ids[0] + " offers"
	case len(ids) > most:
		return fmt.Sprintf("%s and %d others offer", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return strings.Join(ids, ", ") + " offer"
}

func (g Group) whyMaybe(f Forecast) []string {
	lines := []string{fmt.Sprintf("they get in only if every member that is there lists one of [%s] besides %s, which this broker does not tell: look at their partition.assignment.strategy", strings.Join(f.List, ", "), g.Assignor)}
	if slices.Contains(f.Rows, "M6") {
		lines = append(lines, "even then a newcomer is refused (23) after a restart or a move of the coordinator, until all have joined again: this broker remembers of each list the selected name alone")
	}
	return lines
}

func (g Group) whyAdmitted(f Forecast) (lines []string) {
	if f.Adopts != "" {
		lines = append(lines, fmt.Sprintf("newcomers that would be refused with [%s] offer what the group runs, too: %s; with StrictAssignors (--strict-assignors) they are refused with INCONSISTENT_GROUP_PROTOCOL (23)", strings.Join(f.List, ", "), f.Adopts))
	}
	if f.First != "" {
		lines = append(lines, fmt.Sprintf("restart %s first: it alone keeps newcomers out", f.First))
	}
	if len(g.Members) == 1 {
		lines = append(lines, "the group is empty while its only member restarts; after a kill -9 a member with other names is refused until the session of the old one has ended")
	}
	if slices.Contains(f.Rows, "M6") && !f.Client.adopts(g.Assignor) {
		lines = append(lines, "after a restart of the coordinator this broker knows of each list the selected name alone: a newcomer may be refused (23) until all have joined again")
	}
	for i, s := range f.Stages {
		lines = append(lines, g.stageText(f.Stages, i)+": "+s.Assignor+", "+s.Protocol)
	}
	if last := f.Stages[len(f.Stages)-1]; last.Protocol == Eager && g.names().class(f.List) == both {
		lines = append(lines, eagerStill(f.Target, g.names()))
	}
	return lines
}

func eagerStill(t Target, n Names) string {
	if t.Client == Skein {
		return "an EAGER assignor comes first in the list, and so the members stay EAGER: put a COOPERATIVE one first to have them switch"
	}
	return fmt.Sprintf("a stock client that lists an EAGER assignor runs EAGER: a second restart with [%s] alone makes the group COOPERATIVE", strings.Join(n.can(t.List), ", "))
}

// stageText says when a stage is.
func (g Group) stageText(stages []Stage, i int) string {
	all, from := len(g.Members), stages[i].Restarted
	switch {
	case i == len(stages)-1 && from == all && all > 1:
		return fmt.Sprintf("with the last of %d members", all)
	case i == len(stages)-1 && from == 1:
		return "throughout, and afterwards"
	case from == 1:
		return "from the first member on"
	}
	if len(g.seats()) > 1 {
		return fmt.Sprintf("from about the member number %d of %d on, as the order may be", from, all)
	}
	return fmt.Sprintf("from the member number %d of %d on", from, all)
}

func (g Group) whyUnsafe() []string {
	n := g.names()
	var ids []string
	for _, m := range g.Members {
		if m.naive(n) {
			ids = append(ids, m.ID)
		}
	}
	lines := []string{fmt.Sprintf("%s EAGER assignors while owning partitions, and would give these up only when others have them already: records would be handled twice, and offsets may move back", whoHas(ids)),
		"stop the whole group for this step, or move it to a list without EAGER assignors first"}
	if g.Broker.Ownership {
		lines = append(lines, "late commits of former owners are refused here (skein.group.commit.ownership.check)")
	}
	return lines
}
