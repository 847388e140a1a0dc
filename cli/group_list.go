package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
)

type groupList struct {
	states, types []string
}

func newGroupList(a *app) *cobra.Command {
	var l groupList
	cmd := &cobra.Command{
		Use:     "list [PATTERN]",
		Aliases: []string{"ls"},
		Short:   "List groups",
		Example: `skein group list
skein group list 'orders-*' --state Stable,PreparingRebalance
skein group list --type consumer --json | jq -r '.[].group'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return problem.Usage("quote the pattern, so that the shell does not expand it", "group list takes one pattern, but got %d", len(args))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&l.states, "state", nil, "`STATE,…` only groups in these states: Stable, Empty, PreparingRebalance, CompletingRebalance, …")
	f.StringSliceVar(&l.types, "type", nil, "`TYPE,…` only groups of these types: classic, consumer, share, streams")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(groups.States(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(groups.Types(), cobra.ShellCompDirectiveNoFileComp))
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		keep, err := l.filter(args)
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			all, err := c.List(ctx)
			if err != nil && len(all) == 0 {
				return err
			}
			list := slices.DeleteFunc(slices.Clone(all), func(g groups.Listed) bool { return !keep(g) })
			return errors.Join(a.printGroups(list, len(all)), err)
		})
	}
	return cmd
}

// filter says which groups to list. It works on the answer: old brokers know no filters.
func (l groupList) filter(args []string) (func(groups.Listed) bool, error) {
	named, err := topicPattern(args)
	if err != nil {
		return nil, err
	}
	states, err := oneOf("state", l.states, groups.States())
	if err != nil {
		return nil, err
	}
	types, err := oneOf("type", l.types, groups.Types())
	if err != nil {
		return nil, err
	}
	among := func(some []string, one string) bool { return len(some) == 0 || slices.Contains(some, one) }
	return func(g groups.Listed) bool { return named(g.Group) && among(states, g.State) && among(types, g.Type) }, nil
}

// oneOf finds the values of a flag among those that there are, however they are written.
func oneOf(flag string, given, known []string) ([]string, error) {
	var out []string
	for _, value := range given {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, value) })
		if i < 0 {
			hint := problem.DidYouMean(value, known)
			if hint == "" {
				hint = "there are: " + strings.Join(known, ", ")
			}
			return nil, problem.Usage(hint, "--%s: there is no %s %q", flag, flag, value)
		}
		out = append(out, known[i])
	}
	return out, nil
}

func (a *app) printGroups(list []groups.Listed, all int) error {
	return a.print(list, func(w io.Writer) {
		if len(list) == 0 {
			what := "there are no groups"
			if all > 0 {
				what = "no group matches; there are " + count(all, "other")
			}
			fmt.Fprintln(a.notices(), what)
			return
		}
		t := newTable(w, "GROUP", "STATE", "TYPE", "PROTOCOL", "COORDINATOR")
		for _, g := range list {
			t.row(g.Group, orDash(g.State), g.Type, orDash(g.ProtocolType), g.Coordinator)
		}
		t.flush()
	})
}
