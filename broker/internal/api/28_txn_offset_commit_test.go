package api

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/txn"
)

// offsetsInTransaction is a broker whose two coordinators are played by a test, which notes who is asked what.
type offsetsInTransaction struct {
	*testBroker
	steps []string // who was asked
	added any      // the answer of the transaction's coordinator, or an error
	guard any      // of the group, or an error
	code  int16    // of the commit
	add   txn.Add
	token group.GuardToken
	req   *kmsg.TxnOffsetCommitRequest
	lose  func(error) // what is added from now on
}

func withOffsetsInTransaction(t *testing.T, static map[string]string, test func(o *offsetsInTransaction)) {
	t.Helper()
	o := &offsetsInTransaction{added: txn.Added{}, guard: group.GuardToken{}}
	f, g := &fakeTransactions{}, &fakeGroups{}
	o.lose = func(err error) { f.lost = err }
	f.answer = func(id string, in any) (any, error) {
		o.steps = append(o.steps, "transaction "+id)
		o.add = in.(txn.Add)
		o.add.Connection = min(o.add.Connection, 1)
		return orError(o.added)
	}
	g.answer = func(name string, in any) (any, error) {
		switch in := in.(type) {
		case group.Guard:
			o.steps = append(o.steps, fmt.Sprintf("guard %s %s %d", name, in.Group, in.ProducerID))
			return orError(o.guard)
		case group.TxnCommit:
			o.steps = append(o.steps, "commit "+name)
			o.token, o.req = in.Token, in.Request
			return txnCommitted(in.Request, o.code), nil
		}
		return nil, fmt.Errorf("asked %T", in)
	}
	withTransactions(t, static, f, g, func(b *testBroker) {
		b.create(topic("__consumer_offsets", 7, 1))
		o.testBroker = b
		test(o)
	})
}

func orError(v any) (any, error) {
	if err, ok := v.(error); ok {
		return nil, err
	}
	return v, nil
}

// txnCommitted answers a commit with code for every partition, as a machine does.
func txnCommitted(req *kmsg.TxnOffsetCommitRequest, code int16) *kmsg.TxnOffsetCommitResponse {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// request commits 100 + partition in group g.
func (o *offsetsInTransaction) request(topic string, partitions ...int32) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation, req.MemberID = "x", "g", 7, 2, 4, "m"
	return o.and(req, topic, partitions...)
}

func (o *offsetsInTransaction) and(req *kmsg.TxnOffsetCommitRequest, topic string, partitions ...int32) *kmsg.TxnOffsetCommitRequest {
	t := kmsg.TxnOffsetCommitRequestTopic{Topic: topic, TopicID: o.idOf(topic)}
	for _, p := range partitions {
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = p, 100+int64(p), pointer("m")
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// ask sends a request and shows the codes of the answer, and who was asked.
func (o *offsetsInTransaction) ask(version int16, req *kmsg.TxnOffsetCommitRequest) (codes, asked string) {
	o.t.Helper()
	o.steps = nil
	resp := ask[*kmsg.TxnOffsetCommitResponse](o.testBroker, version, req)
	var all []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			all = append(all, fmt.Sprintf("%d:%d", p.Partition, p.ErrorCode))
		}
	}
	return strings.Join(all, " "), strings.Join(o.steps, ", ")
}

const allSteps = "guard g g 7, transaction x, commit g"

// R-K19: the group gives a token, the coordinator of the transaction is asked or told, and the group decides.
func TestTxnOffsetCommit(t *testing.T) {
	withOffsetsInTransaction(t, nil, func(o *offsetsInTransaction) {
		token := someToken(t)
		for v := int16(0); v <= 6; v++ {
			o.guard = token
			req := o.request("a", 0, 3)
			codes, asked := o.ask(v, req)
			if o.token != token {
				t.Errorf("v%d: committed with another token", v)
			}
			if codes != "0:0 3:0" || asked != allSteps {
				t.Errorf("v%d: %s; asked: %s", v, codes, asked)
			}
			want := txn.Add{
				Caller: txn.Caller{Version: v, Connection: 1}, TransactionalID: "x", ProducerID: 7, Epoch: 2,
				Partitions: []txn.Partition{{Topic: "__consumer_offsets", Partition: coordinator.Shard("g", 7)}}, VerifyOnly: v < 5, Implicit: true, Offsets: true,
			}
			if !reflect.DeepEqual(o.add, want) {
				t.Errorf("v%d: asked %+v, want %+v", v, o.add, want)
			}
			if to := o.req.Topics[0]; to.Topic != "a" || to.TopicID != o.idOf("a") || len(to.Partitions) != 2 || o.req.Version != v || v >= 3 && o.req.MemberID != "m" {
				t.Errorf("v%d: committed %+v", v, o.req)
			}
		}
	})
}

// someToken is one that a machine has given out.
func someToken(t *testing.T) group.GuardToken {
	t.Helper()
	m := group.New(group.Settings{})
	m.Loaded(time.UnixMilli(1_000_000))
	token := m.Step(time.UnixMilli(1_000_000), 1, group.Guard{Group: "g", ProducerID: 7}).Replies[0].Value.(group.GuardToken)
	if token == (group.GuardToken{}) {
		t.Fatal("the token is none at all")
	}
	return token
}

// R-K19, R-K20: what is not there is refused first and keeps its code; nobody is asked when nothing is left.
func TestTxnOffsetCommitOfWhatIsNotThere(t *testing.T) {
	withOffsetsInTransaction(t, nil, func(o *offsetsInTransaction) {
		o.code = kerr.IllegalGeneration.Code
		mixed := func() *kmsg.TxnOffsetCommitRequest {
			return o.and(o.and(o.and(o.request("nope", 0), "a", 9, 1), "b"), "b", 0)
		}
		for v := int16(0); v <= 6; v++ {
			want := "0:3 9:3 1:22 0:22"
			if v == 6 {
				want = "0:100 9:3 1:22 0:22"
			}
			if codes, asked := o.ask(v, mixed()); codes != want || asked != allSteps {
				t.Errorf("v%d: %s, want %s; asked: %s", v, codes, want, asked)
			}
			if len(o.req.Topics) != 2 || len(o.req.Topics[0].Partitions) != 1 {
				t.Errorf("v%d: committed %+v", v, o.req.Topics)
			}
		}
		if codes, asked := o.ask(5, o.request("nope", 0)); codes != "0:3" || asked != "" {
			t.Errorf("%s; asked: %s", codes, asked)
		}
		if codes, asked := o.ask(5, o.request("a")); codes != "" || asked != "" {
			t.Errorf("%s; asked: %s", codes, asked)
		}
		unnamed := mixed()
		unnamed.Group = ""
		if codes, asked := o.ask(4, unnamed); codes != "0:3 9:3 1:24 0:24" || asked != "" {
			t.Errorf("group \"\": %s; asked: %s", codes, asked)
		}
	})
}

// R-D26, T36: what the coordinator of the transaction says, by version; then the group is not asked.
func TestTxnOffsetCommitRefusedByTheTransaction(t *testing.T) {
	for _, test := range []struct {
		added      any
		v3, v4, v5 int16
	}{
		{txn.Added{Codes: []int16{kerr.TransactionAbortable.Code}}, kerr.InvalidTxnState.Code, kerr.TransactionAbortable.Code, kerr.TransactionAbortable.Code},
		{txn.Added{Code: kerr.ConcurrentTransactions.Code}, kerr.CoordinatorLoadInProgress.Code, kerr.ConcurrentTransactions.Code, kerr.ConcurrentTransactions.Code},
		{txn.Added{Code: kerr.InvalidProducerEpoch.Code}, 47, 47, 47},
		{txn.Added{Code: kerr.InvalidProducerIDMapping.Code}, 49, 49, 49},
		{coordinator.ErrLoading, 14, 14, 14},
		{coordinator.ErrNotCoordinator, 16, 16, 16},
		{errors.New("no room"), 15, 15, 15},
	} {
		withOffsetsInTransaction(t, nil, func(o *offsetsInTransaction) {
			o.added = test.added
			for v, want := range map[int16]int16{0: test.v3, 3: test.v3, 4: test.v4, 5: test.v5, 6: test.v5} {
				codes, asked := o.ask(v, o.request("a", 1, 2))
				if codes != fmt.Sprintf("1:%d 2:%d", want, want) || asked != "guard g g 7, transaction x" {
					t.Errorf("%+v, v%d: %s, want %d; asked: %s", test.added, v, codes, want, asked)
				}
			}
		})
	}
}

func TestTxnOffsetCommitWithoutTheGroup(t *testing.T) {
	for err, want := range map[error]int16{coordinator.ErrLoading: 14, coordinator.ErrNotCoordinator: 16, errors.New("no room"): 15} {
		withOffsetsInTransaction(t, nil, func(o *offsetsInTransaction) {
			o.guard = err
			if codes, asked := o.ask(5, o.request("a", 1)); codes != fmt.Sprintf("1:%d", want) || asked != "guard g g 7" {
				t.Errorf("%v: %s; asked: %s", err, codes, asked)
			}
		})
	}
}

// Without verification the group alone decides, but a partition that comes into a transaction has to be told.
func TestTxnOffsetCommitWithoutVerification(t *testing.T) {
	withOffsetsInTransaction(t, map[string]string{"transaction.partition.verification.enable": "false"}, func(o *offsetsInTransaction) {
		if _, asked := o.ask(4, o.request("a", 1)); asked != "guard g g 7, commit g" {
			t.Errorf("v4 asked: %s", asked)
		}
		if _, asked := o.ask(5, o.request("a", 1)); asked != allSteps {
			t.Errorf("v5 asked: %s", asked)
		}
	})
}

// A partition that has not stayed in the transaction takes its offsets with it: the client sends them again (version 5 adds
// it then again).
func TestTxnOffsetCommitWhoseAdditionIsLost(t *testing.T) {
	withOffsetsInTransaction(t, nil, func(o *offsetsInTransaction) {
		o.lose(coordinator.ErrNotCoordinator)
		o.code = kerr.IllegalGeneration.Code
		for v, want := range map[int16]string{4: "9:3 1:22", 5: "9:3 1:16"} {
			if codes, asked := o.ask(v, o.request("a", 9, 1)); codes != want || asked != allSteps {
				t.Errorf("v%d: %s, want %s; asked: %s", v, codes, want, asked)
			}
		}
	})
}
