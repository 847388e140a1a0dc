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

// groupLag is how much one group has before it.
type groupLag struct {
	Group     string           `json:"group"`
	State     string           `json:"state"`
	Isolation groups.Isolation `json:"isolation"`
	groups.Total
	Partitions []groups.Position `json:"partitions"`
}

func newGroupLag(a *app) *cobra.Command {
	var isolation isolationFlag
	var topics []string
	cmd := &cobra.Command{
		Use:   "lag GROUP…",
		Short: "Show how much a group has still to read",
		Long: `Show how much a group has still to read, by partition and in all. What retention
has deleted is not counted, nor is what nobody has committed an offset for. A
group that reads committed records cannot read beyond the first open
transaction: what lies behind it is told apart, as blocked.`,
		Example: `skein group lag orders
skein group lag orders payments --topic orders --json`,
		Args: someArgs("the name of a group"),
	}
	isolation.add(cmd)
	cmd.Flags().StringArrayVar(&topics, "topic", nil, "`TOPIC[:0,1]` only this topic, or these of its partitions; may be repeated")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeGroups(flags)
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		level, err := isolation.level()
		if err != nil {
			return err
		}
		scope, err := groups.ParseScope(topics)
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			list := []groupLag{}
			failures := eachGroup(ctx, c, names, func(g groups.Group) error {
				positions, err := c.Positions(ctx, g, level)
				if err == nil {
					positions, err = within(g.Name, positions, scope)
				}
				if err == nil {
					list = append(list, groupLag{g.Name, g.State, level, groups.Sum(positions), positions})
				}
				return err
			})
			return errors.Join(append(failures, a.print(list, func(w io.Writer) { lagText(w, list) }))...)
		})
	}
	return cmd
}

// within keeps the positions of a scope. A topic that the group has nothing to do with is likely a slip.
func within(group string, positions []groups.Position, scope groups.Partitions) ([]groups.Position, error) {
	if len(scope) == 0 {
		return positions, nil
	}
	var has []string
	for _, p := range positions {
		has = append(has, p.Topic)
	}
	for _, topic := range scope.Topics() {
		if !slices.Contains(has, topic) {
			hint := problem.DidYouMean(topic, slices.Compact(slices.Clone(has)))
			return []groups.Position{}, problem.New(hint, "the group %s has no offsets of the topic %q", group, topic)
		}
	}
	return slices.DeleteFunc(positions, func(p groups.Position) bool { return !scope.Covers(p.Topic, p.Partition) }), nil
}

func lagText(w io.Writer, list []groupLag) {
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
