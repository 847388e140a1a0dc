package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

func newTxnDescribe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe TRANSACTIONAL-ID…",
		Short: "Show state, producer, timeout, age and partitions of transactional ids",
		Example: `skein txn describe orders-app-0_1
skein txn describe orders-app-0_1 orders-app-0_2 --json`,
		Args: someArgs("a transactional id"),
	}
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeTxns(flags)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return a.txns(cmd.Context(), flags, func(ctx context.Context, c txnwire.Client) error {
			list, err := describeTxns(ctx, a, c, ids)
			return errors.Join(err, a.print(list, func(w io.Writer) { transactionsText(w, list) }))
		})
	}
	return cmd
}

// describeTxns describes ids. Of those that there are not is told in the error, which does not keep the others from the list.
func describeTxns(ctx context.Context, a *app, c txnwire.Client, ids []string) ([]txns.Transaction, error) {
	list, err := c.Describe(ctx, ids, a.env.Now())
	failures := []error{err}
	for _, id := range ids {
		if err == nil && !slices.ContainsFunc(list, func(t txns.Transaction) bool { return t.ID == id }) {
			failures = append(failures, c.Missing(ctx, id))
		}
	}
	return list, errors.Join(failures...)
}

func transactionsText(w io.Writer, list []txns.Transaction) {
	for i, t := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		transactionText(w, &t)
	}
}

func transactionText(w io.Writer, t *txns.Transaction) {
	field(w, "Id", t.ID)
	field(w, "State", t.State)
	field(w, "Producer", fmt.Sprintf("%d, epoch %d", t.ProducerID, t.Epoch))
	field(w, "Timeout", ageText(t.Timeout()))
	if t.Started != nil {
		field(w, "Started", startedText(t))
	}
	field(w, "Coordinator", t.Coordinator.String())
	if len(t.Partitions) > 0 {
		name := "Partitions"
		if t.Open() && !t.Ongoing() {
			name = "Unmarked"
		}
		field(w, name, groups.Partitions(t.Partitions).String())
	}
}

func startedText(t *txns.Transaction) string {
	age, open := t.Age()
	switch {
	case t.Overdue:
		return fmt.Sprintf("%s, open for %s: its coordinator should have aborted it", timeText(t.Started), ageText(age))
	case open:
		return fmt.Sprintf("%s, open for %s", timeText(t.Started), ageText(age))
	}
	return timeText(t.Started) + ", and has ended"
}
