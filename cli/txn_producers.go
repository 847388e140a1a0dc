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

func newTxnProducers(a *app) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "producers TOPIC[:0,1]…",
		Short: "Show the producers that partitions remember, and where their open transactions begin",
		Example: `skein txn producers orders
skein txn producers orders:0,3 --open
skein txn producers __consumer_offsets --open --json`,
		Args: someArgs("a topic"),
	}
	cmd.Flags().BoolVar(&open, "open", false, "only those with an open transaction")
	flags := addConnection(cmd, a)
	cmd.ValidArgsFunction = a.completeTopics(flags)
	cmd.RunE = func(cmd *cobra.Command, topics []string) error {
		scope, err := groups.ParseScope(topics)
		if err != nil {
			return err
		}
		return a.txns(cmd.Context(), flags, func(ctx context.Context, c txnwire.Client) error {
			places, offline, err := placesOf(ctx, c, scope, anyBroker)
			if err != nil {
				return err
			}
			a.noteOffline(offline)
			list, err := c.Producers(ctx, places)
			if err != nil && len(list) == 0 {
				return err
			}
			if open {
				list = slices.DeleteFunc(list, func(p txns.Producer) bool { return !p.InTransaction() })
			}
			return errors.Join(err, a.print(list, func(w io.Writer) { producersText(a, w, list, open) }))
		})
	}
	return cmd
}

func producersText(a *app, w io.Writer, list []txns.Producer, open bool) {
	if len(list) == 0 {
		what := "no producers are remembered there"
		if open {
			what = "no transaction is open there"
		}
		fmt.Fprintln(a.notices(), what)
		return
	}
	t := newTable(w, "TOPIC", "PARTITION", "PRODUCER-ID", "EPOCH", "COORDINATOR-EPOCH", "LAST-SEQUENCE", "LAST-WRITE", "OPEN-FROM")
	for _, p := range list {
		t.row(p.Topic, p.Partition, p.ProducerID, p.Epoch, p.CoordinatorEpoch, p.LastSequence, timeText(p.LastTimestamp), offsetText(p.StartOffset))
	}
	t.flush()
}
