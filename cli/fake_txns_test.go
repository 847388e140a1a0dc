package cli

import (
	"encoding/binary"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeTxns is a cluster of one broker with transactions, as a test wants them; topics are those of fakeGroups.
type fakeTxns struct {
	*fakeGroups
	ids       map[string]*fakeTxn
	producers map[place][]fakeProducer
	written   map[place]time.Time // what the batch at the last stable offset says; missing: it cannot be read
	listed    []*kmsg.ListTransactionsRequest
	// asked is called with every request, before it is answered.
	asked func(kmsg.Request)
}

type fakeTxn struct {
	state      string
	producer   int64
	epoch      int16
	timeout    time.Duration
	began      time.Time
	partitions map[string][]int32
	busy       int // so many times it is answered that the last transaction is still being ended
}

type fakeProducer struct {
	id          int64
	epoch       int32
	coordinator int32
	sequence    int32
	written     time.Time
	start       int64 // -1: no transaction
}

// kafkaOf is what a release says of requests for transactions.
func kafkaOf(release string) map[int16]int16 {
	versions := map[int16]int16{0: 9, 18: 3, 3: 12, 10: 4, 2: 7, 1: 12, 22: 4, 27: 1}
	switch release {
	case "4.4":
		versions[66], versions[65], versions[61], versions[27] = 2, 0, 0, 2
	case "3.0":
		versions[66], versions[65], versions[61] = 0, 0, 0
	case "2.8":
		versions[61] = 0
	}
	return versions
}

func startTxns(t *testing.T, release string) (*fakeTxns, cluster) {
	t.Helper()
	f := &fakeTxns{ids: map[string]*fakeTxn{}, producers: map[place][]fakeProducer{}, written: map[place]time.Time{}, asked: func(kmsg.Request) {}}
	f.fakeGroups = &fakeGroups{topics: map[string][]fakeLog{}, refuse: map[int16]*kerr.Error{}}
	f.fakeBroker = &fakeBroker{t: t, versions: kafkaOf(release), answer: f.answerTo}
	return f, cluster{t, f.start()}
}

// some is a cluster with a transaction of every kind.
func (f *fakeTxns) some() {
	now := time.Now()
	f.topics["orders"] = []fakeLog{{0, 40, 100}, {0, 7, 9}, {0, 5, 5}, {0, 60, 61}}
	f.topics["payments"] = []fakeLog{{0, 10, 30}}
	f.ids = map[string]*fakeTxn{
		"app-1": {state: "Ongoing", producer: 11, epoch: 3, timeout: time.Minute, began: now.Add(-30 * time.Second), partitions: map[string][]int32{"orders": {0, 1}}},
		"app-2": {state: "CompleteCommit", producer: 12, epoch: 5, timeout: time.Minute, began: now.Add(-time.Hour)},
		"app-3": {state: "PrepareAbort", producer: 13, epoch: 1, timeout: time.Minute, began: now.Add(-2 * time.Hour), partitions: map[string][]int32{"orders": {3}}},
		"slow":  {state: "Ongoing", producer: 14, epoch: 0, timeout: time.Minute, began: now.Add(-3 * time.Hour), partitions: map[string][]int32{"payments": {0}}},
		"new":   {state: "Empty", producer: 15, epoch: 0, timeout: time.Minute},
	}
	f.producers = map[place][]fakeProducer{
		{"orders", 0}:   {{11, 3, 2, 8, now, 90}, {12, 5, 4, 3, now.Add(-time.Hour), 40}, {99, 0, -1, 5, now, -1}},
		{"orders", 1}:   {{11, 3, 2, 0, now, 7}},
		{"orders", 3}:   {{13, 1, 0, 0, now.Add(-2 * time.Hour), 60}},
		{"payments", 0}: {{14, 0, -1, 1, now.Add(-3 * time.Hour), 20}, {77, 2, -1, 9, now.Add(-26 * time.Hour), 10}},
	}
	f.written[place{"payments", 0}] = now.Add(-50 * time.Hour)
}

func (f *fakeTxns) answerTo(req kmsg.Request) kmsg.Response {
	f.asked(req)
	resp := req.ResponseKind()
	switch r := req.(type) {
	case *kmsg.ListTransactionsRequest:
		f.listTxns(r, resp.(*kmsg.ListTransactionsResponse))
	case *kmsg.DescribeTransactionsRequest:
		f.describeTxns(r, resp.(*kmsg.DescribeTransactionsResponse))
	case *kmsg.DescribeProducersRequest:
		f.describeProducers(r, resp.(*kmsg.DescribeProducersResponse))
	case *kmsg.FetchRequest:
		f.fetchFirst(r, resp.(*kmsg.FetchResponse))
	case *kmsg.WriteTxnMarkersRequest:
		f.requests = append(f.requests, req)
		f.mark(r, resp.(*kmsg.WriteTxnMarkersResponse))
	case *kmsg.InitProducerIDRequest:
		f.requests = append(f.requests, req)
		f.init(r, resp.(*kmsg.InitProducerIDResponse))
	default:
		return f.fakeGroups.answerTo(req)
	}
	return resp
}

// listTxns filters by what the version knows.
func (f *fakeTxns) listTxns(r *kmsg.ListTransactionsRequest, resp *kmsg.ListTransactionsResponse) {
	f.listed = append(f.listed, r)
	resp.ErrorCode = f.code(r.Key())
	for id, t := range f.ids {
		switch {
		case len(r.StateFilters) > 0 && !slices.Contains(r.StateFilters, t.state), len(r.ProducerIDFilters) > 0 && !slices.Contains(r.ProducerIDFilters, t.producer):
			continue
		case r.Version >= 2 && r.TransactionalIDPattern != nil && !regexp.MustCompile("^(?:"+*r.TransactionalIDPattern+")$").MatchString(id):
			continue
		}
		s := kmsg.NewListTransactionsResponseTransactionState()
		s.TransactionalID, s.ProducerID, s.TransactionState = id, t.producer, t.state
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
}

func (f *fakeTxns) describeTxns(r *kmsg.DescribeTransactionsRequest, resp *kmsg.DescribeTransactionsResponse) {
	for _, id := range r.TransactionalIDs {
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID, s.ErrorCode = id, f.code(r.Key())
		if t := f.ids[id]; t == nil {
			s.ErrorCode = kerr.TransactionalIDNotFound.Code
		} else {
			s.State, s.ProducerID, s.ProducerEpoch, s.TimeoutMillis, s.StartTimestamp = t.state, t.producer, t.epoch, int32(t.timeout.Milliseconds()), -1
			if !t.began.IsZero() {
				s.StartTimestamp = t.began.UnixMilli()
			}
			for topic, partitions := range t.partitions {
				s.Topics = append(s.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: topic, Partitions: partitions})
			}
		}
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
}

func (f *fakeTxns) describeProducers(r *kmsg.DescribeProducersRequest, resp *kmsg.DescribeProducersResponse) {
	for _, t := range r.Topics {
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			p := kmsg.NewDescribeProducersResponseTopicPartition()
			p.Partition, p.ErrorCode = index, f.code(r.Key())
			for _, one := range f.producers[place{t.Topic, index}] {
				p.ActiveProducers = append(p.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					ProducerID: one.id, ProducerEpoch: one.epoch, CoordinatorEpoch: one.coordinator, LastSequence: one.sequence,
					LastTimestamp: one.written.UnixMilli(), CurrentTxnStartOffset: one.start,
				})
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
}

// fetchFirst sends the header of a batch.
func (f *fakeTxns) fetchFirst(r *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	for _, t := range r.Topics {
		out := kmsg.NewFetchResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewFetchResponseTopicPartition()
			o.Partition, o.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
			if at := f.written[place{t.Topic, p.Partition}]; !at.IsZero() {
				o.ErrorCode, o.RecordBatches = 0, make([]byte, 61)
				o.RecordBatches[16] = 2
				binary.BigEndian.PutUint64(o.RecordBatches[27:], uint64(at.UnixMilli()))
			}
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
}

// mark ends what a producer has open in partitions.
func (f *fakeTxns) mark(r *kmsg.WriteTxnMarkersRequest, resp *kmsg.WriteTxnMarkersResponse) {
	for _, m := range r.Markers {
		out := kmsg.NewWriteTxnMarkersResponseMarker()
		out.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			to := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			to.Topic = t.Topic
			for _, index := range t.Partitions {
				to.Partitions = append(to.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: index, ErrorCode: f.code(r.Key())})
				at := place{t.Topic, index}
				f.producers[at] = slices.DeleteFunc(f.producers[at], func(p fakeProducer) bool { return f.code(r.Key()) == 0 && p.id == m.ProducerID })
			}
			out.Topics = append(out.Topics, to)
		}
		resp.Markers = append(resp.Markers, out)
	}
}

func (f *fakeTxns) init(r *kmsg.InitProducerIDRequest, resp *kmsg.InitProducerIDResponse) {
	t := f.ids[*r.TransactionalID]
	switch {
	case t == nil:
		f.t.Errorf("%s would be made", *r.TransactionalID)
	case t.busy > 0:
		t.busy--
		resp.ErrorCode = kerr.ConcurrentTransactions.Code
	default:
		t.state, t.epoch, t.partitions = "Empty", t.epoch+1, nil
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = f.code(r.Key()), t.producer, t.epoch
	}
}
