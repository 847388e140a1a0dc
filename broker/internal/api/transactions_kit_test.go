package api

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/txn"
	"github.com/skeinstream/skein/internal/vfs"
)

// fakeTransactions stands for the coordinator of transactions: it answers what the test says, and keeps what it was asked.
type fakeTransactions struct {
	fakeGroups // answer and err decide
	marked     []Mark
	codes      []int16 // of the marks
	lost       error   // what becomes of additions after they were answered
	ids        sync.Mutex
	id         int64 // the next
}

func (f *fakeTransactions) AddEarly(id string, in txn.Add, done func(any, error), durable func(error)) {
	f.Do(id, in, func(got any, err error) {
		done(got, err)
		if err == nil && durable != nil {
			durable(f.lost)
		}
	})
}

func (f *fakeTransactions) Mark(marks []Mark, done func([]int16)) {
	f.marked = append(f.marked, marks...)
	done(f.codes)
}

func (f *fakeTransactions) ProducerID(done func(int64, error)) {
	f.ids.Lock()
	defer f.ids.Unlock()
	f.id++
	done(f.id-1, f.err)
}

// withTransactions runs a test against a broker with partitions, whose coordinators are f and g, with the topics a (4
// partitions) and b (1).
func withTransactions(t *testing.T, static map[string]string, f *fakeTransactions, g *fakeGroups, test func(b *testBroker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := startDataWith(t, vfs.NewMemory(), static, Deps{Groups: g, Transactions: f})
		b.create(topic("a", 4, 1), topic("b", 1, 1))
		test(b)
	})
}

// always answers every input.
func always(reply any) *fakeTransactions {
	f := &fakeTransactions{}
	f.answer = func(string, any) (any, error) { return reply, nil }
	return f
}

// batchOf is a transactional batch.
func batchOf(producer int64, epoch int16, sequence int32, values ...string) []byte {
	b := record.NewBuilder(0)
	b.Transactional, b.ProducerID, b.ProducerEpoch, b.BaseSequence = true, producer, epoch, sequence
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("k"), []byte(v))
	}
	return b.Bytes()
}

// inTransactionOf is a Produce for partitions 0, 1, 2… of a topic, one batch each.
func (b *testBroker) inTransactionOf(version int16, id, topic string, batches ...[]byte) *kmsg.ProduceRequest {
	req := b.produceTo(version, topic, 0, batches[0])
	req.TransactionID = &id
	for i, batch := range batches[1:] {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i+1), batch
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	return req
}

// codesOf are the codes of all partitions of a Produce, in order.
func (b *testBroker) codesOf(req *kmsg.ProduceRequest) (codes []int16) {
	b.t.Helper()
	for _, t := range ask[*kmsg.ProduceResponse](b, req.Version, req).Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}
