package cli

import (
	"cmp"
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

type groupLag struct {
	isolation isolationFlag
	topics    []string
	all       bool
}

// laggingGroup is how much one group has before it.
type laggingGroup struct {
	Group     string           `json:"group"`
	State     string           `json:"state"`
	Isolation groups.Isolation `json:"isolation"`
	groups.Total
	Partitions []groups.Position `json:"partitions"`
}

func newGroupLag(a *app) *cobra.Command {
	var l groupLag
	cmd := &cobra.Command{
		Use:   "lag GROUP…",
		Short: "Show how much a group has still to read",
		Long: `Show how much a group has still to read, by partition and in all. What retention
has deleted is not counted, nor is what nobody has committed an offset for. A
group that reads committed records cannot read beyond the first open
transaction: what lies behind it is told apart, as blocked.`,
		Example: `skein group lag orders
skein group lag orders payments --topic orders --json
skein group lag --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if l.all && len(args) > 0 {
				return problem.Usage("keep one of them", "--all and the names of groups say both which groups")
			}
			if l.all {
				return nil
			}
			return someArgs("the name of a group, or --all")(cmd, args)
		},
	}
	l.isolation.add(cmd)
	cmd.Flags().StringArrayVar(&l.topics, "topic", nil, "`TOPIC[:0,1]` only this topic, or these of its partitions; may be repeated")
	cmd.Flags().BoolVar(&l.all, "all", false, "the sum of every group")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeGroups(flags)
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		level, err := l.isolation.level()
		if err != nil {
			return err
		}
		scope, err := groups.ParseScope(l.topics)
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			return l.run(ctx, a, c, names, level, scope)
		})
	}
	return cmd
}

func (l groupLag) run(ctx context.Context, a *app, c groups.Client, names []string, level groups.Isolation, scope groups.Partitions) error {
	var failures []error
	if l.all {
		var err error
		if names, err = withOffsets(ctx, c); err != nil {
			failures = append(failures, err)
		}
	}
	list := []laggingGroup{}
	failures = append(failures, eachGroup(ctx, c, names, func(g groups.Group) error {
		positions, err := c.Positions(ctx, g, level)
		if err == nil {
			positions, err = l.within(g.Name, positions, scope)
		}
		if err == nil {
			list = append(list, laggingGroup{g.Name, g.State, level, groups.Sum(positions), positions})
		}
		return err
	})...)
	text := lagText
	if l.all {
		text = lagSums
	}
	return errors.Join(append(failures, a.print(list, func(w io.Writer) { text(w, list) }))...)
}

// withOffsets lists the groups of the types that commit offsets.
func withOffsets(ctx context.Context, c groups.Client) (names []string, err error) {
	all, err := c.List(ctx)
	for _, g := range all {
		if g.Type == groups.Classic || g.Type == groups.Consumer {
			names = append(names, g.Group)
		}
	}
	return names, err
}

// within keeps the positions of a scope. A topic that a named group has nothing to do with is likely a slip.
func (l groupLag) within(group string, positions []groups.Position, scope groups.Partitions) ([]groups.Position, error) {
	if len(scope) == 0 {
		return positions, nil
	}
	var has []string
	for _, p := range positions {
		has = append(has, p.Topic)
	}
	for _, topic := range scope.Topics() {
		if !l.all && !slices.Contains(has, topic) {
			hint := cmp.Or(problem.DidYouMean(topic, slices.Compact(slices.Clone(has))), "`skein group lag "+group+"` shows what it has")
			return nil, problem.New(hint, "the group %s has no offsets of the topic %q", group, topic)
		}
	}
	return slices.DeleteFunc(positions, func(p groups.Position) bool { return !scope.Covers(p.Topic, p.Partition) }), nil
}

func lagText(w io.Writer, list []laggingGroup) {
	for i, g := range list {
		if len(list) > 1 {
			fmt.Fprintf(w, "%s%s (%s)\n", strings.Repeat("\n", min(i, 1)), g.Group, g.State)
		}
		if len(g.Partitions) > 0 {
			positionsTable(w, g.Partitions, false)
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "lag of %s: %s\n", g.Group, totalText(g.Total))
	}
}

// lagSums is one line a group, those with the most to read first.
func lagSums(w io.Writer, list []laggingGroup) {
	slices.SortStableFunc(list, func(a, b laggingGroup) int { return cmp.Compare(b.Lag+b.Blocked, a.Lag+a.Blocked) })
	t := newTable(w, "GROUP", "STATE", "PARTITIONS", "LAG", "BLOCKED", "NOTE")
	for _, g := range list {
		note := ""
		if g.Uncommitted+g.Unknown > 0 {
			_, note, _ = strings.Cut(totalText(groups.Total{Uncommitted: g.Uncommitted, Unknown: g.Unknown}), ", ")
		}
		t.row(g.Group, g.State, len(g.Partitions), g.Lag, g.Blocked, note)
	}
	t.flush()
}
