package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
)

type groupRemove struct {
	members, instances []string
	all, dryRun        bool
	reason             string
}

// byAdmin is what the coordinator is told before the reason: the words of Kafka's own tools, which logs are searched for.
const (
	byAdmin    = "member was removed by an admin"
	mostReason = 255 // letters that a reason may have with it
)

func newGroupRemove(a *app) *cobra.Command {
	var r groupRemove
	cmd := &cobra.Command{
		Use:   "remove-member GROUP",
		Short: "Take members out of a group",
		Long: `Take members out of a group, which rebalances without them. A member whose
process still runs joins again: this is for those that are gone or hang, and
for static members, which the coordinator waits for.`,
		Example: `skein group remove-member orders --instance-id orders-3 --reason "host replaced"
skein group remove-member orders --member consumer-1-4f1c
skein group remove-member orders --all`,
		Args: oneArg("the name of a group"),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&r.members, "member", nil, "`MEMBER` member, by its id or the beginning of it; may be repeated")
	f.StringArrayVar(&r.instances, "instance-id", nil, "`NAME` static member, by its group.instance.id; may be repeated")
	f.BoolVar(&r.all, "all", false, "all members")
	f.StringVar(&r.reason, "reason", "", "`TEXT` that the coordinator logs and keeps")
	f.BoolVar(&r.dryRun, "dry-run", false, "show who would be taken out, change nothing")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		reason, err := r.check()
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			return r.run(ctx, a, c, args[0], reason)
		})
	}
	return cmd
}

func (r groupRemove) check() (reason string, err error) {
	named := len(r.members)+len(r.instances) > 0
	switch {
	case named && r.all:
		return "", problem.Usage("keep one of them", "--all and the names of members say both who is to leave")
	case !named && !r.all:
		return "", problem.Usage("--member and --instance-id name some, --all is all of them", "who is to leave?")
	}
	if reason = byAdmin; r.reason != "" {
		reason += ": " + r.reason
	}
	if n := utf8.RuneCountInString(reason); n > mostReason {
		return "", problem.Usage("make it shorter", "the reason is %d letters too long", n-mostReason)
	}
	return reason, nil
}

func (r groupRemove) run(ctx context.Context, a *app, c groups.Client, name, reason string) error {
	g, err := describeGroup(ctx, c, name)
	if err != nil {
		return err
	}
	members, err := r.choose(g)
	if err != nil {
		return err
	}
	list := []groups.Removed{}
	if r.dryRun {
		for _, m := range members {
			list = append(list, groups.Removed{Member: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.Host})
		}
	} else {
		list, err = c.Remove(ctx, name, members, reason)
	}
	failures := []error{err, a.print(list, func(w io.Writer) { r.text(a, w, g, list) })}
	for _, m := range list {
		if m.Error != "" {
			failures = append(failures, problem.New(m.Advice(name), "cannot take %s out of the group %s: %s", nameOf(m), name, m.Error))
		}
	}
	return errors.Join(failures...)
}

// choose finds the members that the command line names.
func (r groupRemove) choose(g groups.Group) ([]groups.Member, error) {
	if r.all {
		return g.Members, nil
	}
	var chosen []groups.Member
	for _, id := range r.members {
		m, err := g.Find(id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	for _, instance := range r.instances {
		m, err := g.FindInstance(instance)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	return distinct(chosen), nil
}

// distinct drops members that were named twice.
func distinct(members []groups.Member) []groups.Member {
	seen := map[string]bool{}
	return slices.DeleteFunc(members, func(m groups.Member) bool {
		again := seen[m.ID]
		seen[m.ID] = true
		return again
	})
}

func (r groupRemove) text(a *app, w io.Writer, g groups.Group, list []groups.Removed) {
	if len(list) == 0 {
		fmt.Fprintf(a.notices(), "the group %s has no members (%s)\n", g.Name, g.State)
	}
	for _, m := range list {
		switch {
		case r.dryRun:
			fmt.Fprintf(w, "would take %s out (client %s at %s)\n", nameOf(m), m.ClientID, m.Host)
		case m.Removed:
			fmt.Fprintf(w, "took %s out (client %s at %s)\n", nameOf(m), m.ClientID, m.Host)
		}
	}
}

func nameOf(m groups.Removed) string {
	if m.InstanceID != "" {
		return m.InstanceID + " (" + m.Member + ")"
	}
	return m.Member
}
