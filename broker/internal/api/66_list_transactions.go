package api

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// ListTransactions (66): which transactional ids there are (KIP-664).
//
// v0: flexible
// v1: only those whose transactions take longer than a duration (KIP-994)
// v2: only those whose ids match a pattern (KIP-1152)
//
// States that do not exist are named in the answer and otherwise passed over (R-K30). An id whose records are being loaded
// might be missing from the list, so there is none until all are.
func listTransactionsEntry() entry {
	return entry{key: 66, min: 0, max: 2, flexible: 0, serve: (*Handler).listTransactions}
}

func (h *Handler) listTransactions(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrListTransactionsRequest()
	if !decode(r, req) {
		return
	}
	f, err := newTransactionFilter(req, h.Now().UnixMilli())
	if err != nil {
		resp := kmsg.NewPtrListTransactionsResponse()
		resp.ErrorCode = kerr.InvalidRegularExpression.Code
		reply(r, resp)
		return
	}
	h.Transactions.All(txn.List{}, func(replies []any, err error) {
		defer r.Contain()
		resp := kmsg.NewPtrListTransactionsResponse()
		if resp.ErrorCode = coordinatorCode(err); resp.ErrorCode == 0 {
			resp.UnknownStateFilters = f.unknown
			resp.TransactionStates = f.listed(replies)
		}
		reply(r, resp)
	})
}

// transactionFilter is what a request wants to see.
type transactionFilter struct {
	anyState  bool
	states    map[string]bool
	unknown   []string
	producers map[int64]bool
	longer    int64 // than so many ms; negative: any
	now       int64 // ms
	pattern   *regexp.Regexp
}

// transactionStates are the names that a filter may have.
var transactionStates = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

func newTransactionFilter(req *kmsg.ListTransactionsRequest, now int64) (*transactionFilter, error) {
	f := &transactionFilter{
		anyState: len(req.StateFilters) == 0, states: map[string]bool{}, producers: map[int64]bool{}, longer: req.DurationFilterMillis, now: now,
	}
	for _, s := range req.StateFilters {
		if !slices.Contains(transactionStates, s) && !f.states[s] {
			f.unknown = append(f.unknown, s)
		}
		f.states[s] = true
	}
	for _, id := range req.ProducerIDFilters {
		f.producers[id] = true
	}
	var err error
	if p := req.TransactionalIDPattern; p != nil && *p != "" {
		f.pattern, err = compilePattern(*p)
	}
	return f, err
}

// patternBytes bounds a pattern: what is made of it takes up to a few thousand times its size.
const patternBytes = 4 << 10

var errPattern = errors.New("the pattern is too long")

func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > patternBytes {
		return nil, errPattern
	}
	return regexp.Compile(`^(?:` + pattern + `)$`)
}

func (f *transactionFilter) fits(l *txn.Listed) bool {
	switch {
	case !f.anyState && !f.states[l.TransactionState]:
		return false
	case len(f.producers) > 0 && !f.producers[l.ProducerID]:
		return false
	case f.longer >= 0 && f.now-started(l) <= f.longer:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(l.TransactionalID)
}

// started is when the last transaction of an id began, in ms. One that has had none counts as begun before all time, as in
// Kafka, and so does one that has ended as running.
func started(l *txn.Listed) int64 {
	if l.Started.IsZero() {
		return -1
	}
	return l.Started.UnixMilli()
}

// listed is what fits, by transactional id. Each reply is by id.
func (f *transactionFilter) listed(replies []any) []kmsg.ListTransactionsResponseTransactionState {
	lists := make([][]kmsg.ListTransactionsResponseTransactionState, len(replies))
	for i, some := range replies {
		for _, l := range some.([]txn.Listed) {
			if f.fits(&l) {
				lists[i] = append(lists[i], l.ListTransactionsResponseTransactionState)
			}
		}
	}
	return mergeSorted(lists, func(a, b *kmsg.ListTransactionsResponseTransactionState) int {
		return cmp.Compare(a.TransactionalID, b.TransactionalID)
	})
}
