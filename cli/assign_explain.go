package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
)

type assignExplain struct {
	change  rebalance.Change
	options planOptions
	not     []string
	most    int
}

func newAssignExplain(a *app) *cobra.Command {
	var e assignExplain
	cmd := &cobra.Command{
		Use:   "explain FILE PARTITION",
		Short: "Why a partition goes to the member it goes to",
		Long: `Why a partition goes to the member it goes to, and why not to others: for each,
the best plan in which it has the partition is computed and compared.
` + groupFileHelp,
		Example: `skein assign plan orders --save orders.json
skein assign explain orders.json orders-3
skein assign explain orders.json orders-3 --join new-1 --not app-2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return problem.Usage("usage: "+cmd.UseLine(), "%s needs a file with a group and a partition", cmd.CommandPath())
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&e.not, "not", nil, "`MEMBER` to explain why it does not have the partition; without, the first few")
	f.IntVar(&e.most, "most", 5, "`NUMBER` of members to explain when --not names none")
	f.StringArrayVar(&e.change.Join, "join", nil, "`NAME[=TOPIC,…]` of a member that joins first")
	f.StringArrayVar(&e.change.Leave, "leave", nil, "`MEMBER` that leaves first")
	e.options.add(f)
	cmd.ValidArgsFunction = completeFirst(completeFile)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return e.run(a, args[0], args[1]) }
	return cmd
}

// explained is an explanation with names for JSON.
type explained struct {
	Topic     string           `json:"topic"`
	Partition int32            `json:"partition"`
	Member    string           `json:"member"`
	Owner     string           `json:"owner,omitempty"`
	Former    string           `json:"former_owner,omitempty"`
	Load      int              `json:"load"`
	Low       int              `json:"fair_load_min"`
	High      int              `json:"fair_load_max"`
	Others    []explainedOther `json:"others"`
}

type explainedOther struct {
	Member   string   `json:"member"`
	Reason   string   `json:"reason"`
	Most     int      `json:"largest_load"`
	Least    int      `json:"smallest_load"`
	Moves    int      `json:"moves"`
	Misfits  int      `json:"misfits"`
	Blocking []string `json:"blocking,omitempty"`
	Floor    int      `json:"blocking_least_load,omitempty"`
}

func (e assignExplain) run(a *app, file, partition string) error {
	topic, number, err := parsePartition(partition)
	if err != nil {
		return err
	}
	options, err := e.options.options()
	if err != nil {
		return err
	}
	g, err := a.readGroup(file)
	if err == nil {
		g, err = e.change.Apply(g)
	}
	if err != nil {
		return impossibleChange(err)
	}
	if err := knowsPartition(g, topic, number); err != nil {
		return err
	}
	in := g.Input()
	others := e.others(in, topic)
	p := a.newProgress("")
	p.begin(fmt.Sprintf("planning anew for %s, one at a time", count(len(others), "member")))
	found, err := assign.Explain(in, options, topic, number, others...)
	p.end()
	if err != nil {
		return problem.New("", "%w", err)
	}
	result := explainedOf(found)
	result.Topic, result.Partition = topic, number
	return a.print(result, func(w io.Writer) { result.text(w) })
}

// others picks the members to explain: those asked for, or the first subscribers.
func (e assignExplain) others(in assign.Input, topic string) []string {
	if len(e.not) > 0 {
		return e.not
	}
	var ids []string
	for _, m := range in.Members {
		if len(ids) < e.most && slices.Contains(m.Topics, topic) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func explainedOf(e assign.Explanation) explained {
	out := explained{Member: e.Holder, Owner: e.Owner, Former: e.Former, Load: e.Load, Low: e.Low, High: e.High, Others: []explainedOther{}}
	for _, o := range e.Others {
		if o.Member == e.Holder {
			continue
		}
		out.Others = append(out.Others, explainedOther{
			Member: o.Member, Reason: o.Reason.String(), Most: o.Loads[0], Least: o.Loads[len(o.Loads)-1],
			Moves: o.Moves, Misfits: o.Misfits, Blocking: o.Blocking, Floor: o.Least,
		})
	}
	return out
}

func (e explained) text(w io.Writer) {
	switch {
	case e.Member == "":
		fmt.Fprintf(w, "%s-%d goes to nobody: no member subscribes to it\n", e.Topic, e.Partition)
		return
	case e.Owner == e.Member:
		fmt.Fprintf(w, "%s-%d stays with its owner %s\n", e.Topic, e.Partition, e.Member)
	case e.Owner != "":
		fmt.Fprintf(w, "%s-%d moves from %s to %s\n", e.Topic, e.Partition, e.Owner, e.Member)
	default:
		fmt.Fprintf(w, "%s-%d has no owner and goes to %s\n", e.Topic, e.Partition, e.Member)
	}
	fmt.Fprintf(w, "%s gets %d in all; in every fairest plan it has %s\n", e.Member, e.Load, rangeText(e.Low, e.High))
	for _, o := range e.Others {
		o.text(w)
	}
}

func rangeText(low, high int) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d or %d", low, high)
}

func (o explainedOther) text(w io.Writer) {
	fmt.Fprintf(w, "\nnot %s: ", o.Member)
	switch o.Reason {
	case assign.Tie.String():
		fmt.Fprintln(w, "it would be as good; the choice is by the order of names")
	case assign.LessFair.String():
		fmt.Fprintf(w, "loads would be from %d to %d, which is less fair\n", o.Most, o.Least)
		fmt.Fprintf(w, "  it can only pass partitions on within %s, who have %d or more each\n", listText(o.Blocking), o.Floor)
	default:
		fmt.Fprintf(w, "%s: %d in all, and %d in a wrong rack\n", o.Reason, o.Moves, o.Misfits)
	}
}

func listText(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
