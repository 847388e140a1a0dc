package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

type txnHanging struct {
	topics []string
	broker int32
	older  time.Duration
	all    bool
}

// anyBroker stands for all of them.
const anyBroker = -1

func newTxnHanging(a *app) *cobra.Command {
	var h txnHanging
	cmd := &cobra.Command{
		Use:   "find-hanging",
		Short: "Find transactions that are open in partitions and that nobody will end",
		Long: `Find transactions that hang: they are open in a partition, which committed
readers cannot read beyond, and no coordinator knows them, so that nobody will
end them. All partitions are looked at, or some, with --topic and --broker.

Partitions are asked before and after the coordinators, and who seems to hang is
asked about twice. So what is told is true of young transactions too, and there
is no need to wait for the longest timeout to pass. It takes READ on the topics
and DESCRIBE on the transactional ids: ids that you may not see look as if they
did not exist.`,
		Example: `skein txn find-hanging
skein txn find-hanging --topic orders --topic payments:0-3
skein txn find-hanging --broker 2 --older-than 15m --json
skein txn find-hanging --all        # every open transaction, and what becomes of it`,
		Args: noArgs,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&h.topics, "topic", nil, "`TOPIC[:0,1]` only this topic, or these of its partitions; may be repeated")
	f.Int32Var(&h.broker, "broker", anyBroker, "`ID` only partitions that this broker leads")
	f.DurationVar(&h.older, "older-than", 0, "`DURATION` only transactions that have been open for longer, such as 15m")
	f.BoolVar(&h.all, "all", false, "open transactions that do not hang, too")
	flags := addConnection(cmd, a)
	_ = cmd.RegisterFlagCompletionFunc("topic", a.completeTopics(flags))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		scope, err := groups.ParseScope(h.topics)
		if err == nil && h.older < 0 {
			err = problem.Usage("give a duration such as 15m", "--older-than %v is before now", h.older)
		}
		if err != nil {
			return err
		}
		return a.txns(cmd.Context(), flags, func(ctx context.Context, c txnwire.Client) error {
			found, err := h.find(ctx, a, c, scope)
			if err != nil {
				return err
			}
			for i := range found {
				found[i].Abort = found[i].AbortCommand(flags.Given())
			}
			return h.print(a, found)
		})
	}
	return cmd
}

func (h txnHanging) find(ctx context.Context, a *app, c txnwire.Client, scope groups.Partitions) ([]txns.Finding, error) {
	p := a.newProgress("")
	defer p.end()
	p.begin("looking for partitions")
	if err := knowsBroker(ctx, c, h.broker); err != nil {
		return nil, err
	}
	places, offline, err := placesOf(ctx, c, scope, h.broker)
	if err != nil {
		return nil, err
	}
	a.noteOffline(offline)
	return c.Find(ctx, places, a.search(p.begin))
}

// search is how this command line looks for what hangs.
func (a *app) search(say func(string)) txnwire.Search {
	return txnwire.Search{Now: a.env.Now, Say: say, Pause: cmp.Or(a.env.pause, time.Second)}
}

func (h txnHanging) print(a *app, found []txns.Finding) error {
	now := a.env.Now()
	verdicts := []txns.Verdict{txns.Hanging}
	if h.all {
		verdicts = append(verdicts, txns.Overdue, txns.Ending, txns.Ongoing)
	}
	list := txns.Of(found, h.older, now, verdicts...)
	err := a.print(list, func(w io.Writer) { findingsText(w, list) })
	if a.json {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(a.notices(), "no transaction hangs"+beside(found))
	} else if rest := beside(found); rest != "" && !h.all {
		fmt.Fprintln(a.notices(), strings.TrimPrefix(rest, "; "))
	}
	return err
}

// beside says which other transactions are open; --all shows them.
func beside(found []txns.Finding) string {
	number := map[txns.Verdict]int{}
	for _, f := range found {
		number[f.Verdict]++
	}
	var words []string
	for _, v := range []txns.Verdict{txns.Overdue, txns.Ending, txns.Ongoing} {
		if n := number[v]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "; open in partitions and known to a coordinator: " + strings.Join(words, ", ") + " (--all shows them)"
}

func findingsText(w io.Writer, list []txns.Finding) {
	if len(list) == 0 {
		return
	}
	t := newTable(w, "TOPIC", "PARTITION", "PRODUCER-ID", "EPOCH", "START", "OPEN-SINCE", "OPEN-FOR", "LAST-WRITE", "HOLDS-BACK", "VERDICT", "TRANSACTIONAL-ID", "WHY")
	for _, f := range list {
		t.row(f.Topic, f.Partition, f.ProducerID, f.Epoch, *f.StartOffset, timeText(f.Since), msText(f.OpenMs), timeText(f.LastTimestamp),
			holdsText(f), f.Verdict, orDash(f.ID), f.Why)
	}
	t.flush()
	commandsText(w, list)
}

// holdsText is how many offsets a transaction keeps from committed readers: nothing, behind one that began before.
func holdsText(f txns.Finding) string {
	if !f.Holds {
		return "-"
	}
	return count(f.Blocked, "offset")
}

func commandsText(w io.Writer, list []txns.Finding) {
	heading := "\nThis ends them. Their records are not committed; a producer that still runs is told so:\n"
	seen := map[string]bool{}
	for _, f := range list {
		if f.Abort == "" || seen[f.Abort] {
			continue
		}
		seen[f.Abort] = true
		fmt.Fprintf(w, "%s  %s\n", heading, f.Abort)
		heading = ""
	}
}
