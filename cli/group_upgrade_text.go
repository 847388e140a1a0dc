package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/upgrade"
)

// upgradeCheck is what is told of a group. Paths are the usual ways on its broker.
type upgradeCheck struct {
	Group      string             `json:"group"`
	State      string             `json:"state"`
	Type       string             `json:"type"`
	Generation *int32             `json:"generation"`
	Broker     upgradeBroker      `json:"broker"`
	Runs       upgrade.State      `json:"runs"`
	Members    []upgradeMember    `json:"members"`
	Restarts   []upgrade.Forecast `json:"restarts"`
	Paths      []upgrade.Path     `json:"paths"`
}

type upgradeBroker struct {
	ID   int32  `json:"id"`
	Kind string `json:"kind"` // skein, other
	upgrade.Broker
}

type upgradeMember struct {
	ID         string   `json:"member_id"`
	InstanceID string   `json:"instance_id,omitempty"`
	ClientID   string   `json:"client_id"`
	Host       string   `json:"host"`
	Offers     []string `json:"offers"`    // null: not told
	Withholds  []string `json:"withholds"` // null: it never holds anything back
	Claims     int      `json:"claims"`    // partitions that it said it owned when it joined
	Assigned   int      `json:"assigned"`  // partitions that it has
	Version    *int16   `json:"subscription_version"`
}

func newUpgradeCheck(g groups.Group, facts groups.Facts, names upgrade.Names, targets []upgrade.Target) upgradeCheck {
	judged := upgrade.Group{Name: g.Name, Assignor: g.Assignor, Consumer: g.Type == groups.Consumer, Names: names}
	out := upgradeCheck{Group: g.Name, State: g.State, Type: g.Type, Generation: g.Generation, Members: []upgradeMember{}}
	told := false
	for _, m := range g.Members {
		judged.Members = append(judged.Members, judgedMember(g, m))
		out.Members = append(out.Members, upgradeMember{m.ID, m.InstanceID, m.ClientID, m.Host, m.Offers, m.Withholds, m.Owned.Len(), m.Assigned.Len(), m.Subscription})
		told = told || m.Offers != nil
	}
	judged.Broker = upgrade.Broker{Skein: facts.Skein, Union: facts.Union, Remembers: facts.Remembers, Ownership: facts.Ownership, Consumer: facts.Consumer}
	if !facts.Skein && told { // it tells lists, but not its settings: to whom may not ask, say
		judged.Broker.Skein, judged.Broker.Union, judged.Broker.Remembers = true, true, true
	}
	out.Broker = upgradeBroker{g.Coordinator.ID, "other", judged.Broker}
	if judged.Broker.Skein {
		out.Broker.Kind = "skein"
	}
	out.Runs, out.Paths = judged.Look(), judged.Paths()
	for _, t := range targets {
		out.Restarts = append(out.Restarts, judged.Restart(t))
	}
	return out
}

func judgedMember(g groups.Group, m groups.Member) upgrade.Member {
	out := upgrade.Member{ID: m.ID, Static: m.InstanceID != "", Offers: m.Offers, Withholds: m.Withholds, Listed: m.Offers != nil, Follows: m.Withholds != nil, Claims: m.Owned.Len(), Version: -1}
	if !out.Listed {
		out.Offers = []string{g.Assignor}
	}
	if m.Subscription != nil {
		out.Version = *m.Subscription
	}
	return out
}

// conclude is the exit code of what was asked for: that of the worst answer.
func (c upgradeCheck) conclude() error {
	var worst *problem.Error
	for _, f := range c.Restarts {
		e := &problem.Error{What: fmt.Sprintf("do not restart %s with %s: %s", c.Group, targetText(f.Target), f.Why[0]), Code: problem.ExitStop}
		if len(c.Paths) > 0 {
			e.Hint = "see the ways above"
		}
		switch {
		case f.Verdict == upgrade.Stop && (worst == nil || worst.Code != problem.ExitStop):
			worst = e
		case f.Verdict == upgrade.Unclear && worst == nil:
			e.What, e.Code = fmt.Sprintf("whether %s can be restarted with %s cannot be told: %s", c.Group, targetText(f.Target), f.Why[0]), problem.ExitUnclear
			worst = e
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

func targetText(t upgrade.Target) string {
	switch {
	case t.Consumer:
		return "group.protocol=consumer"
	case t.Client == upgrade.Skein:
		return "Skein's consumer and [" + strings.Join(t.List, ", ") + "]"
	}
	return "a stock client and [" + strings.Join(t.List, ", ") + "]"
}

func (c upgradeCheck) text(w io.Writer) {
	field(w, "Group", c.Group)
	field(w, "State", c.State)
	field(w, "Broker", c.Broker.text())
	field(w, "Assignor", c.Runs.Assignor)
	protocol := c.Runs.Protocol
	switch {
	case protocol == upgrade.Untold && len(c.Members) == 0:
		protocol = "none"
	case protocol == upgrade.Untold:
		protocol = "not told"
	}
	field(w, "Protocol", protocol)
	for _, line := range c.Runs.Why {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(c.Runs.HeldBack) > 0 {
		fmt.Fprintln(w, "Held back by:")
		for _, h := range c.Runs.HeldBack {
			fmt.Fprintf(w, "  %s: %s\n", visible(h.Member), visible(h.Why))
		}
	}
	if len(c.Members) > 0 {
		fmt.Fprintln(w)
		c.table(w)
	}
	fmt.Fprintln(w, "\nA rolling restart, one member after the other, with")
	for _, f := range c.Restarts {
		fmt.Fprintf(w, "  %s: %s%s\n", targetText(f.Target), restartText(f.Verdict), rowsText(f.Rows))
		for _, line := range f.Why {
			fmt.Fprintf(w, "    %s\n", visible(line))
		}
	}
	if len(c.Paths) > 0 {
		fmt.Fprintln(w, "\nThe ways on this broker, each step a rolling restart:")
	}
	for _, p := range c.Paths {
		fmt.Fprintf(w, "  %s\n", p.To)
		for i, step := range p.Steps {
			fmt.Fprintf(w, "    %d. %s\n", i+1, visible(step))
		}
	}
}

func (c upgradeCheck) table(w io.Writer) {
	t := newTable(w, "MEMBER", "INSTANCE", "CLIENT", "OFFERS", "HOLDS BACK", "CLAIMED", "HAS")
	for _, m := range c.Members {
		offers := "not told"
		if m.Offers != nil {
			offers = strings.Join(m.Offers, ",")
		}
		t.row(m.ID, orDash(m.InstanceID), orDash(m.ClientID), offers, orDash(strings.Join(m.Withholds, ",")), m.Claims, m.Assigned)
	}
	t.flush()
}

func (b upgradeBroker) text() string {
	if !b.Skein {
		return fmt.Sprintf("%d, not Skein: newcomers get in by what members offer, and of that it tells what is selected", b.ID)
	}
	words := []string{fmt.Sprintf("%d, Skein", b.ID)}
	if b.Union {
		words = append(words, "newcomers get in by what members offer or hold back")
	} else {
		words = append(words, "newcomers get in by what members offer (skein.group.union.admission=false)")
	}
	if !b.Remembers {
		words = append(words, "forgets lists when it restarts (skein.group.persist.protocols=false)")
	}
	return strings.Join(words, "; ")
}

func restartText(v upgrade.Verdict) string {
	switch v {
	case upgrade.Go:
		return "GO, it is safe and nobody is refused"
	case upgrade.Stop:
		return "STOP"
	}
	return "UNCLEAR"
}

func rowsText(rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	return " (" + strings.Join(rows, ", ") + ")"
}
