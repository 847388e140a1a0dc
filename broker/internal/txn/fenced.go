package txn

import "github.com/twmb/franz-go/pkg/kerr"

// The first versions that know PRODUCER_FENCED (KIP-588).
const (
	initFenced = 4
	addFenced  = 2
	endFenced  = 2
)

// fenced is the code for a stale epoch in a request of a version (T16, P7.9).
func fenced(version, since int16) int16 {
	if version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return kerr.ProducerFenced.Code
}

// late says whether a request of the current producer id and epoch comes over an older connection than another one did, and
// counts it if so. It does not ask whether the client has gone: a client that opens a second connection has given up the
// first, and what still arrives over it is of the past (FR-H4). Where epochs do not change with each transaction, an EndTxn
// that was held up would end another transaction than it was sent for, and an AddPartitionsToTxn would open one that nobody
// ends. old: the request is one of those.
func (m *Machine) late(t *transaction, c Caller, old bool) bool {
	if m.settings.RefuseLate && old && c.Connection != 0 && c.Connection < t.newest {
		m.totals.Late++
		return true
	}
	t.newest = max(t.newest, c.Connection)
	return false
}
