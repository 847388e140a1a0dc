package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
)

// groupDescription is a group with everything that the cluster tells about it.
type groupDescription struct {
	groups.Group
	Isolation groups.Isolation `json:"isolation"`
	groups.Total
	Partitions []groups.Position  `json:"partitions"`
	Rebalances []groups.Rebalance `json:"rebalances"` // null: the broker does not keep them
}

func newGroupDescribe(a *app) *cobra.Command {
	var isolation isolationFlag
	cmd := &cobra.Command{
		Use:   "describe GROUP…",
		Short: "Show state, members, committed offsets, lag and rebalances",
		Example: `skein group describe orders
skein group describe orders --isolation read_uncommitted --json`,
		Args: someArgs("the name of a group"),
	}
	isolation.add(cmd)
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeGroups(flags)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		level, err := isolation.level()
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			list := []groupDescription{}
			failures := eachGroup(ctx, c, names, func(g groups.Group) error {
				positions, err := c.Positions(ctx, g, level)
				if err == nil {
					list = append(list, groupDescription{g, level, groups.Sum(positions), positions, g.History})
				}
				return err
			})
			return errors.Join(append(failures, a.print(list, func(w io.Writer) { descriptionsText(w, list) }))...)
		})
	}
	return cmd
}

func descriptionsText(w io.Writer, list []groupDescription) {
	for i, g := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		g.text(w)
	}
}

func (g groupDescription) text(w io.Writer) {
	field(w, "Group", g.Name)
	field(w, "State", g.State)
	field(w, "Type", typeText(g.Group))
	field(w, "Assignor", g.Assignor)
	field(w, "Generation", generationText(g.Generation))
	field(w, "Coordinator", g.Coordinator.String())
	field(w, "Members", fmt.Sprint(len(g.Members)))
	if len(g.Partitions) > 0 {
		field(w, "Lag", totalText(g.Total))
	}
	if len(g.Members) > 0 {
		fmt.Fprintln(w)
		membersTable(w, g.Members)
	}
	if len(g.Partitions) > 0 {
		fmt.Fprintln(w)
		positionsTable(w, g.Partitions, true)
	}
	if n := len(g.Rebalances); n > 0 {
		const most = 5
		fmt.Fprintln(w)
		rebalancesTable(w, g.Rebalances[max(0, n-most):])
		if n > most {
			fmt.Fprintf(w, "(%d older ones: skein group history %s)\n", n-most, g.Name)
		}
	}
}

func positionsTable(w io.Writer, positions []groups.Position, detailed bool) {
	headings := []string{"TOPIC", "PARTITION", "COMMITTED", "START", "END", "LAG", "BLOCKED", "MEMBER"}
	if detailed {
		headings = append(headings, "EPOCH", "METADATA")
	}
	t := newTable(w, headings...)
	for _, p := range positions {
		cells := []any{p.Topic, p.Partition, offsetText(p.Committed), offsetText(p.Start), offsetText(p.End), offsetText(p.Lag), blockedText(p), orDash(p.Member)}
		if detailed {
			cells = append(cells, orDash(generationText(p.LeaderEpoch)), orDash(p.Metadata))
		}
		t.row(append(cells, p.Error)...)
	}
	t.flush()
}

func blockedText(p groups.Position) string {
	if p.Blocked == 0 {
		return "-"
	}
	return fmt.Sprint(p.Blocked)
}
