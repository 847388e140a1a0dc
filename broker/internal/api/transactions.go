package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/txn"
)

// What the requests about transactions share. As with groups, each becomes inputs for the machines of the transactional ids
// that it names.

// transactionEntries lists the requests about transactions; some are about groups, or about producers without, too.
func transactionEntries() []entry {
	return []entry{
		initProducerIDEntry(),
		addPartitionsToTxnEntry(),
		addOffsetsToTxnEntry(),
		endTxnEntry(),
		writeTxnMarkersEntry(),
		txnOffsetCommitEntry(),
		updateFeaturesEntry(),
		describeTransactionsEntry(),
		listTransactionsEntry(),
	}
}

// caller is the client that r comes from. Connections are numbered as they are accepted.
func caller(r *server.Request) txn.Caller {
	return txn.Caller{Connection: r.Conn.ID(), Version: r.Version}
}

// inTransaction answers r with what answer makes of what the machine of the transactional id says. It gets code, and the zero
// value, when that says nothing. A request that is late is not answered.
func inTransaction[Reply any](h *Handler, r *server.Request, id string, in any, answer func(got Reply, code int16) kmsg.Response) {
	h.Transactions.Do(id, in, func(reached any, err error) {
		defer r.Contain()
		if late(reached) {
			r.Fail(errLate)
			return
		}
		got, _ := reached.(Reply)
		reply(r, answer(got, coordinatorCode(err)))
	})
}

// errLate ends a connection over which something came that its client has sent before it went on over another (FR-H4). Nobody
// reads an answer there; and if somebody does, he comes again over a new connection, which is never late.
var errLate = errors.New("a request of a transaction came over a connection that its producer has left for another")

// late says whether the machine of a transactional id has found a request late.
func late(got any) bool {
	switch got := got.(type) {
	case txn.Added:
		return got.Late
	case txn.Ended:
		return got.Late
	}
	return false
}

// code is the code for partition n of an addition, given that of an error of the coordinator.
func addedCode(got any, failed int16, n int) int16 {
	a, _ := got.(txn.Added)
	switch {
	case failed != 0:
		return failed
	case a.Code == 0 && n < len(a.Codes):
		return a.Codes[n]
	default:
		return a.Code
	}
}

// offsetsTopic is the topic of the groups.
const offsetsTopic = "__consumer_offsets"

// groupPartition is the partition that the offsets of a group are in. The topic must be there.
func groupPartition(s *catalog.Snapshot, group string) (p txn.Partition, there bool) {
	t := s.Topic(offsetsTopic)
	if t == nil {
		return p, false
	}
	return txn.Partition{Topic: t.Name, Partition: coordinator.Shard(group, int(t.Partitions))}, true
}
