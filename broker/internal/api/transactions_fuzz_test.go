package api

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// startPlayed is a broker with partitions and real machines, which has the topics a (4 partitions) and that of the groups.
func startPlayed(t testing.TB) *testBroker {
	t.Helper()
	groups := playedGroups()
	transactions := playTransactions(groups)
	b := startDataWith(t, vfs.NewMemory(), nil, Deps{Groups: groups, Transactions: transactions})
	transactions.broker = b
	b.create(topic("a", 4, 1), topic(offsetsTopic, 3, 1))
	return b
}

// fuzzedTransactionKeys are the requests about transactions.
func fuzzedTransactionKeys() []int16 { return []int16{0, 22, 24, 25, 26, 27, 28, 61, 65, 66} }

// FuzzTransactionRequests sends requests of every kind about transactions to machines that have seen others: none of them may
// panic, and every one is answered or closes its connection. FuzzProduceRequest looks at what Produce is made of.
func FuzzTransactionRequests(f *testing.F) {
	b := startPlayed(f)
	b.fuzz(f, append(goodTransactionRequests(), hostileTransactionRequests(3)...), func(key int16) bool { return slices.Contains(fuzzedTransactionKeys(), key) })
}

// goodTransactionRequests is a transaction from its beginning to its end, and what administrators ask about it.
func goodTransactionRequests() []kmsg.Request {
	batch := kmsg.NewPtrProduceRequest()
	batch.TransactionID, batch.Acks = pointer("x"), -1
	batch.Topics = []kmsg.ProduceRequestTopic{{Topic: "a", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: batchOf(1, 0, 0, "v")}}}}
	offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
	offsets.TransactionalID, offsets.ProducerID, offsets.Group = "x", 1, "g"
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.Group, commit.Generation = "x", 1, "g", -1
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "a", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 1, Offset: 5}}}}
	mark := kmsg.NewPtrWriteTxnMarkersRequest()
	mark.Markers = []kmsg.WriteTxnMarkersRequestMarker{{
		ProducerID: 1, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "a", Partitions: []int32{1}}}, TransactionVersion: 2,
	}}
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: []int32{1}}}
	list := kmsg.NewPtrListTransactionsRequest()
	list.StateFilters, list.TransactionalIDPattern = []string{"Ongoing"}, pointer("x.*")
	all := transactionRequests()
	return slices.Concat(all[:2], []kmsg.Request{batch, offsets, commit}, all[2:], []kmsg.Request{mark, producers, list})
}

// hostileTransactionRequests are requests in which everything that can be is there n times over, or is none, negative, the
// largest, or empty.
func hostileTransactionRequests(n int) []kmsg.Request {
	initialise := kmsg.NewPtrInitProducerIDRequest()
	initialise.TransactionalID, initialise.TransactionTimeoutMillis = pointer(strings.Repeat("x", n)), math.MaxInt32
	initialise.ProducerID, initialise.ProducerEpoch = math.MinInt64, math.MinInt16
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "x", -7, math.MaxInt16
	for range n {
		add.Topics = append(add.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: "a", Partitions: []int32{0}})
		add.Transactions = append(add.Transactions, kmsg.AddPartitionsToTxnRequestTransaction{
			TransactionalID: "x", Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "a", Partitions: []int32{0}}},
		})
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.ProducerID, end.ProducerEpoch, end.Commit = math.MaxInt64, -1, true
	return append([]kmsg.Request{initialise, add, end}, hostileListRequests(n)...)
}

func hostileListRequests(n int) []kmsg.Request {
	same := slices.Repeat([]int32{0}, n)
	mark, producers := kmsg.NewPtrWriteTxnMarkersRequest(), kmsg.NewPtrDescribeProducersRequest()
	mark.Markers = []kmsg.WriteTxnMarkersRequestMarker{
		{ProducerID: 1, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "a", Partitions: same}}},
		{ProducerID: -1, ProducerEpoch: -1, CoordinatorEpoch: math.MinInt32, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "", Partitions: []int32{-1, math.MaxInt32}}}},
	}
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: same}, {Topic: "", Partitions: []int32{-1}}}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.Group, commit.Generation = "x", math.MinInt64, "g", math.MinInt32
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "a"}, {Topic: ""}}
	for i := range int32(n) {
		commit.Topics[0].Partitions = append(commit.Topics[0].Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: i % 4, Offset: math.MinInt64})
	}
	describe, list := kmsg.NewPtrDescribeTransactionsRequest(), kmsg.NewPtrListTransactionsRequest()
	describe.TransactionalIDs = slices.Repeat([]string{"x", ""}, n)
	list.StateFilters, list.ProducerIDFilters = slices.Repeat([]string{"Ongoing", ""}, n), slices.Repeat([]int64{-1}, n)
	list.DurationFilterMillis, list.TransactionalIDPattern = math.MinInt64, pointer(strings.Repeat(`\pL`, n))
	offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
	offsets.TransactionalID, offsets.Group, offsets.ProducerEpoch = "", strings.Repeat("g", min(n, math.MaxInt16)), -1
	return []kmsg.Request{mark, producers, commit, describe, list, offsets}
}

// TestHostileTransactionRequests: what can be named a great many times is answered, and costs no more than its share.
func TestHostileTransactionRequests(t *testing.T) {
	b := startPlayed(t)
	for _, req := range goodTransactionRequests()[:5] {
		b.answerTo(b.table[req.Key()].max, req)
	}
	for _, req := range hostileTransactionRequests(10_000) {
		e := b.table[req.Key()]
		for v := e.min; v <= e.max; v++ {
			if req.Key() == int16(kmsg.InitProducerID) && v < 2 {
				continue // no room for the transactional id
			}
			req.SetVersion(v)
			size := len(req.AppendTo(nil))
			before := allocated()
			if v >= 6 && req.Key() == int16(kmsg.TxnOffsetCommit) {
				continue // topics by id, which it has none of
			}
			b.answerTo(v, req)
			if spent := allocated() - before; spent > uint64(hostileSpread*size+1<<20) {
				t.Errorf("%s v%d: %d bytes of a request of %d", kmsg.NameForKey(req.Key()), v, spent, size)
			}
		}
	}
}

// hostileSpread is how many times its size a request may cost, its test's own share included.
const hostileSpread = 150

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
