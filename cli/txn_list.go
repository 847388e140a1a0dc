package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

type txnList struct {
	states    []string
	producers []int64
	longer    time.Duration
}

func newTxnList(a *app) *cobra.Command {
	var l txnList
	cmd := &cobra.Command{
		Use:     "list [PATTERN]",
		Aliases: []string{"ls"},
		Short:   "List transactional ids",
		Long: `List transactional ids and what state they are in. Those with an open
transaction are in the state Ongoing. With --longer-than the list has only those
whose transaction has been open for so long, and since when.`,
		Example: `skein txn list
skein txn list 'orders-*' --state Ongoing
skein txn list --longer-than 5m
skein txn list --producer-id 4711 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return problem.Usage("quote the pattern, so that the shell does not expand it", "txn list takes one pattern, but got %d", len(args))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&l.states, "state", nil, "`STATE,…` only ids in these states: Ongoing, PrepareAbort, CompleteCommit, Empty, …")
	f.Int64SliceVar(&l.producers, "producer-id", nil, "`ID,…` only those of these producers")
	f.DurationVar(&l.longer, "longer-than", 0, "`DURATION` only transactions that have been open for longer, such as 5m")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(txns.States(), cobra.ShellCompDirectiveNoFileComp))
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = completeFirst(a.completeTxns(flags))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		filter, err := l.filter(args)
		if err != nil {
			return err
		}
		return a.txns(cmd.Context(), flags, func(ctx context.Context, c txnwire.Client) error { return l.run(ctx, a, c, filter) })
	}
	return cmd
}

func (l txnList) filter(args []string) (f txns.Filter, err error) {
	if _, err = topicPattern(args); err != nil {
		return f, err
	}
	if l.longer < 0 {
		return f, problem.Usage("give a duration such as 5m", "--longer-than %v is before now", l.longer)
	}
	f = txns.Filter{Producers: l.producers, Longer: l.longer}
	if len(args) > 0 {
		f.Pattern = args[0]
	}
	f.States, err = oneOf("state", l.states, txns.States())
	return f, err
}

func (l txnList) run(ctx context.Context, a *app, c txnwire.Client, f txns.Filter) error {
	list, err := c.List(ctx, f)
	if err != nil && len(list) == 0 {
		return err
	}
	if f.Longer == 0 {
		return errors.Join(a.print(list, func(w io.Writer) { listedText(a, w, list, f) }), err)
	}
	var ids []string
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	open, failure := c.Describe(ctx, ids, a.env.Now())
	open = slices.DeleteFunc(open, func(t txns.Transaction) bool { return !f.FitsAge(t) })
	return errors.Join(a.print(open, func(w io.Writer) { openText(a, w, open) }), err, failure)
}

// What is said when nothing is listed, with and without a filter.
const (
	nothingListed = "no transactional id is like that"
	nothingKnown  = "the cluster knows no transactional id: no transactional producer has begun yet"
)

func listedText(a *app, w io.Writer, list []txns.Listed, f txns.Filter) {
	if len(list) == 0 {
		what := nothingListed
		if f.Pattern == "" && len(f.States) == 0 && len(f.Producers) == 0 {
			what = nothingKnown
		}
		fmt.Fprintln(a.notices(), what)
		return
	}
	t := newTable(w, "TRANSACTIONAL-ID", "STATE", "PRODUCER-ID", "COORDINATOR")
	for _, l := range list {
		t.row(l.ID, l.State, l.ProducerID, l.Coordinator.ID)
	}
	t.flush()
}

// openText lists transactions, those first that have been open for longest.
func openText(a *app, w io.Writer, list []txns.Transaction) {
	if len(list) == 0 {
		fmt.Fprintln(a.notices(), "no transaction has been open for so long")
		return
	}
	byAge := slices.Clone(list)
	slices.SortStableFunc(byAge, func(a, b txns.Transaction) int { return a.Started.Compare(*b.Started) })
	t := newTable(w, "TRANSACTIONAL-ID", "STATE", "PRODUCER-ID", "EPOCH", "STARTED", "OPEN-FOR", "TIMEOUT", "COORDINATOR")
	for _, l := range byAge {
		t.row(l.ID, l.State, l.ProducerID, l.Epoch, timeText(l.Started), msText(l.AgeMs), ageText(l.Timeout()), l.Coordinator.ID)
	}
	t.flush()
}
