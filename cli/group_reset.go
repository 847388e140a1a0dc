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

type groupReset struct {
	target                  targetFlags
	topics                  []string
	all                     bool
	execute, create, export bool
}

// resetGroup is what a reset did, or would do.
type resetGroup struct {
	Group      string        `json:"group"`
	State      string        `json:"state"`
	DryRun     bool          `json:"dry_run"`
	Partitions []groups.Move `json:"partitions"`
}

func newGroupReset(a *app) *cobra.Command {
	var r groupReset
	cmd := &cobra.Command{
		Use:   "reset-offsets GROUP",
		Short: "Move the committed offsets of a group that is not running",
		Long: `Move the committed offsets of a group. Without --execute nothing changes: the
table shows what would. The group's members must have stopped. Offsets outside
of what a partition holds are moved to its nearest end, with a note.`,
		Example: `skein group reset-offsets orders --all-topics --to-earliest
skein group reset-offsets orders --topic orders:0,1 --shift-by -100 --execute
skein group reset-offsets orders --topic orders --by-duration 90m --execute
skein group reset-offsets orders --all-topics --to-current --export >offsets.csv
skein group reset-offsets orders --from-file offsets.csv --execute`,
		Args: oneArg("the name of a group"),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&r.topics, "topic", nil, "`TOPIC[:0,1]` topic, or these of its partitions; may be repeated")
	f.BoolVar(&r.all, "all-topics", false, "everything that the group has committed")
	r.target.add(cmd)
	f.BoolVar(&r.execute, "execute", false, "do it; without, nothing changes")
	f.BoolVar(&r.export, "export", false, "print the new offsets as lines topic,partition,offset, for --from-file")
	f.BoolVar(&r.create, "create", false, "make the group when there is none of that name")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeGroups(flags))
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		target, err := r.target.target(cmd, a, args[0])
		if err != nil {
			return err
		}
		scope, err := r.scope(a, target)
		if err != nil {
			return err
		}
		return a.groups(cmd.Context(), flags, func(ctx context.Context, c groups.Client) error {
			return r.run(ctx, a, c, args[0], scope, target)
		})
	}
	return cmd
}

// scope is what to reset; nil is what the group has committed, or what the file names.
func (r groupReset) scope(a *app, t groups.Target) (groups.Partitions, error) {
	if r.export && a.json {
		return nil, problem.Usage("keep one of them", "--export writes lines, and --json asks for JSON")
	}
	named := len(r.topics) > 0
	switch {
	case t.Kind == groups.FromFile && (named || r.all):
		return nil, problem.Usage("leave --topic and --all-topics out", "the file says which partitions to reset")
	case named && r.all:
		return nil, problem.Usage("keep one of them", "--all-topics and --topic say both what to reset")
	case t.Kind == groups.FromFile || r.all:
		return nil, nil
	case !named:
		return nil, problem.Usage("--topic TOPIC[:0,1] names some, --all-topics is everything that the group has committed", "which topics are to be reset?")
	}
	return groups.ParseScope(r.topics)
}

func (r groupReset) run(ctx context.Context, a *app, c groups.Client, name string, scope groups.Partitions, t groups.Target) error {
	g, err := c.Describe(ctx, name)
	switch {
	case errors.Is(err, groups.ErrUnknown) && r.create:
		g = groups.Group{Name: name}
	case errors.Is(err, groups.ErrUnknown):
		return c.Missing(ctx, name, "--create makes one of that name")
	case err != nil:
		return err
	}
	moves, err := c.Plan(ctx, name, scope, t)
	if err != nil {
		return err
	}
	out := resetGroup{name, g.State, true, moves}
	if err := impossible(name, moves, t); err != nil {
		return errors.Join(err, r.print(a, out))
	}
	if !r.execute {
		r.remind(a, g)
		return r.print(a, out)
	}
	if active(g) {
		return stillActive(g)
	}
	err = c.Apply(ctx, name, moves)
	out.DryRun = false
	return errors.Join(r.print(a, out), err)
}

// impossible says that a move cannot be made. Then none is.
func impossible(group string, moves []groups.Move, t groups.Target) error {
	bad, fresh := 0, 0
	for _, m := range moves {
		if m.Error != "" {
			bad++
			if m.Old == nil {
				fresh++
			}
		}
	}
	if bad == 0 {
		return nil
	}
	hint := "leave them out with --topic TOPIC:0,1"
	switch {
	case t.Kind == groups.FromFile:
		hint = "take their lines out of the file"
	case fresh == len(moves) && t.Kind == groups.ShiftBy:
		hint = "say where to begin, by any of the other ways: --to-earliest, --to-latest, …"
	case bad == len(moves):
		hint = "the notes say why"
	}
	return problem.New(hint+"; nothing has changed", "%d of %s of the group %s cannot be reset", bad, count(len(moves), "partition"), group)
}

// active says that the coordinator will refuse to change offsets.
func active(g groups.Group) bool { return g.State != "" && g.Active() }

func stillActive(g groups.Group) error {
	return problem.New("stop them first; those that are gone without a word are taken out with `skein group remove-member "+g.Name+" --all`. Nothing has changed",
		"the group %s is %s with %s, and its offsets are theirs", g.Name, g.State, count(len(g.Members), "member"))
}

// remind says on standard error what stands between a plan and its doing.
func (r groupReset) remind(a *app, g groups.Group) {
	if active(g) {
		fmt.Fprintf(a.notices(), "skein: the group %s is %s with %s: --execute will be refused until they have stopped\n", g.Name, g.State, count(len(g.Members), "member"))
	}
}

func (r groupReset) print(a *app, out resetGroup) error {
	if r.export {
		return groups.WriteRows(a.env.Stdout, out.Partitions)
	}
	return a.print(out, out.text)
}

func (r resetGroup) text(w io.Writer) {
	t := newTable(w, "TOPIC", "PARTITION", "OLD", "NEW", "CHANGE", "NOTE")
	failed := 0
	for _, m := range r.Partitions {
		note := m.Note
		if m.Error != "" {
			note = m.Error
			failed++
		}
		t.row(m.Topic, m.Partition, offsetText(m.Old), offsetText(m.New), changeText(m), note)
	}
	t.flush()
	switch {
	case r.DryRun && failed == 0:
		fmt.Fprintln(w, "\nnothing has changed: --execute does it")
	case !r.DryRun:
		fmt.Fprintf(w, "\nreset %s of the group %s\n", count(len(r.Partitions)-failed, "partition"), r.Group)
	}
}

func changeText(m groups.Move) string {
	if m.Old == nil || m.New == nil || *m.Old == *m.New {
		return "-"
	}
	return fmt.Sprintf("%+d", *m.New-*m.Old)
}
