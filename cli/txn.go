package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

func newTxn(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "txn",
		Aliases: []string{"transaction"},
		Short:   "See transactions and producers; find transactions that hang, and abort them",
		Args:    cobra.ArbitraryArgs,
		RunE:    a.helpOrUnknown,
	}
	cmd.AddCommand(newTxnList(a), newTxnDescribe(a), newTxnProducers(a), newTxnHanging(a), newTxnAbort(a))
	return cmd
}

// txns connects and hands a client for transactions to act, whose errors it explains. Each exchange has its own time.
func (a *app) txns(ctx context.Context, flags *connect.Flags, act func(ctx context.Context, c txnwire.Client) error) error {
	cl, err := a.connect(ctx, flags)
	if err != nil {
		return err
	}
	defer cl.Close()
	err = act(ctx, txnwire.Client{Kafka: cl.Client, Admin: kadm.NewClient(cl.Client), Within: cl.Within})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cl.Explain(err)
}

// completeTxns offers the cluster's transactional ids.
func (a *app) completeTxns(flags *connect.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(a.env.moment, 2*time.Second))
		defer cancel()
		_ = a.txns(ctx, flags, func(ctx context.Context, c txnwire.Client) error {
			list, err := c.List(ctx, txns.Filter{})
			for _, l := range list {
				ids = append(ids, l.ID)
			}
			return err
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// placesOf finds the partitions that a command line names, all that there are when it names none. A topic, or a partition of it,
// that does not exist is likely a slip.
func placesOf(ctx context.Context, c txnwire.Client, scope groups.Partitions, broker int32) (places, offline []txns.Place, err error) {
	places, offline, err = c.Where(ctx, scope, broker)
	if err != nil || broker >= 0 {
		return places, offline, err
	}
	there := groups.Partitions{}
	for _, p := range append(append([]txns.Place{}, places...), offline...) {
		there.Add(p.Topic, p.Partition)
	}
	for _, topic := range scope.Topics() {
		if _, known := there[topic]; !known && len(scope[topic]) == 0 {
			return nil, nil, missingTopic(ctx, c.Admin, topic, "`skein topic list --internal` shows the topics that there are")
		}
		for _, partition := range scope[topic] {
			if !there.Covers(topic, partition) || len(there[topic]) == 0 {
				return nil, nil, missingPartition(ctx, c, topic, partition)
			}
		}
	}
	return places, offline, nil
}

func missingPartition(ctx context.Context, c txnwire.Client, topic string, partition int32) error {
	all, _, err := c.Where(ctx, groups.Partitions{topic: nil}, -1)
	if err != nil || len(all) == 0 {
		return missingTopic(ctx, c.Admin, topic, "`skein topic list --internal` shows the topics that there are")
	}
	return problem.New(fmt.Sprintf("it has %s, from 0 on", count(len(all), "partition")), "topic %s has no partition %d", topic, partition)
}

// knowsBroker refuses a broker that does not run: of its partitions nothing could be said, and none hanging would sound like good news.
func knowsBroker(ctx context.Context, c txnwire.Client, broker int32) error {
	if broker == anyBroker {
		return nil
	}
	within, cancel := c.Within(ctx)
	defer cancel()
	meta, err := c.Admin.BrokerMetadata(within)
	if err != nil {
		return err
	}
	if ids := meta.Brokers.NodeIDs(); !slices.Contains(ids, broker) {
		return problem.New("those that run are: "+joinInts(ids), "no broker %d runs", broker)
	}
	return nil
}

// noteOffline says which partitions nobody could be asked about.
func (a *app) noteOffline(offline []txns.Place) {
	if len(offline) == 0 {
		return
	}
	fmt.Fprintf(a.notices(), "not looked at, since they have no leader: %s\n", partitionsText(offline))
}

func partitionsText(places []txns.Place) string {
	var all groups.Partitions
	for _, p := range places {
		all.Add(p.Topic, p.Partition)
	}
	return all.String()
}

// timeText shows a time, or a dash when it is not known.
func timeText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// ageText shows how long something has taken, without what nobody cares about by then.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d >= 2*day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

func msText(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return ageText(time.Duration(*ms) * time.Millisecond)
}
