package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
)

// groupMembers are the members of one group, for programs.
type groupMembers struct {
	Group   string          `json:"group"`
	State   string          `json:"state"`
	Members []groups.Member `json:"members"`
}

func newGroupMembers(a *app) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "members GROUP…",
		Short: "Show who is in a group, what they want and what they have",
		Example: `skein group members orders
skein group members orders --verbose`,
		Args: someArgs("the name of a group"),
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show subscriptions, and the partitions that each owned when it joined and has now")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeGroups(flags)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			list := []groupMembers{}
			failures := eachGroup(ctx, c, names, func(g groups.Group) error {
				list = append(list, groupMembers{g.Name, g.State, g.Members})
				return nil
			})
			return errors.Join(append(failures, a.print(list, func(w io.Writer) { a.membersText(w, list, verbose) }))...)
		})
	}
	return cmd
}

func (a *app) membersText(w io.Writer, list []groupMembers, verbose bool) {
	for i, g := range list {
		if len(list) > 1 {
			fmt.Fprintf(w, "%s%s (%s)\n", strings.Repeat("\n", min(i, 1)), g.Group, g.State)
		}
		switch {
		case len(g.Members) == 0:
			fmt.Fprintf(a.notices(), "the group %s has no members (%s)\n", g.Group, g.State)
		case verbose:
			membersVerbose(w, g.Members)
		default:
			membersTable(w, g.Members)
		}
	}
}

func membersTable(w io.Writer, members []groups.Member) {
	t := newTable(w, "MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS")
	for _, m := range members {
		t.row(m.ID, orDash(m.InstanceID), orDash(m.ClientID), orDash(m.Host), m.Assigned.Len())
	}
	t.flush()
}

func membersVerbose(w io.Writer, members []groups.Member) {
	for i, m := range members {
		if i > 0 {
			fmt.Fprintln(w)
		}
		field(w, "Member", m.ID)
		field(w, "Instance", m.InstanceID)
		field(w, "Client", m.ClientID+" at "+m.Host)
		field(w, "Rack", m.Rack)
		field(w, "Generation", generationText(m.Generation))
		field(w, "Subscribed", strings.Join(m.Subscribed, " "))
		field(w, "Pattern", m.Pattern)
		field(w, "Owned", m.Owned.String())
		field(w, "Offers", strings.Join(m.Offers, " "))
		field(w, "Holds back", strings.Join(m.Withholds, " "))
		field(w, "Assigned", orDash(m.Assigned.String()))
		if target := m.Target.String(); target != m.Assigned.String() {
			field(w, "Target", target)
		}
		if m.Metadata+m.Assignment > 0 {
			field(w, "Own data", fmt.Sprintf("%s when it joined, %s with its assignment", bytesText(int64(m.Metadata)), bytesText(int64(m.Assignment))))
		}
	}
}
