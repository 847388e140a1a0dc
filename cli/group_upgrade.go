package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/upgrade"
)

type upgradeFlags struct {
	to                 []string
	client             string
	cooperative, eager []string
}

func newGroupUpgradeCheck(a *app) *cobra.Command {
	var u upgradeFlags
	cmd := &cobra.Command{
		Use:   "upgrade-check GROUP",
		Short: "Which protocol a group runs, who holds it back, and what the next rolling restart will do",
		Long: `Look at a live group, on any cluster, and say which protocol it runs (EAGER or
COOPERATIVE) under which assignor, why, and who holds it back; then, what a
rolling restart of its members with another list of assignors would do, one
member after the other, and whether that is safe. Nothing is changed.

--to says what they are restarted with, and may be repeated:
  skein               Skein's consumer as it comes: [cooperative-sticky, range]
  java                Kafka's consumer as it comes since 3.0: [range, cooperative-sticky]
  old                 Kafka's consumer as it came up to 2.8: [range]
  consumer            the new protocol (KIP-848), group.protocol=consumer
  NAME,NAME…          a list, the preferred assignor first, of the client that --client says

Without --to it looks at the four usual ones. With --to the exit code is for
scripts: 0 the restart is safe and nobody is refused, 3 do not do it, 4 the
cluster does not tell enough. Only a Skein broker tells the lists of members;
of others the answer may be that it hangs on them.`,
		Example: `skein group upgrade-check orders
skein group upgrade-check orders --to skein && ./roll-out
skein group upgrade-check orders --client stock --to cooperative-sticky,range --to cooperative-sticky --json`,
		Args: oneArg("the name of a group"),
	}
	u.add(cmd)
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		targets, err := u.targets()
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			check, err := u.look(ctx, c, args[0], targets)
			if err != nil {
				return err
			}
			if err := a.print(check, check.text); err != nil || len(u.to) == 0 {
				return err
			}
			return check.conclude()
		})
	}
	return cmd
}

func (u *upgradeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&u.to, "to", nil, "`LIST` that members are restarted with: skein, java, old, consumer, or names of assignors; may be repeated")
	f.StringVar(&u.client, "client", string(upgrade.Skein), "`CLIENT` that a list of names is for: skein follows what is selected, stock is fixed when it starts, as all others are")
	f.StringSliceVar(&u.cooperative, "cooperative", nil, "`NAME,…` assignors of your own that support COOPERATIVE")
	f.StringSliceVar(&u.eager, "eager", nil, "`NAME,…` assignors of your own that do not")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"skein", "java", "old", "consumer"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions([]string{string(upgrade.Skein), string(upgrade.Stock)}, cobra.ShellCompDirectiveNoFileComp))
}

// targets are what is asked for, or the usual ones.
func (u upgradeFlags) targets() (out []upgrade.Target, err error) {
	client := upgrade.Client(u.client)
	if client != upgrade.Skein && client != upgrade.Stock {
		return nil, problem.Usage("choose skein or stock", "--client %q is not one", u.client)
	}
	for _, text := range u.to {
		t, named := upgrade.Named(text)
		if !named {
			t = upgrade.Target{Client: client}
			for name := range strings.SplitSeq(text, ",") {
				t.List = append(t.List, strings.TrimSpace(name))
			}
		}
		if err := t.Check(); err != nil {
			return nil, problem.Usage("give names with commas between, such as cooperative-sticky,range, or one of skein, java, old and consumer", "--to %q: %w", text, err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		out = upgrade.Usual()
	}
	return out, nil
}

func (u upgradeFlags) names() upgrade.Names {
	names := upgrade.Names{}
	for _, name := range u.eager {
		names[name] = false
	}
	for _, name := range u.cooperative {
		names[name] = true
	}
	return names
}

const lookAgain = 200 * time.Millisecond

// look describes the group once it is Stable: only then is it told what is selected.
func (u upgradeFlags) look(ctx context.Context, c groups.Client, name string, targets []upgrade.Target) (upgradeCheck, error) {
	g, err := describeGroup(ctx, c, name)
	for err == nil && settling(g) {
		select {
		case <-time.After(lookAgain):
			g, err = describeGroup(ctx, c, name)
		case <-ctx.Done():
			return upgradeCheck{}, &problem.Error{
				What: fmt.Sprintf("the group %s is rebalancing (%s)", name, g.State), Code: problem.ExitUnclear, Err: context.DeadlineExceeded,
				Hint: "until it is Stable, nobody is told what it runs. A member that was killed is waited for until its session ends: --timeout waits longer, `skein group remove-member " + name + " --member ID` takes it out at once",
			}
		}
	}
	if err != nil {
		return upgradeCheck{}, err
	}
	if g.ProtocolType != "consumer" && len(g.Members) > 0 {
		return upgradeCheck{}, &problem.Error{
			What: fmt.Sprintf("the group %s is not one of consumers: it is of type %q", name, g.ProtocolType), Code: problem.ExitUnclear,
			Hint: "workers of Kafka Connect and the like settle among themselves what they run, in one rolling restart",
		}
	}
	facts, err := c.Facts(ctx, g.Coordinator.ID)
	if err != nil {
		return upgradeCheck{}, err
	}
	return newUpgradeCheck(g, facts, u.names(), targets), nil
}

// settling groups do not tell what they run.
func settling(g groups.Group) bool {
	return g.State == "PreparingRebalance" || g.State == "CompletingRebalance"
}
