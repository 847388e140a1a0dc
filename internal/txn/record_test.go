package txn

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// goldenValues are records whose bytes are in testdata: what Kafka does not have in them is ours.
func goldenValues() []value {
	const now = 1_700_000_000_000
	empty := unborn.initialised(time.UnixMilli(now), identity{7, 3}, noEpoch, time.Minute)
	open := empty.adding(time.UnixMilli(now+1), []Partition{{"orders", 0}, {"orders", 2}, {"payments", 1}}, 2)
	commit := open.prepared(time.UnixMilli(now+2), outcome{commit: true, raise: true, last: 3, version: 2, next: noProducerID})
	late := open.prepared(time.UnixMilli(now+2), outcome{raise: true, last: 3, version: 2, timedOut: true, next: noProducerID})
	fence := open.prepared(time.UnixMilli(now+2), outcome{raise: true, last: noEpoch, version: 2, next: noProducerID})
	recovered := empty.initialised(time.UnixMilli(now+3), identity{7, 4}, 3, time.Second)
	open.Epoch = epochMax
	last := open.prepared(time.UnixMilli(now+2), outcome{raise: true, last: epochMax, version: 2, next: 8})
	return []value{empty, open, commit, commit.completed(time.UnixMilli(now + 2)), late, fence, recovered, last, last.completed(time.UnixMilli(now + 4))}
}

// TestGoldenBytes pins what is in the log (docs/format/transaction-state.md).
func TestGoldenBytes(t *testing.T) {
	const name = "testdata/records/ours.txt"
	var got strings.Builder
	for _, v := range goldenValues() {
		var c coder
		r := c.record("golden", &v)
		fmt.Fprintf(&got, "# %s\nkey %x\nvalue %x\n", sayValue(v), r.Key, r.Value)
		if back, err := c.value(r.Value); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s is read as %s (%v)", sayValue(v), sayValue(back), err)
		}
	}
	fmt.Fprintf(&got, "# deleted\nkey %x\n", tombstone("golden").Key)
	if *rewrite {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != got.String() {
		t.Errorf("%s: %v: it should be\n%s", name, err, got.String())
	}
}

// TestVersion0 is what Kafka before 3.5, and each with transaction.version 0, has written.
func TestVersion0(t *testing.T) {
	w := kmsg.NewTxnMetadataValue()
	w.ProducerID, w.ProducerEpoch, w.TimeoutMillis, w.State = 5, 6, 700, kmsg.TransactionStatePrepareCommit
	w.LastUpdateTimestamp, w.StartTimestamp = 1_700_000_000_000, 1_600_000_000_000
	w.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "b", Partitions: []int32{2, 1}}, {Topic: "a", Partitions: []int32{3, 3}}}
	st := newStage(t, testSettings())
	st.log = append(st.log, machine.Record{Key: appendKey(nil, "tx"), Value: w.AppendTo(nil)})
	st.restart()
	is := st.m.transactions["tx"].value
	if got, want := sayValue(is), "PrepareCommit 5/6 a-3 b-1 b-2"; got != want {
		t.Errorf("it is read as %s instead of %s", got, want)
	}
	if is.timeout != 700*time.Millisecond || is.started != 1_600_000_000_000 {
		t.Errorf("it is read as %+v", is)
	}
	if len(st.asks) != 1 || st.asks[0].Abort {
		t.Errorf("asks are %+v", st.asks)
	}
	st.step(Finish{TransactionalID: "tx", ProducerID: 5, Epoch: 6})
	if got, want := sayValue(st.m.transactions["tx"].value), "CompleteCommit 5/6"; got != want {
		t.Errorf("it is finished as %s instead of %s", got, want)
	}
}

// TestUnreadableRecords: kinds and versions from the future, torn bytes, and what makes no sense, are passed over and told about
// (KIP-915).
func TestUnreadableRecords(t *testing.T) {
	var c coder
	good := c.record("tx", &goldenValues()[1])
	dead, nobody := goldenValues()[1], goldenValues()[1]
	dead.state, nobody.ProducerID = kmsg.TransactionStateDead, -1
	m := New(testSettings())
	for _, r := range []machine.Record{
		good,
		{Key: []byte{0, 1, 1, 2}, Value: []byte{1}},
		{Key: []byte{0}},
		{},
		{Key: good.Key[:5], Value: good.Value},
		{Key: good.Key, Value: append([]byte{0, 2}, good.Value[2:]...)},
		{Key: good.Key, Value: append([]byte{255, 255}, good.Value[2:]...)},
		{Key: good.Key, Value: []byte{0}},
		{Key: good.Key, Value: good.Value[:40]},
		c.record("tx", &dead), c.record("tx", &nobody),
		{Producer: machine.Producer{Transactional: true}, Marker: &machine.Marker{Commit: true}},
	} {
		m.Apply(r)
	}
	out := m.Loaded(newStage(t, testSettings()).now)
	var records int64
	for _, n := range out.Notes {
		records += n.Attrs[1].Value.Int64()
	}
	if records != 10 {
		t.Errorf("notes are %v", out.Notes)
	}
	if got := m.durable(); len(got) != 1 || !reflect.DeepEqual(got["tx"], goldenValues()[1]) {
		t.Errorf("the machine knows %+v", got)
	}
}

// TestForeignFields: fields of others, and of later versions of ours, are no obstacle.
func TestForeignFields(t *testing.T) {
	w := kmsg.NewTxnMetadataValue()
	w.Version, w.ProducerID, w.NextProducerEpoch, w.NextProducerID = 1, 5, 9, 6
	w.UnknownTags.Set(4, []byte("four"))
	w.UnknownTags.Set(tagLast, []byte("other"))
	w.UnknownTags.Set(20_000, nil)
	var c coder
	if v, err := c.value(w.AppendTo(nil)); err != nil || v.ProducerID != 5 || v.last != noEpoch || v.next != noProducerID {
		t.Errorf("it is read as %+v: %v", v, err)
	}
}

// TestOddRecords: what nobody writes, but can be understood.
func TestOddRecords(t *testing.T) {
	st := newStage(t, testSettings())
	open := goldenValues()[1]
	open.started, open.updated, open.timeout = untimed, st.now.UnixMilli(), time.Second
	open.partitions = []Partition{{"t", 0}, {"t", 0}, {"t", 1}}
	st.log = append(st.log, st.m.coder.record("tx", &open))
	st.restart()
	if got := st.m.transactions["tx"].partitions; !slices.Equal(got, []Partition{{"t", 0}, {"t", 1}}) {
		t.Errorf("partitions are %v", got)
	}
	st.advance(st.now.Add(999 * time.Millisecond))
	if len(st.asks) > 0 {
		t.Errorf("a transaction without a start is out of time before it can be: %v", st.asks)
	}
	st.advance(st.now.Add(time.Millisecond))
	if len(st.asks) != 1 || !st.asks[0].Abort {
		t.Errorf("a transaction without a start is never out of time: %v", st.asks)
	}
}

// TestFinishOfAnother: the answer to an ask about a former producer is for nobody.
func TestFinishOfAnother(t *testing.T) {
	s := &script{stage: newStage(t, testSettings())}
	for i, line := range []string{"A init timeout=1s", "A add t-0", "at 5s"} {
		s.run(i+1, strings.Fields(line))
	}
	s.step(Finish{TransactionalID: "tx", ProducerID: 1000, Epoch: 7})
	s.step(Finish{TransactionalID: "tx", ProducerID: 999, Epoch: 0})
	s.step(Finish{TransactionalID: "nobody's", ProducerID: 1000, Epoch: 0})
	if got := s.m.transactions["tx"].state; got != kmsg.TransactionStateOngoing {
		t.Errorf("the transaction is %v", got)
	}
	s.step(Finish{TransactionalID: "tx", ProducerID: 1000, Epoch: 0})
	if got := s.m.transactions["tx"].state; got != kmsg.TransactionStateCompleteAbort {
		t.Errorf("the transaction is %v", got)
	}
}

// FuzzApply: no record makes the machine fall over, in a load or later, and what was read is written and read again alike.
func FuzzApply(f *testing.F) {
	var c coder
	for _, v := range goldenValues() {
		r := c.record("golden", &v)
		f.Add(r.Key, r.Value)
	}
	for _, step := range readKafka(f) {
		for _, r := range step.records {
			f.Add(r.Key, r.Value)
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := New(testSettings())
		m.Apply(machine.Record{Key: key, Value: value})
		now := time.UnixMilli(1_700_000_000_000)
		run := &runner{m: m, now: now}
		run.apply(m.Loaded(now))
		for id, v := range m.durable() {
			again, err := m.coder.value(m.coder.record(id, &v).Value)
			if err != nil || !alikeValues(again, v) {
				t.Fatalf("%+v comes back as %+v: %v", v, again, err)
			}
			run.step(Describe{TransactionalID: id})
			run.step(Init{Ends: Ends{NewProducerID: 9}, Request: initOf(id)})
			run.step(Add{TransactionalID: id, ProducerID: v.ProducerID, Epoch: v.Epoch, Partitions: []Partition{{"t", 1}}})
			run.step(Finish{TransactionalID: id, ProducerID: v.ProducerID, Epoch: v.Epoch, Ends: Ends{NewProducerID: 10}})
		}
		run.apply(m.Tick(now.Add(time.Hour)))
	})
}

func alikeValues(a, b value) bool {
	same := slices.Equal(a.partitions, b.partitions)
	a.partitions, b.partitions = nil, nil
	return same && reflect.DeepEqual(a, b)
}

func initOf(id string) *kmsg.InitProducerIDRequest {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionalID, r.TransactionTimeoutMillis = &id, 1000
	return r
}
