package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
)

func newAssignPlan(a *app) *cobra.Command {
	var f assignFlags
	var save string
	cmd := &cobra.Command{
		Use:   "plan GROUP",
		Short: "What would happen to a live group if something changed",
		Example: `skein assign plan orders --join new-1 --join new-2
skein assign plan orders --leave app-7 --picture rebalance.html
skein assign plan orders --partitions orders=48 --all
skein assign plan orders --assignor cooperative-sticky
skein assign plan orders --save orders.json`,
		Args: oneArg("the name of a group"),
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&save, "save", "", "`FILE` to save the group into as it is now, for simulate and explain")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		g, err := a.liveGroup(cmd.Context(), flags, args[0])
		if err != nil {
			return err
		}
		if save != "" {
			if err := saveGroup(save, g); err != nil {
				return err
			}
		}
		return f.play(a, g)
	}
	return cmd
}

func saveGroup(name string, g rebalance.Group) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("saving the group: %w", err)
	}
	if err := g.Write(file); err != nil {
		file.Close()
		return fmt.Errorf("saving the group: %w", err)
	}
	return file.Close()
}

// completeGroups offers the cluster's groups.
func (a *app) completeGroups(flags *connect.Flags) cobra.CompletionFunc {
	return a.completeNames(flags, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		groups, err := admin.ListGroups(ctx)
		return groups.Groups(), err
	})
}

// liveGroup reads a group from a cluster: who its members are, what they want
// and have, and what the topics look like.
func (a *app) liveGroup(ctx context.Context, flags *connect.Flags, name string) (g rebalance.Group, err error) {
	err = a.admin(ctx, flags, func(ctx context.Context, admin *kadm.Client) error {
		lags, err := admin.Lag(ctx, name)
		if err != nil {
			return fmt.Errorf("describing the group: %w", err)
		}
		d := lags[name]
		if d.DescribeErr != nil && !errors.Is(d.DescribeErr, kerr.GroupIDNotFound) {
			return problem.New("", "cannot describe the group %s: %w", name, d.DescribeErr)
		}
		if len(d.Members) == 0 {
			return missingGroup(ctx, admin, name, d.State)
		}
		if d.ProtocolType != "consumer" {
			return problem.New("only groups of consumers can be planned for", "the group %s is of type %q", name, d.ProtocolType)
		}
		if slices.Contains([]string{"PreparingRebalance", "CompletingRebalance"}, d.State) {
			return problem.New("until it is Stable, nobody is told what its members subscribe to: try again in a moment", "the group %s is rebalancing (%s)", name, d.State)
		}
		g, err = describedGroup(ctx, admin, d)
		return err
	})
	return g, err
}

func missingGroup(ctx context.Context, admin *kadm.Client, name, state string) error {
	missing, hint := state == "Dead", "a group has members while consumers run; `--save` keeps one for later, and simulate reads it"
	if missing {
		hint = "`skein group list` shows the groups that there are"
	}
	if groups, err := admin.ListGroups(ctx); err == nil {
		if near := problem.DidYouMean(name, groups.Groups()); near != "" && groups[name].Group == "" {
			hint = near
		}
	}
	if missing {
		return problem.New(hint, "there is no group %q", name)
	}
	return problem.New(hint, "the group %s has no members (%s)", name, state)
}

func describedGroup(ctx context.Context, admin *kadm.Client, d kadm.DescribedGroupLag) (rebalance.Group, error) {
	g := rebalance.Group{Name: d.Group, Assignor: d.Protocol}
	wanted := map[string]bool{}
	for _, m := range d.Members {
		member := rebalance.Member{ID: m.MemberID, Owned: map[string][]int32{}}
		if m.InstanceID != nil {
			member.InstanceID = *m.InstanceID
		}
		if join, ok := m.Join.AsConsumer(); ok {
			member.Topics = join.Topics
			if join.Rack != nil {
				member.Rack = *join.Rack
			}
		}
		if has, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range has.Topics {
				member.Owned[t.Topic] = append(member.Owned[t.Topic], t.Partitions...)
			}
		}
		for _, t := range member.Topics {
			wanted[t] = true
		}
		g.Members = append(g.Members, member)
	}
	return g, addTopics(ctx, admin, &g, wanted, d.Lag)
}

// addTopics adds the topics with the racks of their replicas and the group's lag
// as their weights.
func addTopics(ctx context.Context, admin *kadm.Client, g *rebalance.Group, wanted map[string]bool, lag kadm.GroupLag) error {
	names := make([]string, 0, len(wanted))
	for name := range wanted {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil // asking for no topics would be asking for all
	}
	meta, err := admin.Metadata(ctx, names...)
	if err != nil {
		return fmt.Errorf("describing the group's topics: %w", err)
	}
	racks := map[int32]string{}
	for _, b := range meta.Brokers {
		if b.Rack != nil {
			racks[b.NodeID] = *b.Rack
		}
	}
	for _, t := range meta.Topics.Sorted() {
		topic := rebalance.Topic{Name: t.Topic, Partitions: int32(len(t.Partitions))}
		for _, p := range t.Partitions.Sorted() {
			var of []string
			for _, id := range p.Replicas {
				if racks[id] != "" {
					of = append(of, racks[id])
				}
			}
			topic.Racks = append(topic.Racks, of)
			l, _ := lag.Lookup(t.Topic, p.Partition)
			topic.Weights = append(topic.Weights, max(l.Lag, 0))
		}
		g.Topics = append(g.Topics, topic)
	}
	return nil
}
