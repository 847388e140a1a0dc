package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
)

type groupDelete struct {
	topics            []string
	execute, ifExists bool
}

// deletedOffsets are committed offsets of one group that were deleted, or would be.
type deletedOffsets struct {
	Group      string                 `json:"group"`
	DryRun     bool                   `json:"dry_run"`
	Partitions []groups.DeletedOffset `json:"partitions"`
}

func newGroupDelete(a *app) *cobra.Command {
	var d groupDelete
	cmd := &cobra.Command{
		Use:     "delete GROUP…",
		Aliases: []string{"rm"},
		Short:   "Delete groups with their committed offsets, or only offsets of some topics",
		Long: `Delete groups with all that they have committed, or, with --topic, only what
they have committed for some topics. Without --execute nothing changes: the
output shows what would. A group's members must have stopped; to delete offsets
of a topic, they need only have stopped subscribing to it.`,
		Example: `skein group delete orders
skein group delete orders payments --execute
skein group delete orders --topic old-orders --execute`,
		Args: someArgs("the name of a group"),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&d.topics, "topic", nil, "`TOPIC[:0,1]` delete only the offsets of this topic, or of these of its partitions; may be repeated")
	f.BoolVar(&d.execute, "execute", false, "do it; without, nothing changes")
	f.BoolVar(&d.ifExists, "if-exists", false, "succeed when a group does not exist")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeGroups(flags)
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		scope, err := groups.ParseScope(d.topics)
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			if len(scope) > 0 {
				return d.offsets(ctx, a, c, names, scope)
			}
			return d.groups(ctx, a, c, names)
		})
	}
	return cmd
}

// groups deletes whole groups: those that can be, also when others cannot.
func (d groupDelete) groups(ctx context.Context, a *app, c groups.Client, names []string) error {
	list, failures := []groups.Deleted{}, []error{}
	var ready []string
	for _, name := range names {
		found, err := c.Look(ctx, name)
		switch {
		case err == nil:
			ready = append(ready, name)
		case ctx.Err() != nil:
			return err
		case errors.Is(err, groups.ErrUnknown):
			err = d.missing(ctx, c, name)
		}
		if err != nil {
			failures, found.Error = append(failures, err), err.Error()
		}
		list = append(list, found)
	}
	if d.execute && len(ready) > 0 {
		refused, err := c.Delete(ctx, ready)
		if err != nil {
			return err
		}
		failures = append(failures, d.note(ctx, c, list, refused)...)
	}
	err := a.print(list, func(w io.Writer) { d.text(w, list) })
	return errors.Join(append(failures, err)...)
}

// note writes what became of groups into the list.
func (d groupDelete) note(ctx context.Context, c groups.Client, list []groups.Deleted, refused map[string]error) (failures []error) {
	for i, g := range list {
		if g.Error != "" || g.State == "" {
			continue
		}
		err := refused[g.Group]
		if errors.Is(err, groups.ErrUnknown) { // somebody else was faster
			err = d.missing(ctx, c, g.Group)
		}
		if err != nil {
			list[i].Error = err.Error()
			failures = append(failures, err)
			continue
		}
		list[i].Deleted = true
	}
	return failures
}

// missing is nil where --if-exists allows a group to be missing.
func (d groupDelete) missing(ctx context.Context, c groups.Client, name string) error {
	if d.ifExists {
		return nil
	}
	return c.Missing(ctx, name, "--if-exists makes this no error")
}

func (d groupDelete) text(w io.Writer, list []groups.Deleted) {
	would := 0
	for _, g := range list {
		switch {
		case g.Error != "": // told as an error
		case g.State == "":
			fmt.Fprintf(w, "group %s does not exist\n", g.Group)
		case g.Deleted:
			fmt.Fprintf(w, "deleted group %s with %s\n", g.Group, count(g.Offsets, "committed offset"))
		default:
			fmt.Fprintf(w, "would delete group %s (%s) with %s\n", g.Group, g.State, count(g.Offsets, "committed offset"))
			would++
		}
	}
	if would > 0 {
		fmt.Fprintln(w, "nothing has changed: --execute does it")
	}
}

// offsets deletes what groups have committed for some topics.
func (d groupDelete) offsets(ctx context.Context, a *app, c groups.Client, names []string, scope groups.Partitions) error {
	list := []deletedOffsets{}
	var failures []error
	for _, name := range names {
		found, none, err := c.Committed(ctx, name, scope)
		if err != nil {
			return err
		}
		for _, topic := range none {
			failures = append(failures, d.nothing(ctx, c, name, topic))
		}
		out := deletedOffsets{name, !d.execute, found}
		if d.execute && len(found) > 0 {
			failures = append(failures, c.DeleteOffsets(ctx, name, out.Partitions))
		}
		list = append(list, out)
	}
	err := a.print(list, func(w io.Writer) {
		for _, g := range list {
			g.text(w)
		}
	})
	return errors.Join(append(failures, err)...)
}

// nothing says why a group has no offsets of a topic.
func (d groupDelete) nothing(ctx context.Context, c groups.Client, group, topic string) error {
	if _, err := c.Describe(ctx, group); errors.Is(err, groups.ErrUnknown) {
		return d.missing(ctx, c, group)
	}
	if d.ifExists {
		return nil
	}
	return problem.New("`skein group lag "+group+"` shows what it has; --if-exists makes this no error", "the group %s has committed nothing there for the topic %q", group, topic)
}

func (g deletedOffsets) text(w io.Writer) {
	act, gone := "deleted", 0
	if g.DryRun {
		act = "would delete"
	}
	for _, p := range g.Partitions {
		if p.Error != "" {
			fmt.Fprintf(w, "kept offset %d of group %s in %s partition %d: %s\n", p.Committed, g.Group, p.Topic, p.Partition, p.Error)
			continue
		}
		fmt.Fprintf(w, "%s offset %d of group %s in %s partition %d\n", act, p.Committed, g.Group, p.Topic, p.Partition)
		gone++
	}
	if g.DryRun && gone > 0 {
		fmt.Fprintln(w, "nothing has changed: --execute does it")
	}
}
