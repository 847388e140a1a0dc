package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// DescribeTransactions (65): the state of transactional ids (KIP-664).
//
// There is version 0, and it is flexible.
//
// A transaction may have many partitions, so an id that is named again is not described again.
func describeTransactionsEntry() entry {
	return entry{key: 65, min: 0, max: 0, flexible: 0, serve: (*Handler).describeTransactions}
}

func (h *Handler) describeTransactions(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	if !decode(r, req) {
		return
	}
	var inputs []input
	seen := make(map[string]bool, len(req.TransactionalIDs))
	for _, id := range req.TransactionalIDs {
		if !seen[id] {
			seen[id] = true
			inputs = append(inputs, input{id, txn.Describe{TransactionalID: id}})
		}
	}
	one := func(i int, got any, code int16) kmsg.DescribeTransactionsResponseTransactionState {
		if code == 0 {
			return *got.(*kmsg.DescribeTransactionsResponseTransactionState)
		}
		t := kmsg.NewDescribeTransactionsResponseTransactionState()
		t.TransactionalID, t.ErrorCode = inputs[i].key, code
		return t
	}
	gather(h.Transactions.Do, r, inputs, one, func(all []kmsg.DescribeTransactionsResponseTransactionState) kmsg.Response {
		resp := kmsg.NewPtrDescribeTransactionsResponse()
		resp.TransactionStates = all
		return resp
	})
}
