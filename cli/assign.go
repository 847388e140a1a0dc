package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
)

func newAssign(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "assign",
		Short: "See how a consumer group would rebalance, before it does",
		Long: `See how a consumer group would rebalance, before it does: with other members,
other topics, or another assignor. Nothing of it changes a group.`,
		Args: cobra.ArbitraryArgs,
		RunE: a.helpOrUnknown,
	}
	cmd.AddCommand(newAssignPlan(a), newAssignSimulate(a), newAssignVerify(a), newAssignExplain(a))
	return cmd
}

// assignFlags are the ones of plan and simulate.
type assignFlags struct {
	change   rebalance.Change
	assignor string
	options  planOptions
	all      bool
	picture  string
}

// planOptions say what a plan is to be optimal for.
type planOptions struct {
	racks string
	slack int32
}

func (o *planOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.racks, "racks", "after-moves", "`WHEN` racks count: after-moves, before-moves or ignored")
	f.Int32Var(&o.slack, "slack", 0, "`NUMBER` by which loads may leave the fairest ones to save moves")
}

func (o planOptions) options() (assign.Options, error) {
	out := assign.Options{Slack: o.slack}
	switch o.racks {
	case "after-moves":
	case "before-moves":
		out.Racks = assign.RacksBeforeMoves
	case "ignored":
		out.Racks = assign.RacksIgnored
	default:
		return out, problem.Usage("use after-moves, before-moves or ignored", "%q is no place for racks", o.racks)
	}
	if o.slack < 0 {
		return out, problem.Usage("use 0 or more", "a slack of %d is not possible", o.slack)
	}
	return out, nil
}

func (f *assignFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringArrayVar(&f.change.Join, "join", nil, "`NAME[=TOPIC,…]` of a member that joins; without topics it subscribes as most do")
	flags.StringArrayVar(&f.change.Leave, "leave", nil, "`MEMBER` that leaves, by its id or the beginning of it")
	flags.StringArrayVar(&f.change.Subscribe, "subscribe", nil, "`MEMBER=TOPIC,…` subscription that a member changes to")
	flags.StringArrayVar(&f.change.Partitions, "partitions", nil, "`TOPIC=NUMBER` partitions that a topic grows to, or appears with")
	flags.StringVar(&f.assignor, "assignor", "", "`NAME` of the assignor: "+strings.Join(rebalance.AssignorNames(), ", "))
	f.options.add(flags)
	flags.BoolVar(&f.all, "all", false, "list every partition that changes hands")
	flags.StringVar(&f.picture, "picture", "", "`FILE` to draw the loads into, .svg or .html")
}

// play plans for a group and shows the outcome.
func (f *assignFlags) play(a *app, g rebalance.Group) error {
	options, err := f.options.options()
	if err != nil {
		return err
	}
	name := f.assignor
	if name == "" {
		name = g.Assignor
	}
	if name == "" {
		name = rebalance.AssignorNames()[0]
	}
	assignor, known := rebalance.Assignor(name, options)
	if !known {
		hint := problem.DidYouMean(name, rebalance.AssignorNames())
		if hint == "" {
			hint = "--assignor takes one of: " + strings.Join(rebalance.AssignorNames(), ", ")
		}
		return problem.Usage(hint, "there is no assignor %q", name)
	}
	p := a.newProgress("")
	out, err := rebalance.Play(g, f.change, assignor, p.begin)
	p.end()
	if err != nil {
		return impossibleChange(err)
	}
	if err := f.draw(out); err != nil {
		return err
	}
	return a.print(out, func(w io.Writer) { outcomeText(w, out, f.all) })
}

// draw writes the picture, if one is wanted.
func (f *assignFlags) draw(out rebalance.Outcome) error {
	if f.picture == "" {
		return nil
	}
	write := out.SVG
	switch filepath.Ext(f.picture) {
	case ".svg":
	case ".html", ".htm":
		write = out.HTML
	default:
		return problem.Usage("end its name in .svg or .html", "%s is no kind of picture", f.picture)
	}
	file, err := os.Create(f.picture)
	if err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("drawing: %w", err)
	}
	return file.Close()
}

func outcomeText(w io.Writer, out rebalance.Outcome, all bool) {
	t := newTable(w, "MEMBER", "NOW", "THEN", "LOSES", "GETS")
	for _, m := range out.Members {
		note := ""
		switch {
		case m.Left:
			note = "leaves"
		case m.Joined:
			note = "joins"
		}
		t.row(m.Member, m.Now, m.Then, m.Loses, m.Gets, note)
	}
	t.flush()
	fmt.Fprintf(w, "\n%s: %d stay, %d move, %d had no owner; %s\n", out.Assignor, out.Stay, out.Move, out.Free, count(out.Rounds, "round"))
	if out.Nobody > 0 {
		fmt.Fprintf(w, "nobody subscribes to %s\n", count(out.Nobody, "partition"))
	}
	if out.Misfits > 0 {
		fmt.Fprintf(w, "%d in a rack without a replica\n", out.Misfits)
	}
	switch {
	case out.Gap != nil:
		fmt.Fprintf(w, "heaviest load %d, at least %d for any assignment (%.1f%% above)\n", out.Gap.Reached, out.Gap.Bound, out.Gap.Percent)
	case out.Proven:
		fmt.Fprintln(w, "proven:", out.Proof)
	default:
		fmt.Fprintln(w, "it can be better:", out.Finding)
	}
	if all {
		transfersText(w, out.Transfers)
	}
}

func transfersText(w io.Writer, transfers []rebalance.Transfer) {
	fmt.Fprintln(w)
	t := newTable(w, "PARTITION", "FROM", "TO")
	for _, x := range transfers {
		t.row(fmt.Sprintf("%s-%d", x.Topic, x.Partition), orDash(x.From), orDash(x.To))
	}
	t.flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
