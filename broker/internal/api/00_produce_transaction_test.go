package api

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/txn"
)

// R-E12, R-E13: the coordinator is asked up to version 11 and told from 12 on, about the first batch of a transaction in a
// partition and no other.
func TestProduceAsksAboutTheFirstBatchAlone(t *testing.T) {
	for _, test := range []struct {
		version int16
		verify  bool
	}{{3, true}, {11, true}, {12, false}, {13, false}} {
		f := always(txn.Added{})
		withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
			if codes := b.codesOf(b.inTransactionOf(test.version, "id", "a", batchOf(7, 2, 0, "x"), batchOf(7, 2, 0, "y"))); !slices.Equal(codes, []int16{0, 0}) {
				t.Errorf("v%d: %v", test.version, codes)
			}
			want := []input{{"id", txn.Add{
				Caller: txn.Caller{Version: test.version, Connection: 1}, TransactionalID: "id", ProducerID: 7, Epoch: 2,
				Partitions: []txn.Partition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}}, VerifyOnly: test.verify, Implicit: true,
			}}}
			if got := sameConnection(f.inputs()); !reflect.DeepEqual(got, want) {
				t.Errorf("v%d: asked %+v, want %+v", test.version, got, want)
			}
			if codes := b.codesOf(b.inTransactionOf(test.version, "id", "a", batchOf(7, 2, 1, "x"), batchOf(7, 2, 1, "y"))); !slices.Equal(codes, []int16{0, 0}) {
				t.Errorf("v%d: %v", test.version, codes)
			}
			if got := f.inputs(); len(got) != 0 {
				t.Errorf("v%d: asked about open partitions: %+v", test.version, got)
			}
			b.codesOf(b.inTransactionOf(test.version, "id", "a", batchOf(7, 3, 0, "x")))
			if got := f.inputs(); len(got) != 1 {
				t.Errorf("v%d: not asked about another epoch", test.version)
			}
		})
	}
}

// sameConnection lets connections that a test cannot know the number of be number 1.
func sameConnection(inputs []input) []input {
	for i := range inputs {
		if a, ok := inputs[i].in.(txn.Add); ok {
			a.Connection = min(a.Connection, 1)
			inputs[i].in = a
		}
	}
	return inputs
}

// Producers without transactions cost the coordinator nothing, and neither does one that has a transactional id but writes
// without.
func TestProduceWithoutTransactionAsksNobody(t *testing.T) {
	f := always(nil)
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		b.wrote("a", 0, records("v"))
		if codes := b.codesOf(b.inTransactionOf(12, "id", "a", records("v"))); codes[0] != 0 {
			t.Error(codes)
		}
		if got := f.inputs(); len(got) != 0 {
			t.Errorf("asked %+v", got)
		}
	})
}

// T36: what passes is told so that every client comes again.
func TestProduceTellsWhatTheCoordinatorSays(t *testing.T) {
	again := kerr.NotEnoughReplicas
	for _, test := range []struct {
		name         string
		code         *kerr.Error
		err          error
		v9, v11, v12 *kerr.Error
	}{
		{"not in the transaction", kerr.TransactionAbortable, nil, kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.TransactionAbortable},
		{"the last transaction is not over", kerr.ConcurrentTransactions, nil, again, again, kerr.ConcurrentTransactions},
		{"another epoch", kerr.InvalidProducerEpoch, nil, kerr.InvalidProducerEpoch, kerr.InvalidProducerEpoch, kerr.InvalidProducerEpoch},
		{"another producer", kerr.InvalidProducerIDMapping, nil, kerr.InvalidProducerIDMapping, kerr.InvalidProducerIDMapping, kerr.InvalidProducerIDMapping},
		{"loading", nil, coordinator.ErrLoading, again, again, again},
		{"gone", nil, coordinator.ErrNotCoordinator, again, again, again},
		{"no topic", nil, errors.New("no room"), again, again, again},
	} {
		f := &fakeTransactions{}
		f.answer = func(string, any) (any, error) {
			if test.code == nil {
				return nil, test.err
			}
			return txn.Added{Code: test.code.Code}, nil
		}
		withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
			for version, want := range map[int16]*kerr.Error{9: test.v9, 11: test.v11, 12: test.v12} {
				r := b.produced(b.inTransactionOf(version, "id", "a", batchOf(7, 2, 0, "x")))
				if r.ErrorCode != want.Code || r.BaseOffset != -1 || r.ErrorMessage == nil {
					t.Errorf("%s, v%d: %+v, want %v", test.name, version, r, want)
				}
			}
			if end := b.Table.Topic("a").Partition(0).HighWatermark(); end != 0 {
				t.Errorf("%s: %d records", test.name, end)
			}
		})
	}
}

// One partition that the transaction does not have does not hold up the others.
func TestProduceRefusesThePartitionsThatAreNotInTheTransaction(t *testing.T) {
	withTransactions(t, nil, always(txn.Added{Codes: []int16{0, kerr.TransactionAbortable.Code, 0}}), &fakeGroups{}, func(b *testBroker) {
		codes := b.codesOf(b.inTransactionOf(11, "id", "a", batchOf(7, 2, 0, "x"), batchOf(7, 2, 0, "y"), batchOf(7, 2, 0, "z")))
		if !slices.Equal(codes, []int16{0, kerr.TransactionAbortable.Code, 0}) {
			t.Error(codes)
		}
	})
}

// What is sent behind a batch that is asked about stays behind it, on every partition, whoever it is of.
func TestProduceKeepsItsOrderWhileTheCoordinatorIsAsked(t *testing.T) {
	f := always(waits{})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		go func() {
			b.send(b.inTransactionOf(12, "id", "a", batchOf(7, 2, 0, "first"), batchOf(7, 2, 0, "other")))
			b.send(b.inTransactionOf(12, "id", "a", batchOf(7, 2, 1, "second")))
			b.send(b.produceTo(12, "a", 0, records("third")))
		}()
		synctest.Wait()
		if end := b.Table.Topic("a").Partition(0).HighWatermark(); end != 0 {
			t.Errorf("%d records before the coordinator has answered", end)
		}
		parked := f.parked()
		if len(parked) != 1 {
			t.Errorf("%d questions", len(parked))
		}
		for _, done := range parked {
			done(txn.Added{}, nil)
		}
		for range 3 {
			b.readAnswer()
		}
		got := only(t, b.another().fetched(b.fetchOf(11, fetchFrom{"a", 0, 0})))
		if values := valuesIn(t, got.RecordBatches); !slices.Equal(values, []string{"first", "second", "third"}) {
			t.Errorf("stored %q", values)
		}
		if n := len(f.inputs()); n != 1 {
			t.Errorf("%d questions: the second batch finds the transaction open", n)
		}
	})
}

// readAnswer reads the answer to a request that was sent.
func (b *testBroker) readAnswer() []byte {
	b.t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(b.conn, head); err != nil {
		b.t.Fatal(err)
	}
	body := make([]byte, int(head[2])<<8|int(head[3]))
	if _, err := io.ReadFull(b.conn, body); err != nil {
		b.t.Fatal(err)
	}
	return body
}

// A transaction that ends between the answer and the append takes nothing any more: nobody would end what it opens.
func TestProduceBehindTheEndOfItsTransaction(t *testing.T) {
	for version, want := range map[int16]*kerr.Error{9: kerr.InvalidTxnState, 11: kerr.TransactionAbortable, 12: kerr.TransactionAbortable} {
		f := &fakeTransactions{}
		withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
			f.answer = func(string, any) (any, error) {
				b.mark("a", 0, record.Abort, 7, 2)
				return txn.Added{}, nil
			}
			if codes := b.codesOf(b.inTransactionOf(version, "id", "a", batchOf(7, 2, 0, "late"))); codes[0] != want.Code {
				t.Errorf("v%d: %v, want %v", version, codes, want)
			}
		})
	}
}

// mark writes a marker.
func (b *testBroker) mark(topic string, index int32, kind record.Marker, producer int64, epoch int16) {
	b.t.Helper()
	done := make(appendDone)
	a := partition.Append{Records: record.ControlMarker(kind, producer, epoch, 0, time.Now().UnixMilli()), Done: done}
	b.Table.Topic(topic).Partition(index).AppendAt(&a, partition.Anywhere)
	<-done
	if a.Result.Code != 0 {
		b.t.Fatalf("marker: %+v", a.Result)
	}
}

// transaction.partition.verification.enable=false: nobody is asked, but what a transaction gets implicitly it must get.
func TestProduceWithoutVerification(t *testing.T) {
	f := always(txn.Added{})
	withTransactions(t, map[string]string{"transaction.partition.verification.enable": "false"}, f, &fakeGroups{}, func(b *testBroker) {
		if codes := b.codesOf(b.inTransactionOf(11, "id", "a", batchOf(7, 2, 0, "x"))); codes[0] != 0 || len(f.inputs()) != 0 {
			t.Errorf("v11: %v", codes)
		}
		if codes := b.codesOf(b.inTransactionOf(12, "id", "a", batchOf(8, 2, 0, "x"))); codes[0] != 0 || len(f.inputs()) != 1 {
			t.Errorf("v12: %v", codes)
		}
	})
}

// A request speaks for one producer in one epoch.
func TestProduceOfTwoProducers(t *testing.T) {
	f := always(txn.Added{})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		for _, second := range [][]byte{batchOf(8, 2, 0, "y"), batchOf(7, 3, 0, "y")} {
			codes := b.codesOf(b.inTransactionOf(11, "id", "a", batchOf(7, 2, 0, "x"), second, records("z")))
			if want := kerr.InvalidProducerIDMapping.Code; !slices.Equal(codes, []int16{want, want, want}) {
				t.Error(codes)
			}
		}
		if n := len(f.inputs()); n != 0 {
			t.Errorf("%d questions", n)
		}
	})
}

// Faults of a batch are found before the coordinator is asked, and told after its answer.
func TestProduceOfAFaultyBatch(t *testing.T) {
	torn := slices.Clone(batchOf(7, 2, 0, "x"))
	torn[len(torn)-1] ^= 1
	for code, want := range map[int16]int16{0: kerr.CorruptMessage.Code, kerr.TransactionAbortable.Code: kerr.TransactionAbortable.Code} {
		withTransactions(t, nil, always(txn.Added{Code: code}), &fakeGroups{}, func(b *testBroker) {
			if codes := b.codesOf(b.inTransactionOf(12, "id", "a", torn)); codes[0] != want {
				t.Errorf("%v, want %d", codes, want)
			}
			if codes := b.codesOf(b.inTransactionOf(12, "id", "a", batchOf(7, 2, 0, "x"))); codes[0] != code {
				t.Errorf("the good one: %v, want %d", codes, code)
			}
		})
	}
}

// acks=0: a refusal closes the connection, as any (T6).
func TestProduceAcks0IsRefusedByTheCoordinator(t *testing.T) {
	withTransactions(t, nil, always(txn.Added{Code: kerr.InvalidProducerEpoch.Code}), &fakeGroups{}, func(b *testBroker) {
		req := b.inTransactionOf(12, "id", "a", batchOf(7, 2, 0, "x"))
		req.Acks = 0
		b.send(req)
		if _, err := b.conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%v", err)
		}
	})
}

// A client that goes while the coordinator is asked has sent what it has sent: it is appended.
func TestProduceOfAClientThatHasGone(t *testing.T) {
	f := always(waits{})
	withTransactions(t, nil, f, &fakeGroups{}, func(b *testBroker) {
		c := b.another()
		c.send(b.inTransactionOf(12, "id", "a", batchOf(7, 2, 0, "x")))
		synctest.Wait()
		_ = c.conn.Close()
		synctest.Wait()
		f.parked()[0](txn.Added{}, nil)
		synctest.Wait()
		if end := b.Table.Topic("a").Partition(0).HighWatermark(); end != 1 {
			t.Errorf("%d records", end)
		}
	})
}

// T23: what was aborted is listed by first offset and complete, for read_committed alone; control batches travel.
func TestFetchListsAbortedTransactions(t *testing.T) {
	withTransactions(t, nil, always(txn.Added{}), &fakeGroups{}, func(b *testBroker) {
		for i, producer := range []int64{9, 8, 7} { // offsets 0, 1, 2
			b.codesOf(b.inTransactionOf(12, "id", "b", batchOf(producer, 0, 0, string(rune('x'+i)))))
		}
		b.mark("b", 0, record.Abort, 7, 0)  // 3
		b.mark("b", 0, record.Commit, 8, 0) // 4
		b.mark("b", 0, record.Abort, 9, 0)  // 5
		b.codesOf(b.inTransactionOf(12, "id", "b", batchOf(6, 0, 0, "open")))
		req := b.fetchOf(11, fetchFrom{"b", 0, 1}) // in the midst of the transaction of 9
		if got := only(t, b.fetched(req)); got.AbortedTransactions != nil || got.HighWatermark != 7 || got.LastStableOffset != 6 {
			t.Errorf("read_uncommitted: %+v", got)
		}
		req.IsolationLevel = 1
		got := only(t, b.fetched(req))
		aborted := func(producer, first int64) kmsg.FetchResponseTopicPartitionAbortedTransaction {
			return kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: producer, FirstOffset: first}
		}
		if want := []kmsg.FetchResponseTopicPartitionAbortedTransaction{aborted(9, 0), aborted(7, 2)}; !reflect.DeepEqual(got.AbortedTransactions, want) {
			t.Errorf("aborted %+v, want %+v", got.AbortedTransactions, want)
		}
		if values := valuesIn(t, got.RecordBatches); len(values) != 5 || !slices.Equal(values[:2], []string{"y", "z"}) {
			t.Errorf("%q: want y, z and three markers", values)
		}
		latest := b.list(1)
		if latest != 6 || b.list(0) != 7 {
			t.Errorf("latest: %d committed, %d", latest, b.list(0))
		}
	})
}

// list is the latest offset of b under an isolation level.
func (b *testBroker) list(level int8) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = level
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = "b"
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = timeLatest, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return ask[*kmsg.ListOffsetsResponse](b, 5, req).Topics[0].Partitions[0].Offset
}

// P7.14: the epoch of the coordinator that has written the last marker, and where an open transaction began.
func TestDescribeProducersOfTransactions(t *testing.T) {
	withTransactions(t, nil, always(txn.Added{}), &fakeGroups{}, func(b *testBroker) {
		describe := func() kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
			req := kmsg.NewPtrDescribeProducersRequest()
			req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "b", Partitions: []int32{0}}}
			return ask[*kmsg.DescribeProducersResponse](b, 0, req).Topics[0].Partitions[0].ActiveProducers[0]
		}
		b.wrote("b", 0, records("v"))
		b.codesOf(b.inTransactionOf(12, "id", "b", batchOf(7, 2, 0, "x")))
		if p := describe(); p.ProducerID != 7 || p.ProducerEpoch != 2 || p.CoordinatorEpoch != -1 || p.CurrentTxnStartOffset != 1 {
			t.Errorf("open: %+v", p)
		}
		b.mark("b", 0, record.Commit, 7, 2)
		if p := describe(); p.CoordinatorEpoch != 0 || p.CurrentTxnStartOffset != -1 || p.LastSequence != 0 {
			t.Errorf("ended: %+v", p)
		}
	})
}
