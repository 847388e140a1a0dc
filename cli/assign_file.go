package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
)

const groupFileHelp = `
The file is JSON, as skein assign plan GROUP --save FILE writes it:

  {"members": [{"id": "a", "topics": ["t"], "owned": {"t": [0, 1]}, "rack": "r1"}],
   "topics": [{"name": "t", "partitions": 4, "racks": [["r1"], ["r2"]], "weights": [5, 9]}]}

A member may have an instance_id and the generation of what it owns; racks and
weights (lag, say) are by partition and may be missing. - is standard input.`

func newAssignSimulate(a *app) *cobra.Command {
	var f assignFlags
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "The same for a group from a file",
		Long:  "What would happen to a group from a file if something changed.\n" + groupFileHelp,
		Args:  oneArg("a file with a group"),
	}
	f.add(cmd.Flags())
	cmd.ValidArgsFunction = completeFile
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		g, err := a.readGroup(args[0])
		if err != nil {
			return err
		}
		return f.play(a, g)
	}
	return cmd
}

func newAssignVerify(a *app) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a plan is optimal, or show what is better",
		Long: `Prove that a plan has the fairest loads and the fewest moves, or show what is
better. The plan stands in the group's file beside members and topics, as
"plan": {"MEMBER": {"TOPIC": [0, 1]}}; without one, what the members own is the plan.
` + groupFileHelp,
		Args: oneArg("a file with a group and a plan"),
	}
	o.add(cmd.Flags())
	cmd.ValidArgsFunction = completeFile
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.verify(args[0], o) }
	return cmd
}

type verdict struct {
	Optimal bool   `json:"optimal"`
	Finding string `json:"finding,omitempty"`
	Loads   []int  `json:"loads"` // in descending order
	Moves   int    `json:"moves"`
	Misfits int    `json:"misfits"`
}

func (a *app) verify(file string, o planOptions) error {
	g, err := a.readGroup(file)
	if err != nil {
		return err
	}
	options, err := o.options()
	if err != nil {
		return err
	}
	if g.Plan == nil {
		g.Plan = map[string]map[string][]int32{}
		for _, m := range g.Members {
			g.Plan[m.ID] = m.Owned
		}
	}
	plan, err := g.Planned()
	if err != nil {
		return problem.New("", "%w", err)
	}
	in := g.Input()
	v, err := a.judge(in, plan, options)
	if err != nil {
		return problem.New("", "%w", err)
	}
	if err := a.print(v, func(w io.Writer) { verdictText(w, v) }); err != nil {
		return err
	}
	if !v.Optimal {
		return problem.New("", "the plan is not optimal")
	}
	return nil
}

// judge measures a plan and proves it optimal, or finds why it is not.
func (a *app) judge(in assign.Input, plan assign.Plan, o assign.Options) (verdict, error) {
	p := a.newProgress("")
	defer p.end()
	p.begin(fmt.Sprintf("proving a plan for %s", count(len(in.Members), "member")))
	score, err := assign.Measure(in, plan)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{Optimal: true, Loads: score.Loads, Moves: score.Moves, Misfits: score.Misfits}
	if err := assign.Verify(in, plan, o); err != nil {
		v.Optimal, v.Finding = false, err.Error()
	}
	return v, nil
}

func verdictText(w io.Writer, v verdict) {
	if len(v.Loads) > 0 {
		fmt.Fprintf(w, "loads from %d to %d, %s, %d in a wrong rack\n", v.Loads[0], v.Loads[len(v.Loads)-1], count(v.Moves, "move"), v.Misfits)
	}
	if v.Optimal {
		fmt.Fprintln(w, "proven: no plan has fairer loads, and none with such loads is better")
		return
	}
	fmt.Fprintln(w, v.Finding)
}

// readGroup reads a file, or standard input for -.
func (a *app) readGroup(name string) (rebalance.Group, error) {
	r := a.env.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return rebalance.Group{}, problem.Usage("", "cannot read the group: %w", err)
		}
		defer file.Close()
		r = file
	}
	g, err := rebalance.Read(r)
	if err != nil {
		return g, problem.Usage("`skein assign simulate --help` shows the form", "%s: %w", name, err)
	}
	return g, nil
}

func completeFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// parsePartition reads TOPIC-NUMBER.
func parsePartition(s string) (topic string, partition int32, err error) {
	i := strings.LastIndexByte(s, '-')
	if i > 0 {
		n, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err == nil && n >= 0 {
			return s[:i], int32(n), nil
		}
	}
	return "", 0, problem.Usage("write TOPIC-NUMBER, such as orders-3", "%q is not a partition", s)
}
