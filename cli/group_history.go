package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
)

// groupHistory is why one group rebalanced.
type groupHistory struct {
	Group      string             `json:"group"`
	State      string             `json:"state"`
	Generation *int32             `json:"generation"`
	Rebalances []groups.Rebalance `json:"rebalances"`
}

func newGroupHistory(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history GROUP",
		Short: "Show why a group rebalanced: who caused it, and what they said",
		Long: `Show why a group rebalanced, the latest last: which member caused it by joining,
leaving or falling silent, and the reason that its client gave. Skein brokers
keep the last rebalances of each group in memory, from their start on; Apache
Kafka does not tell.`,
		Args: oneArg("the name of a group"),
	}
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			g, err := describeGroup(ctx, c, args[0])
			if err != nil {
				return err
			}
			if g.History == nil {
				return problem.New("only Skein brokers keep that; the coordinator's own log may tell more",
					"broker %s does not tell why groups rebalance: it is no Skein broker, or an old one", g.Coordinator)
			}
			out := groupHistory{g.Name, g.State, g.Generation, g.History}
			return a.print(out, func(w io.Writer) { a.historyText(w, out) })
		})
	}
	return cmd
}

func (a *app) historyText(w io.Writer, h groupHistory) {
	if len(h.Rebalances) == 0 {
		fmt.Fprintf(a.notices(), "the group %s has not rebalanced yet (%s)\n", h.Group, h.State)
		return
	}
	rebalancesTable(w, h.Rebalances)
}

func rebalancesTable(w io.Writer, rebalances []groups.Rebalance) {
	t := newTable(w, "SINCE", "GENERATION", "MEMBERS", "PROTOCOL", "TOOK", "CAUSE", "MEMBER", "CLIENT SAYS")
	for _, r := range rebalances {
		who := r.InstanceID
		if who == "" {
			who = r.Member
		}
		t.row(r.At.Format(time.RFC3339), r.Generation, r.Members, orDash(r.Protocol), tookText(r), r.Cause, orDash(who), r.Reason)
	}
	t.flush()
}

// tookText is how long a rebalance took, or a dash while it is not over.
func tookText(r groups.Rebalance) string {
	if r.Joining == nil || r.Syncing == nil {
		return "-"
	}
	return (time.Duration(*r.Joining+*r.Syncing) * time.Millisecond).String()
}
