package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
)

func newGroup(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "See consumer groups, their lag and why they rebalance; reset and delete them",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.helpOrUnknown,
	}
	cmd.AddCommand(newGroupList(a), newGroupDescribe(a), newGroupMembers(a), newGroupLag(a), newGroupHistory(a),
		newGroupUpgradeCheck(a),
		newGroupReset(a), newGroupDelete(a), newGroupRemove(a))
	return cmd
}

const listsGroups = "`skein group list` shows the groups that there are"

// groups connects and hands a client for groups to act, whose errors it explains.
func (a *app) groups(ctx context.Context, flags *connect.Flags, act func(ctx context.Context, c groups.Client) error) error {
	cl, err := a.connect(ctx, flags)
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		return act(ctx, groups.Client{Kafka: cl.Client, Admin: admin})
	})
}

// describeGroup describes a group that must exist.
func describeGroup(ctx context.Context, c groups.Client, name string) (groups.Group, error) {
	g, err := c.Describe(ctx, name)
	if errors.Is(err, groups.ErrUnknown) {
		return g, c.Missing(ctx, name, listsGroups)
	}
	return g, err
}

// eachGroup describes groups one after the other and hands them to f. What fails for one group does not keep the others from
// it: the failures come together in the end.
func eachGroup(ctx context.Context, c groups.Client, names []string, f func(groups.Group) error) []error {
	var failures []error
	for _, name := range names {
		g, err := describeGroup(ctx, c, name)
		if err == nil {
			err = f(g)
		}
		if ctx.Err() != nil {
			return []error{errors.Join(ctx.Err(), err)}
		}
		if err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}

// isolationFlag is --isolation of the verbs that tell lag.
type isolationFlag struct{ text string }

func (f *isolationFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "isolation", readCommitted,
		"`LEVEL` that the group reads with: read_committed stops at the first open transaction, read_uncommitted does not")
	_ = cmd.RegisterFlagCompletionFunc("isolation", cobra.FixedCompletions([]string{readCommitted, readUncommitted}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *isolationFlag) level() (groups.Isolation, error) {
	level, known := groups.ParseIsolation(f.text)
	if !known {
		return "", problem.Usage("choose read_committed or read_uncommitted", "--isolation %q is not a level", f.text)
	}
	return level, nil
}

// field prints one line of a description: a name and its value, or nothing when that is empty.
func field(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "%-12s %s\n", name+":", visible(value))
	}
}

// typeText is a group's type with what its members do.
func typeText(g groups.Group) string {
	switch {
	case g.ProtocolType == "":
		return g.Type + ", members assign partitions themselves"
	case g.Type == groups.Consumer:
		return "consumer (assigned by the coordinator)"
	case g.ProtocolType == "consumer":
		return "classic"
	}
	return g.Type + ", of " + g.ProtocolType
}

func generationText(generation *int32) string {
	if generation == nil {
		return ""
	}
	return fmt.Sprint(*generation)
}

// totalText is a sum of lags in words.
func totalText(t groups.Total) string {
	words := []string{fmt.Sprint(t.Lag)}
	if t.Blocked > 0 {
		words = append(words, fmt.Sprintf("and %d blocked by open transactions", t.Blocked))
	}
	if t.Uncommitted > 0 {
		words = append(words, count(t.Uncommitted, "partition")+" without a committed offset")
	}
	if t.Unknown > 0 {
		words = append(words, count(t.Unknown, "partition")+" whose end nobody tells")
	}
	return strings.Join(words, ", ")
}
