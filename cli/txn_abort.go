package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

type txnAbort struct {
	topic            string
	partition        int32
	start            int64
	producer         int64
	epoch            int16
	coordinatorEpoch int32
	id               string
	execute          bool
}

func newTxnAbort(a *app) *cobra.Command {
	var t txnAbort
	cmd := &cobra.Command{
		Use:   "abort",
		Short: "Abort a transaction that hangs in a partition, or the open one of a transactional id",
		Long: `Abort a transaction, so that its partitions can be read further. Without
--execute nothing changes: the output shows what would.

  --topic, --partition and --start-offset abort what find-hanging has found, in
  that partition. It is looked up again first: one that a coordinator knows is
  refused, since its other partitions would not be aborted with it.

  --transactional-id aborts the open transaction of an id in all its partitions,
  and fences its producer. That is for one that is open for too long.

  --topic, --partition, --producer-id, --producer-epoch and --coordinator-epoch
  write a marker without a look at anything: for brokers before Kafka 3.0, and
  for coordinators that do not do what they should.`,
		Example: `skein txn abort --topic orders --partition 2 --start-offset 118 --execute
skein txn abort --transactional-id orders-app-0_1 --execute`,
		Args: noArgs,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&t.topic, "topic", "", "`TOPIC` in which the transaction hangs")
	f.Int32Var(&t.partition, "partition", -1, "`NUMBER` of its partition")
	f.Int64Var(&t.start, "start-offset", -1, "`OFFSET` at which it begins there")
	f.StringVar(&t.id, "transactional-id", "", "`ID` whose open transaction is aborted")
	f.Int64Var(&t.producer, "producer-id", -1, "`ID` of the producer, instead of the offset")
	f.Int16Var(&t.epoch, "producer-epoch", -1, "`EPOCH` of the producer")
	f.Int32Var(&t.coordinatorEpoch, "coordinator-epoch", -1, "`EPOCH` of the last marker in the partition; -1 when there is none")
	f.BoolVar(&t.execute, "execute", false, "do it; without, nothing changes")
	flags := addConnection(cmd, a)
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	_ = cmd.RegisterFlagCompletionFunc("transactional-id", a.completeTxns(flags))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		act, err := t.way(cmd.Flags())
		if err != nil {
			return err
		}
		return a.txns(cmd.Context(), flags, func(ctx context.Context, c txnwire.Client) error { return act(ctx, a, c) })
	}
	return cmd
}

// way finds out how the command line names the transaction.
func (t txnAbort) way(flags *pflag.FlagSet) (func(context.Context, *app, txnwire.Client) error, error) {
	given := func(names ...string) (list []string) {
		for _, n := range names {
			if flags.Changed(n) {
				list = append(list, "--"+n)
			}
		}
		return list
	}
	place, offset, id := given("topic", "partition"), given("start-offset"), given("transactional-id")
	producer := given("producer-id", "producer-epoch", "coordinator-epoch")
	switch {
	case len(id) > 0 && len(place)+len(offset)+len(producer) > 0:
		return nil, problem.Usage("keep one of them", "--transactional-id is about all partitions, %s about one", append(append(place, offset...), producer...)[0])
	case len(id) > 0 && t.id != "":
		return t.terminate, nil
	case len(offset) > 0 && len(producer) > 0:
		return nil, problem.Usage("keep one of them", "--start-offset and %s say both which transaction", producer[0])
	case len(place) < 2 || len(offset) == 0 && len(producer) == 0:
		return nil, problem.Usage("name it with --topic, --partition and --start-offset, as `skein txn find-hanging` shows them, or with --transactional-id", "which transaction?")
	case len(offset) == 0 && len(producer) < 3:
		return nil, problem.Usage("`skein txn producers` shows all three", "--producer-id, --producer-epoch and --coordinator-epoch must all be given, but there is only %s", strings.Join(producer, " and "))
	case t.partition < 0 || len(offset) > 0 && t.start < 0 || len(producer) > 0 && (t.producer < 0 || t.epoch < 0):
		return nil, problem.Usage("see `skein txn abort --help`", "partitions, offsets, producer ids and their epochs begin at 0")
	case len(offset) > 0:
		return t.hanging, nil
	}
	return t.blind, nil
}

func (t txnAbort) place() txns.Place { return txns.Place{Topic: t.topic, Partition: t.partition} }

// there checks that the partition exists.
func (t txnAbort) there(ctx context.Context, c txnwire.Client) error {
	_, _, err := placesOf(ctx, c, groups.Partitions{t.topic: {t.partition}}, anyBroker)
	return err
}

// hanging aborts a transaction that hangs.
func (t txnAbort) hanging(ctx context.Context, a *app, c txnwire.Client) error {
	p, err := t.find(ctx, c)
	if err != nil {
		return err
	}
	found, err := c.Judge(ctx, []txns.Producer{p}, a.search(func(string) {}))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return problem.New("nothing is left to do", "the transaction from offset %d on in %s has just ended", t.start, t.place())
	}
	if f := found[0]; f.Verdict != txns.Hanging {
		return problem.New(t.otherwise(f), "the transaction from offset %d on in %s does not hang: %s has it (%s); the partition alone would tear it", t.start, t.place(), f.ID, f.State)
	}
	return t.mark(ctx, a, c, p)
}

// otherwise is what helps when the transaction does not hang.
func (t txnAbort) otherwise(f txns.Finding) string {
	if f.Verdict == txns.Ending {
		return "it is decided, and its coordinator writes the marker: if it does not, its broker's log may tell why"
	}
	return "to abort all of it: " + txns.Command("skein", "txn", "abort", "--transactional-id", f.ID)
}

// find finds the producer by the offset at which its transaction begins.
func (t txnAbort) find(ctx context.Context, c txnwire.Client) (txns.Producer, error) {
	if err := t.there(ctx, c); err != nil {
		return txns.Producer{}, err
	}
	list, err := c.Producers(ctx, []txns.Place{t.place()})
	if err != nil {
		return txns.Producer{}, err
	}
	var open []string
	for _, p := range list {
		if p.InTransaction() && *p.StartOffset == t.start {
			return p, nil
		}
		if p.InTransaction() {
			open = append(open, fmt.Sprint(*p.StartOffset))
		}
	}
	hint := "`skein txn find-hanging --all` shows what is open, and where it begins"
	if len(open) > 0 {
		hint = "those that are open there begin at: " + strings.Join(open, ", ")
	}
	return txns.Producer{}, problem.New(hint, "no transaction is open in %s from offset %d on", t.place(), t.start)
}

// blind writes the marker that the command line asks for.
func (t txnAbort) blind(ctx context.Context, a *app, c txnwire.Client) error {
	if err := t.there(ctx, c); err != nil {
		return err
	}
	return t.mark(ctx, a, c, txns.Producer{Place: t.place(), ProducerID: t.producer, Epoch: t.epoch, CoordinatorEpoch: t.coordinatorEpoch})
}

// abortedInPartition is a transaction that was aborted in a partition, or would be.
type abortedInPartition struct {
	DryRun  bool `json:"dry_run"`
	Aborted bool `json:"aborted"`
	txns.Place
	ProducerID       int64  `json:"producer_id"`
	Epoch            int16  `json:"producer_epoch"`
	CoordinatorEpoch int32  `json:"coordinator_epoch"`
	StartOffset      *int64 `json:"start_offset"`       // null: not looked up
	LastStable       *int64 `json:"last_stable_offset"` // afterwards; null: not known
}

func (t txnAbort) mark(ctx context.Context, a *app, c txnwire.Client, p txns.Producer) error {
	out := abortedInPartition{
		DryRun: !t.execute, Place: p.Place, ProducerID: p.ProducerID, Epoch: p.Epoch, CoordinatorEpoch: p.CoordinatorEpoch, StartOffset: p.StartOffset,
	}
	if t.execute {
		if err := c.Mark(ctx, p); err != nil {
			return err
		}
		out.Aborted = true
	}
	if ends, err := c.Ends(ctx, []txns.Place{p.Place}); err == nil {
		stable := ends[p.Place].Stable
		out.LastStable = &stable
	}
	return a.print(out, out.text)
}

func (out abortedInPartition) text(w io.Writer) {
	what := fmt.Sprintf("the transaction of producer %d, epoch %d, in %s", out.ProducerID, out.Epoch, out.Place)
	if out.StartOffset != nil {
		what += fmt.Sprintf(" from offset %d on", *out.StartOffset)
	}
	if out.DryRun {
		fmt.Fprintf(w, "would abort %s\nnothing has changed: --execute does it\n", what)
		return
	}
	fmt.Fprintf(w, "aborted %s\n", what)
	if out.LastStable != nil {
		fmt.Fprintf(w, "committed readers come to offset %d now\n", *out.LastStable)
	}
}
