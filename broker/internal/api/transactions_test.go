package api

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/txn"
)

// transactionRequests is one good request of each kind about the transactional id x, but for those about groups and lists.
func transactionRequests() []kmsg.Request {
	initialise := kmsg.NewPtrInitProducerIDRequest()
	initialise.TransactionalID, initialise.TransactionTimeoutMillis = pointer("x"), 1000
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID = "x"
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "a", Partitions: []int32{1}}}
	add.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: "x", Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "a", Partitions: []int32{1}}}}}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID = "x"
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{"x"}
	return []kmsg.Request{initialise, add, end, describe}
}

// R-K1: what a coordinator that cannot answer becomes, in every request and version.
func TestErrorsOfTheCoordinatorOfTransactions(t *testing.T) {
	for err, want := range map[error]int16{
		coordinator.ErrLoading:        kerr.CoordinatorLoadInProgress.Code,
		coordinator.ErrNotCoordinator: kerr.NotCoordinator.Code,
		errors.New("no room"):         kerr.CoordinatorNotAvailable.Code,
	} {
		f := &fakeTransactions{}
		f.err = err
		withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
			find := kmsg.NewPtrFindCoordinatorRequest()
			find.CoordinatorType, find.CoordinatorKeys = transactionKey, []string{"x"}
			for _, req := range append(transactionRequests(), kmsg.NewPtrListTransactionsRequest(), find) {
				e := b.table[req.Key()]
				for v := e.min; v <= e.max; v++ {
					want := want
					if req == kmsg.Request(find) {
						if want = kerr.CoordinatorNotAvailable.Code; v == 0 {
							continue // knows groups alone
						}
					}
					if got := errorIn(b.answerTo(v, req)); got != want {
						t.Errorf("%s v%d with %v: %d, want %d", kmsg.NameForKey(req.Key()), v, err, got, want)
					}
				}
			}
		})
	}
}

func TestFindCoordinatorOfTransactions(t *testing.T) {
	withTransactions(t, nil, &fakeTransactions{}, &fakeGroups{err: coordinator.ErrNotCoordinator}, func(b *testBroker) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = transactionKey, "x", []string{"x", ""}
		if got := ask[*kmsg.FindCoordinatorResponse](b, 1, req); got.ErrorCode != 0 || got.NodeID != 1 || got.Host != "broker.example" || said(got.ErrorMessage) != "NONE" {
			t.Errorf("v1: %+v", got)
		}
		got := ask[*kmsg.FindCoordinatorResponse](b, 6, req)
		for i, c := range got.Coordinators {
			if c.Key != req.CoordinatorKeys[i] || c.ErrorCode != 0 || c.NodeID != 1 || c.Port != 1234 {
				t.Errorf("v6: %+v", c)
			}
		}
	})
}

// R-K21: what needs no coordinator is refused here, and a null id asks for nothing but a producer id.
func TestInitProducerIDOfTransactions(t *testing.T) {
	answer := kmsg.NewPtrInitProducerIDResponse()
	answer.ProducerID, answer.ProducerEpoch = 70, 7
	f := always(answer)
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		for _, test := range []struct {
			id       *string
			producer int64
			epoch    int16
			want     [3]int64 // code, id, epoch
			asked    int
		}{
			{pointer(""), -1, -1, [3]int64{42, -1, -1}, 0},
			{pointer(strings.Repeat("x", 32_768)), -1, -1, [3]int64{42, -1, -1}, 0},
			{pointer("x"), 5, -1, [3]int64{42, -1, -1}, 0},
			{pointer("x"), -1, 5, [3]int64{42, -1, -1}, 0},
			{pointer("x"), -1, -1, [3]int64{0, 70, 7}, 1},
			{pointer("x"), 5, 3, [3]int64{0, 70, 7}, 1},
			{nil, -1, -1, [3]int64{0, 0, 0}, 0},
			{nil, 5, 3, [3]int64{0, 1, 0}, 0},
			{nil, 5, -1, [3]int64{42, -1, -1}, 0},
		} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = test.id, test.producer, test.epoch, 1000
			r := ask[*kmsg.InitProducerIDResponse](b, 5, req)
			asked := f.inputs()
			if got := [3]int64{int64(r.ErrorCode), r.ProducerID, int64(r.ProducerEpoch)}; got != test.want || len(asked) != test.asked {
				t.Errorf("%v (%d, %d): %v and %d questions, want %v and %d", test.id, test.producer, test.epoch, got, len(asked), test.want, test.asked)
			}
			for _, in := range asked {
				if got := in.in.(txn.Init); in.key != "x" || !reflect.DeepEqual(got.Request, req) || got.Version != 5 || got.Connection == 0 {
					t.Errorf("asked %+v", in)
				}
			}
		}
	})
}

// T19: idempotence is the default of most clients. Such a producer waits for no coordinator; when no ids can be set aside it is told to
// come again.
func TestInitProducerIDWithoutTransactions(t *testing.T) {
	f := &fakeTransactions{}
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		for v := int16(0); v <= 5; v++ {
			r := ask[*kmsg.InitProducerIDResponse](b, v, kmsg.NewPtrInitProducerIDRequest())
			if r.ErrorCode != 0 || r.ProducerID != int64(v) || r.ProducerEpoch != 0 {
				t.Errorf("v%d: %+v", v, r)
			}
		}
		f.err = errors.New("no room")
		if r := ask[*kmsg.InitProducerIDResponse](b, 5, kmsg.NewPtrInitProducerIDRequest()); r.ErrorCode != kerr.CoordinatorLoadInProgress.Code || r.ProducerID != -1 || r.ProducerEpoch != -1 {
			t.Errorf("%+v", r)
		}
	})
}

// rowsOf shows the answer to an AddPartitionsToTxn: "topic/partition:code", transactions apart.
func rowsOf(r *kmsg.AddPartitionsToTxnResponse) string {
	var b strings.Builder
	row := func(topic string, partition int32, code int16) {
		fmt.Fprintf(&b, " %s/%d:%d", topic, partition, code)
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			row(t.Topic, p.Partition, p.ErrorCode)
		}
	}
	for _, x := range r.Transactions {
		b.WriteString(" " + x.TransactionalID + ":")
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				row(t.Topic, p.Partition, p.ErrorCode)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// R-E6, R-K23: nothing is added when a partition is not there, and the coordinator's code is that of all of them.
func TestAddPartitionsToTxn(t *testing.T) {
	f := always(txn.Added{})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		b.create(topic("__consumer_offsets", 4, 1))
		for _, test := range []struct {
			version int16
			topics  []kmsg.AddPartitionsToTxnRequestTopic
			added   txn.Added
			want    string
			asked   []txn.Partition
		}{
			{0, of("a", 3, 0), txn.Added{}, "a/3:0 a/0:0", []txn.Partition{{Topic: "a", Partition: 3}, {Topic: "a", Partition: 0}}},
			{3, of("a", 3), txn.Added{Code: 51}, "a/3:51", []txn.Partition{{Topic: "a", Partition: 3}}},
			{3, append(of("a", 3, 4), of("nope", 0)...), txn.Added{}, "a/3:55 a/4:3 nope/0:3", nil},
			{3, append(of("a", 3), of("__consumer_offsets", 0)...), txn.Added{}, "a/3:55 __consumer_offsets/0:29", nil},
			{3, nil, txn.Added{}, "", []txn.Partition{}},
			{3, append(of("nope"), of("a", 1)...), txn.Added{}, "a/1:0", []txn.Partition{{Topic: "a", Partition: 1}}},
			{4, of("__consumer_offsets", 0), txn.Added{}, "x: __consumer_offsets/0:0", []txn.Partition{{Topic: "__consumer_offsets", Partition: 0}}},
			{5, of("a", 0, 1), txn.Added{Codes: []int16{0, 120}}, "x: a/0:0 a/1:120", []txn.Partition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}}},
		} {
			f.answer = func(string, any) (any, error) { return test.added, nil }
			req := kmsg.NewPtrAddPartitionsToTxnRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Topics = "x", 7, 2, test.topics
			x := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: "x", ProducerID: 7, ProducerEpoch: 2}
			for _, t := range test.topics {
				x.Topics = append(x.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic(t))
			}
			req.Transactions = append(req.Transactions, x)
			if got := rowsOf(ask[*kmsg.AddPartitionsToTxnResponse](b, test.version, req)); got != test.want {
				t.Errorf("v%d: %s, want %s", test.version, got, test.want)
			}
			asked := f.inputs()
			if (test.asked == nil) != (len(asked) == 0) {
				t.Errorf("v%d: asked %+v", test.version, asked)
			}
			for _, in := range asked {
				got := in.in.(txn.Add)
				if in.key != "x" || got.ProducerID != 7 || got.Epoch != 2 || got.Implicit || got.Offsets || got.Version != test.version || got.Connection == 0 || !slices.Equal(got.Partitions, test.asked) {
					t.Errorf("v%d: asked %+v", test.version, got)
				}
			}
		}
	})
}

func of(topic string, partitions ...int32) []kmsg.AddPartitionsToTxnRequestTopic {
	return []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
}

// P7.6: several transactions, each for itself, the same one again, too; and whether to verify only travels.
func TestAddPartitionsToTxnInBatches(t *testing.T) {
	f := &fakeTransactions{}
	f.answer = func(id string, in any) (any, error) {
		switch {
		case id == "other":
			return nil, coordinator.ErrNotCoordinator
		case in.(txn.Add).VerifyOnly:
			return txn.Added{Codes: []int16{120, 0}}, nil
		}
		return txn.Added{Code: 49}, nil
	}
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		x := func(id string, verify bool, partitions ...int32) kmsg.AddPartitionsToTxnRequestTransaction {
			return kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: id, VerifyOnly: verify, Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "a", Partitions: partitions}}}
		}
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{x("x", false, 1), x("x", true, 2, 3), x("y", false, 9, 1), x("other", false, 0), x("z", true)}
		got := ask[*kmsg.AddPartitionsToTxnResponse](b, 5, req)
		if want := "x: a/1:49 x: a/2:120 a/3:0 y: a/9:3 a/1:55 other: a/0:16 z:"; rowsOf(got) != want || got.ErrorCode != 0 {
			t.Errorf("%s, want %s", rowsOf(got), want)
		}
		req.Transactions = nil
		if got := ask[*kmsg.AddPartitionsToTxnResponse](b, 4, req); len(got.Transactions) != 0 || got.ErrorCode != 0 {
			t.Errorf("nothing: %+v", got)
		}
	})
}

// R-E6: the partition is that of the group, which is where the coordinator of groups keeps it; the group "" has one, too.
func TestAddOffsetsToTxn(t *testing.T) {
	f := always(txn.Added{Code: 51})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = "x", 7, 2, "g"
		if got := ask[*kmsg.AddOffsetsToTxnResponse](b, 3, req); got.ErrorCode != kerr.CoordinatorNotAvailable.Code || len(f.inputs()) != 0 {
			t.Errorf("without a topic: %+v", got)
		}
		b.create(topic("__consumer_offsets", 7, 1))
		for _, name := range []string{"g", ""} {
			for v := int16(0); v <= 4; v++ {
				req.Group = name
				if got := ask[*kmsg.AddOffsetsToTxnResponse](b, v, req); got.ErrorCode != 51 {
					t.Errorf("v%d: %+v", v, got)
				}
				in := f.inputs()[0].in.(txn.Add)
				want := []txn.Partition{{Topic: "__consumer_offsets", Partition: coordinator.Shard(name, 7)}}
				if !slices.Equal(in.Partitions, want) || !in.Offsets || in.Implicit || in.VerifyOnly || in.ProducerID != 7 || in.Epoch != 2 || in.Connection == 0 || in.Version != v {
					t.Errorf("v%d: asked %+v", v, in)
				}
			}
		}
	})
}

// R-E13: version 5 is told who it is from here on; -1 with an error.
func TestEndTxn(t *testing.T) {
	f := always(txn.Ended{ProducerID: 7, Epoch: 3})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = "x", 7, 2, true
		for v := int16(0); v <= 5; v++ {
			got := ask[*kmsg.EndTxnResponse](b, v, req)
			if v == 5 && (got.ProducerID != 7 || got.ProducerEpoch != 3) || got.ErrorCode != 0 {
				t.Errorf("v%d: %+v", v, got)
			}
			in := f.inputs()[0].in.(txn.End)
			if in.TransactionalID != "x" || in.ProducerID != 7 || in.Epoch != 2 || !in.Commit || in.Connection == 0 || in.Version != v {
				t.Errorf("v%d: asked %+v", v, in)
			}
		}
		f.answer = func(string, any) (any, error) { return txn.Ended{Code: 90, ProducerID: 7, Epoch: 3}, nil }
		if got := ask[*kmsg.EndTxnResponse](b, 5, req); got.ErrorCode != 90 || got.ProducerID != -1 || got.ProducerEpoch != -1 {
			t.Errorf("an error: %+v", got)
		}
	})
}

// R-K28, R-K31: markers become marks, in order, and what has become of each stands where it was asked for, as often as it was.
func TestWriteTxnMarkers(t *testing.T) {
	f := &fakeTransactions{codes: []int16{0, 47, 3}}
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		marker := func(producer int64, epoch int16, topics ...kmsg.WriteTxnMarkersRequestMarkerTopic) kmsg.WriteTxnMarkersRequestMarker {
			m := kmsg.NewWriteTxnMarkersRequestMarker()
			m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch, m.Committed, m.Topics = producer, epoch, 5, producer == 7, topics
			m.TransactionVersion = 2
			return m
		}
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		req.Markers = []kmsg.WriteTxnMarkersRequestMarker{
			marker(7, 2, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: "a", Partitions: []int32{0, 2, 0}}),
			marker(8, -1, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: "a", Partitions: []int32{1}}),
			marker(9, 0, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: "nope", Partitions: []int32{9}}),
			marker(10, 0),
		}
		for v := int16(1); v <= 2; v++ {
			f.marked = nil
			got := ask[*kmsg.WriteTxnMarkersResponse](b, v, req)
			var codes []int16
			for _, m := range got.Markers {
				for _, t := range m.Topics {
					for _, p := range t.Partitions {
						codes = append(codes, p.ErrorCode)
					}
				}
			}
			if !slices.Equal(codes, []int16{0, 47, 0, 42, 3}) || len(got.Markers) != 4 || got.Markers[2].ProducerID != 9 || got.Markers[2].Topics[0].Topic != "nope" {
				t.Errorf("v%d: %+v", v, got)
			}
			mark := Mark{Topic: "a", Partition: 0, ProducerID: 7, ProducerEpoch: 2, CoordinatorEpoch: 5, Commit: true, Raised: v == 2}
			second := mark
			second.Partition = 2
			third := Mark{Topic: "nope", Partition: 9, ProducerID: 9, CoordinatorEpoch: 5, Raised: v == 2}
			if want := []Mark{mark, second, third}; !slices.Equal(f.marked, want) {
				t.Errorf("v%d: %+v, want %+v", v, f.marked, want)
			}
		}
		f.marked, req.Markers = nil, req.Markers[1:2]
		if got := ask[*kmsg.WriteTxnMarkersResponse](b, 2, req); got.Markers[0].Topics[0].Partitions[0].ErrorCode != 42 || f.marked != nil {
			t.Errorf("nothing to write: %+v", got)
		}
	})
}

// R-K30, and each id once.
func TestDescribeTransactions(t *testing.T) {
	f := &fakeTransactions{}
	f.answer = func(id string, in any) (any, error) {
		if id == "elsewhere" {
			return nil, coordinator.ErrNotCoordinator
		}
		r := kmsg.NewDescribeTransactionsResponseTransactionState()
		r.TransactionalID, r.State = in.(txn.Describe).TransactionalID, "Ongoing"
		return &r, nil
	}
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{"x", "elsewhere", "x", ""}
		var got []string
		for _, s := range ask[*kmsg.DescribeTransactionsResponse](b, 0, req).TransactionStates {
			got = append(got, fmt.Sprint(s.TransactionalID, ":", s.State, ":", s.ErrorCode))
		}
		if want := []string{"x:Ongoing:0", "elsewhere::16", ":Ongoing:0"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestListTransactions(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // a bubble's clock begins here
	one := func(id string, producer int64, state string, age time.Duration) txn.Listed {
		l := txn.Listed{ListTransactionsResponseTransactionState: kmsg.NewListTransactionsResponseTransactionState()}
		l.TransactionalID, l.ProducerID, l.TransactionState = id, producer, state
		if age > 0 {
			l.Started = now.Add(-age)
		}
		return l
	}
	f := always([]any{
		[]txn.Listed{one("old", 3, "Ongoing", time.Hour), one("young", 2, "Ongoing", time.Second)},
		[]txn.Listed{one("done", 4, "CompleteCommit", time.Minute), one("never", 1, "Empty", 0)},
	})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		for _, test := range []struct {
			version   int16
			states    []string
			producers []int64
			longer    int64
			pattern   string
			want      string
			unknown   []string
		}{
			{0, nil, nil, -1, "", "done never old young", nil},
			{0, []string{"Ongoing"}, nil, -1, "", "old young", nil},
			{0, []string{"Ongoing", "bogus", "bogus", "Dead"}, nil, -1, "", "old young", []string{"bogus"}},
			{0, []string{"ongoing", " Empty"}, nil, -1, "", "", []string{"ongoing", " Empty"}},
			{0, nil, []int64{1, 2, 99}, -1, "", "never young", nil},
			{1, nil, nil, 1000, "", "done never old", nil},
			{1, []string{"Ongoing"}, nil, 60_000, "", "old", nil},
			{1, nil, nil, 1<<63 - 1, "", "", nil},
			{1, nil, nil, -5, "", "done never old young", nil},
			{2, nil, nil, -1, "o", "", nil},
			{2, nil, nil, -1, "o.*|young", "old young", nil},
		} {
			req := kmsg.NewPtrListTransactionsRequest()
			req.StateFilters, req.ProducerIDFilters, req.DurationFilterMillis, req.TransactionalIDPattern = test.states, test.producers, test.longer, &test.pattern
			got := ask[*kmsg.ListTransactionsResponse](b, test.version, req)
			var names []string
			for _, s := range got.TransactionStates {
				names = append(names, s.TransactionalID)
			}
			if strings.Join(names, " ") != test.want || !slices.Equal(got.UnknownStateFilters, test.unknown) || got.ErrorCode != 0 {
				t.Errorf("%+v: %q and unknown %q", test, names, got.UnknownStateFilters)
			}
		}
		req := kmsg.NewPtrListTransactionsRequest()
		req.TransactionalIDPattern = pointer("(")
		if got := ask[*kmsg.ListTransactionsResponse](b, 2, req); got.ErrorCode != kerr.InvalidRegularExpression.Code {
			t.Errorf("%+v", got)
		}
	})
}

// T8: the feature that producers look for, supported and in force, and its epoch rises with every start.
func TestFeatures(t *testing.T) {
	withTransactions(t, nil, &fakeTransactions{}, &fakeGroups{}, func(b *testBroker) {
		for v := int16(3); v <= 5; v++ {
			got := ask[*kmsg.ApiVersionsResponse](b, v, named())
			supported := kmsg.ApiVersionsResponseSupportedFeature{Name: "transaction.version", MinVersion: 2, MaxVersion: 2}
			finalized := kmsg.ApiVersionsResponseFinalizedFeature{Name: "transaction.version", MinVersionLevel: 2, MaxVersionLevel: 2}
			if !reflect.DeepEqual(got.SupportedFeatures, []kmsg.ApiVersionsResponseSupportedFeature{supported}) ||
				!reflect.DeepEqual(got.FinalizedFeatures, []kmsg.ApiVersionsResponseFinalizedFeature{finalized}) || got.FinalizedFeaturesEpoch != int64(b.Catalog.StartCount()) {
				t.Errorf("v%d: %+v %+v %d", v, got.SupportedFeatures, got.FinalizedFeatures, got.FinalizedFeaturesEpoch)
			}
		}
	})
	b := start(t, nil)
	if got := ask[*kmsg.ApiVersionsResponse](b, 3, named()); len(got.FinalizedFeatures) != 0 || got.FinalizedFeaturesEpoch != -1 {
		t.Errorf("without transactions: %+v", got)
	}
}

// P7.14: unknown features are refused, and so are levels that are not in force; all or nothing.
func TestUpdateFeatures(t *testing.T) {
	withTransactions(t, nil, &fakeTransactions{}, &fakeGroups{}, func(b *testBroker) {
		update := func(name string, level int16, kind int8) kmsg.UpdateFeaturesRequestFeatureUpdate {
			return kmsg.UpdateFeaturesRequestFeatureUpdate{Feature: name, MaxVersionLevel: level, UpgradeType: kind}
		}
		same := update("transaction.version", 2, 1)
		for _, test := range []struct {
			name string
			all  []kmsg.UpdateFeaturesRequestFeatureUpdate
			want int16
		}{
			{"what is in force", []kmsg.UpdateFeaturesRequestFeatureUpdate{same, same}, 0},
			{"nothing", nil, 0},
			{"an unknown one", []kmsg.UpdateFeaturesRequestFeatureUpdate{same, update("group.version", 1, 1)}, kerr.InvalidUpdateVersion.Code},
			{"up", []kmsg.UpdateFeaturesRequestFeatureUpdate{update("transaction.version", 3, 1)}, kerr.InvalidUpdateVersion.Code},
			{"down", []kmsg.UpdateFeaturesRequestFeatureUpdate{update("transaction.version", 1, 3)}, kerr.InvalidUpdateVersion.Code},
			{"sideways", []kmsg.UpdateFeaturesRequestFeatureUpdate{update("transaction.version", 2, 4)}, kerr.InvalidUpdateVersion.Code},
		} {
			for v := int16(1); v <= 2; v++ {
				req := kmsg.NewPtrUpdateFeaturesRequest()
				req.FeatureUpdates = test.all
				got := ask[*kmsg.UpdateFeaturesResponse](b, v, req)
				results := len(test.all)
				if test.want != 0 || v == 2 {
					results = 0
				}
				if got.ErrorCode != test.want || (got.ErrorMessage != nil) != (test.want != 0) || len(got.Results) != results {
					t.Errorf("%s, v%d: %+v", test.name, v, got)
				}
			}
		}
	})
}
