package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/txns"
	"github.com/skeinstream/skein/cli/internal/txnwire"
)

// terminatedTxn is the transaction of a transactional id that was aborted, or would be, as it was before.
type terminatedTxn struct {
	DryRun  bool `json:"dry_run"`
	Aborted bool `json:"aborted"`
	txns.Transaction
}

// terminate aborts the open transaction of a transactional id.
func (t txnAbort) terminate(ctx context.Context, a *app, c txnwire.Client) error {
	list, err := describeTxns(ctx, a, c, []string{t.id})
	if err != nil {
		return err
	}
	out := terminatedTxn{DryRun: !t.execute, Transaction: list[0]}
	switch {
	case !out.Open():
		return problem.New("`skein txn find-hanging` finds what no coordinator knows", "the transactional id %s has no open transaction (%s)", t.id, out.State)
	case !out.Ongoing():
		return problem.New("its coordinator writes the markers: if it does not, its broker's log may tell why",
			"the transaction of %s is decided (%s); markers are missing in %s", t.id, out.State, groups.Partitions(out.Partitions))
	}
	if t.execute {
		if err := c.Terminate(ctx, t.id); err != nil {
			return err
		}
		out.Aborted = true
	}
	return a.print(out, out.text)
}

func (out terminatedTxn) text(w io.Writer) {
	what := fmt.Sprintf("the transaction of %s (producer %d, epoch %d", out.ID, out.ProducerID, out.Epoch)
	if age, open := out.Age(); open {
		what += ", open for " + ageText(age)
	}
	what += ")"
	if len(out.Partitions) > 0 {
		what += " in " + groups.Partitions(out.Partitions).String()
	}
	if out.DryRun {
		fmt.Fprintf(w, "would abort %s, and fence its producer\nnothing has changed: --execute does it\n", what)
		return
	}
	fmt.Fprintf(w, "aborted %s, and fenced its producer\n", what)
}
