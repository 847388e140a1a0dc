package broker

import (
	"log/slog"
	"time"

	"github.com/skeinstream/skein/internal/txn"
)

// What a machine asks for is tried again this soon where it could not even be given back to the machine, which comes by
// itself only after a long while.
const (
	askAgain    = 100 * time.Millisecond
	askAgainMax = 8 // times
)

// ask does what a machine wants done: it looks how the partitions are and tells the machine to go on.
func (t *transactions) ask(a txn.Ask) {
	if a.After == 0 {
		t.goOn(a, 0)
		return
	}
	t.later.after(a.After, func() { t.goOn(a, 0) })
}

func (t *transactions) goOn(a txn.Ask, tries int) {
	in := txn.Finish{TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch}
	e := &ending{txns: t, id: a.TransactionalID, plain: !a.Abort, tired: tries == askAgainMax}
	e.in = func(ends txn.Ends) any { in.Ends = ends; return in }
	e.done = func(_ any, err error) {
		if err != nil && tries < askAgainMax {
			t.later.after(askAgain<<min(tries, 6), func() { t.goOn(a, tries+1) })
		}
	}
	e.start()
}

const (
	// watchInterval is how often it is looked for transactions that hold readers up, and longOpen from when on one does.
	watchInterval = time.Minute
	longOpen      = 5 * time.Minute
)

// watch tells who holds up committed readers for long, once for each transaction.
func (t *transactions) watch() {
	defer t.later.after(watchInterval, t.watch)
	t.All(txn.Count{}, func(replies []any, err error) {
		var oldest txn.Counts
		for _, reply := range replies {
			c := reply.(txn.Counts)
			if c.OldestID != "" && (oldest.OldestID == "" || c.OldestStarted.Before(oldest.OldestStarted)) {
				oldest = c
			}
		}
		if open := t.broker.cfg.now().Sub(oldest.OldestStarted); oldest.OldestID == "" || open < longOpen {
			return
		}
		t.mu.Lock()
		told := t.told
		t.told = oldest.OldestStarted
		t.mu.Unlock()
		if !told.Equal(oldest.OldestStarted) {
			t.broker.cfg.Logger.Warn("a transaction has been open for long, and committed readers of its partitions wait for it",
				slog.String("transactional id", oldest.OldestID), slog.Time("since", oldest.OldestStarted))
		}
	})
}
