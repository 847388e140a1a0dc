package txn

import "slices"

// Where epochs do not change with each transaction (clients before KIP-890), a request that was held up on its way cannot be
// told from one of the current transaction by what it says: a late EndTxn would end another transaction than it was sent
// for, a late AddPartitionsToTxn open one that nobody ends, a late TxnOffsetCommit move offsets back, and a late batch of an
// aborted transaction would be committed with the next one (FR-H4). But it can be told by where it comes from. A client sends
// all requests of one kind over one connection, where they keep their order, and opens another when it has given that one up:
// what still arrives over the old one is of the past.
//
// So it is remembered, for the holder of each producer id and epoch, which connection is the newest that each kind came over,
// and which ones it has left. docs/decision/0007-late-requests.md goes through the requests and the clients.

// lane is a kind of requests that a client sends over one connection at a time. Those to the coordinator of transactions are
// one kind, whatever they ask. Whether two kinds share a connection is up to the client.
type lane uint8

const (
	control lane = iota // AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
	batches             // Produce
	offsets             // TxnOffsetCommit
	lanes
)

// heard is over which connections the holder of a producer id and epoch was heard. Connections are numbered as they are
// accepted; 0 is none.
type heard struct {
	newest [lanes]uint64
	left   []uint64 // given up for a newer one: the last few
}

// leftMost is how many connections that were given up are remembered. One for each kind is given up at a time, and what was
// sent over it arrives soon or never.
const leftMost = 2 * int(lanes)

// hear notes a request, or says that it is late: it comes over an older connection than another one of its kind, or over one
// that another kind has left.
func (h *heard) hear(connection uint64, l lane) (late bool) {
	newest := h.newest[l]
	switch {
	case connection == 0:
		return false
	case connection < newest || slices.Contains(h.left, connection):
		return true
	case connection > newest && newest != 0:
		h.leave(newest)
	}
	h.newest[l] = connection
	return false
}

func (h *heard) leave(connection uint64) {
	if len(h.left) == leftMost {
		h.left = slices.Delete(h.left, 0, 1)
	}
	h.left = append(h.left, connection)
}

// late notes a request of the current producer id and epoch, of a protocol whose epochs outlive a transaction, or says that it
// is late, and counts it.
func (m *Machine) late(t *transaction, c Caller, l lane) bool {
	if !m.settings.RefuseLate || !t.heard.hear(c.Connection, l) {
		return false
	}
	m.totals.Late++
	return true
}
