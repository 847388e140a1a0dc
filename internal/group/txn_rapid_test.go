package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/internal/machine"
)

// written is an offset and where in the log it stands. Every commit has another offset, so that it is known by it.
type written struct {
	offset int64
	at     time.Time
}

// txnOracle decides what must be fetched from where offsets stand in the log, which the machine does not look at. The groups
// s1 and s2 are simple; nobody is ever a member.
type txnOracle struct {
	w       *world
	last    int64 // offset, and place in the log
	have    map[place]written
	pending map[int64]map[place]written
	epochs  map[int64]int16 // the newest
	ended   map[int64]int   // how many markers
	lives   int
	guards  []oracleGuard
	dead    map[int64]bool // offsets of aborted transactions
}

// oracleGuard is a guard and what was so when it was taken.
type oracleGuard struct {
	token       GuardToken
	producer    int64
	ended, life int
}

func newTxnOracle(t *rapid.T) *txnOracle {
	s := offsetSettings()
	s.OffsetsRetention, s.OffsetsRetentionCheck = time.Hour, 10*time.Minute
	return &txnOracle{
		w: newWorld(t, s), have: map[place]written{}, pending: map[int64]map[place]written{},
		epochs: map[int64]int16{}, ended: map[int64]int{}, dead: map[int64]bool{},
	}
}

func drawTxnPlace(t *rapid.T) place {
	return place{
		rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "group"),
		rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic"),
		rapid.Int32Range(0, 2).Draw(t, "partition"),
	}
}

func drawProducer(t *rapid.T) int64 { return rapid.Int64Range(1, 4).Draw(t, "producer") }

func (o *txnOracle) plain(t *rapid.T) {
	p := drawTxnPlace(t)
	o.last++
	if code := o.w.commit(commitOf(p.group, p.topic, p.partition, o.last)); code != 0 {
		t.Fatalf("commit: %d", code)
	}
	o.have[p] = written{o.last, o.w.now}
}

func (o *txnOracle) takeGuard(t *rapid.T) {
	id := drawProducer(t)
	token := o.w.guard("s1", producer(id, o.epochs[id]))
	o.guards = append(o.guards, oracleGuard{token, id, o.ended[id], o.lives})
}

// txn commits with a guard of the producer's that was taken at some time, as who belongs to the newest epoch,
// was replaced, or replaces.
func (o *txnOracle) txn(t *rapid.T) {
	p, id := drawTxnPlace(t), drawProducer(t)
	epoch := o.epochs[id] + rapid.SampledFrom([]int16{0, 0, 0, 0, -1, 1}).Draw(t, "epoch")
	if epoch < 0 {
		epoch = 0
	}
	o.last++
	in := TxnCommit{Request: txnOf(producer(id, epoch), p.group, p.topic, p.partition, o.last)}
	in.Request.Version = rapid.SampledFrom([]int16{0, 3, 4, 5}).Draw(t, "version")
	want := o.want(t, &in)
	got := o.w.ask(in).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	if got != want {
		t.Fatalf("%+v with %+v: %d, want %d", in.Request, in.Token, got, want)
	}
	if want != 0 {
		return
	}
	if o.pending[id] == nil {
		o.pending[id] = map[place]written{}
	}
	o.pending[id][p] = written{o.last, o.w.now}
	o.epochs[id] = epoch
}

// want chooses the guard, and says what must be answered.
func (o *txnOracle) want(t *rapid.T, in *TxnCommit) int16 {
	r := in.Request
	unverified := kerr.TransactionAbortable.Code
	if r.Version < 4 {
		unverified = kerr.InvalidTxnState.Code
	}
	var own []oracleGuard
	for _, g := range o.guards {
		if g.producer == r.ProducerID {
			own = append(own, g)
		}
	}
	g := oracleGuard{o.w.guard(r.Group, producer(r.ProducerID, r.ProducerEpoch)), r.ProducerID, o.ended[r.ProducerID], o.lives}
	if len(own) > 0 && rapid.Bool().Draw(t, "earlier") {
		g = own[rapid.IntRange(0, len(own)-1).Draw(t, "which")]
	}
	in.Token = g.token
	switch {
	case r.ProducerEpoch < o.epochs[r.ProducerID]:
		return kerr.InvalidProducerEpoch.Code
	case g.life != o.lives:
		return kerr.NotCoordinator.Code
	case g.ended != o.ended[r.ProducerID]:
		return unverified
	}
	return 0
}

// end writes a marker, of the epoch or, as in version 2 of transactions, of the next.
func (o *txnOracle) end(t *rapid.T, commit bool) {
	id := drawProducer(t)
	o.epochs[id] += rapid.Int16Range(0, 1).Draw(t, "bump")
	o.w.mark(machine.Producer{Transactional: true, ID: id, Epoch: o.epochs[id]}, commit)
	for p, of := range o.pending[id] {
		switch {
		case !commit:
			o.dead[of.offset] = true
		case of.offset > o.have[p].offset:
			o.have[p] = of
		}
	}
	delete(o.pending, id)
	o.ended[id]++
}

func (o *txnOracle) deleteOffset(t *rapid.T) {
	p := drawTxnPlace(t)
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = p.group
	r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: p.topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: p.partition}}}}
	o.w.ask(DeleteOffsets{Request: r})
	o.drop(func(have place) bool { return have == p })
}

func (o *txnOracle) deleteGroup(t *rapid.T) {
	group := rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "group")
	o.w.ask(Delete{Group: group})
	o.drop(func(have place) bool { return have.group == group })
}

func (o *txnOracle) deleteTopic(t *rapid.T) {
	topic := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic")
	o.w.ask(DeleteTopics{Topics: []string{topic}})
	o.drop(func(have place) bool { return have.topic == topic })
}

func (o *txnOracle) drop(gone func(place) bool) {
	maps.DeleteFunc(o.have, func(p place, _ written) bool { return gone(p) })
	for _, of := range o.pending {
		maps.DeleteFunc(of, func(p place, _ written) bool { return gone(p) })
	}
}

// pass lets time go by in steps of the check.
func (o *txnOracle) pass(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "checks") {
		o.w.advance(o.w.settings.OffsetsRetentionCheck)
	}
	maps.DeleteFunc(o.have, func(p place, of written) bool {
		return o.w.now.Sub(of.at) >= o.w.settings.OffsetsRetention && !o.unstable(p)
	})
}

func (o *txnOracle) restart(*rapid.T) {
	o.w.restart()
	o.lives++
}

func (o *txnOracle) unstable(p place) bool {
	for _, of := range o.pending {
		if _, has := of[p]; has {
			return true
		}
	}
	return false
}

// check compares what is fetched, of all and place by place.
func (o *txnOracle) check(t *rapid.T) {
	var got, want []string
	for _, group := range []string{"s1", "s2"} {
		for _, topic := range o.w.ask(Fetch{Group: group, All: true}).(*kmsg.OffsetFetchResponseGroup).Topics {
			for _, p := range topic.Partitions {
				got = append(got, fmt.Sprint(group, topic.Topic, p.Partition, p.Offset))
				o.checkAlive(t, p.Offset)
			}
		}
		for _, topic := range []string{"a", "b"} {
			for partition := range int32(3) {
				o.checkStable(t, place{group, topic, partition})
			}
		}
	}
	for p, of := range o.have {
		want = append(want, fmt.Sprint(p.group, p.topic, p.partition, of.offset))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("fetched:\n%s\ncommitted:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// checkAlive: no offset is fetched of a transaction that was aborted or is not over.
func (o *txnOracle) checkAlive(t *rapid.T, offset int64) {
	for _, of := range o.pending {
		for _, p := range of {
			if p.offset == offset {
				t.Fatalf("offset %d of an open transaction is fetched", offset)
			}
		}
	}
	if o.dead[offset] {
		t.Fatalf("offset %d of an aborted transaction is fetched", offset)
	}
}

func (o *txnOracle) checkStable(t *rapid.T, p place) {
	asked := kmsg.OffsetFetchRequestGroupTopic{Topic: p.topic, Partitions: []int32{p.partition}}
	f := Fetch{Group: p.group, Topics: []kmsg.OffsetFetchRequestGroupTopic{asked}, RequireStable: true}
	got := o.w.ask(f).(*kmsg.OffsetFetchResponseGroup).Topics[0].Partitions[0]
	want, code := int64(-1), int16(0)
	if have, there := o.have[p]; there {
		want = have.offset
	}
	if o.unstable(p) {
		want, code = -1, kerr.UnstableOffsetCommit.Code
	}
	if got.Offset != want || got.ErrorCode != code {
		t.Fatalf("stable fetch of %+v: %d, code %d; want %d, code %d", p, got.Offset, got.ErrorCode, want, code)
	}
}

// FR-C13, R-D22, R-K14, R-K19: whatever is interleaved with transactions, what is fetched is what the log says: nothing of an
// aborted or unfinished transaction, everything of a committed one that nothing newer has replaced. The world compares with a
// replay after every single step.
func TestTransactionsAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newTxnOracle(t)
		t.Repeat(map[string]func(*rapid.T){
			"":              o.check,
			"plain":         o.plain,
			"txn":           o.txn,
			"txn again":     o.txn,
			"and again":     o.txn,
			"guard":         o.takeGuard,
			"commit":        func(t *rapid.T) { o.end(t, true) },
			"commit again":  func(t *rapid.T) { o.end(t, true) },
			"abort":         func(t *rapid.T) { o.end(t, false) },
			"delete offset": o.deleteOffset,
			"delete topic":  o.deleteTopic,
			"delete group":  o.deleteGroup,
			"pass":          o.pass,
			"restart":       o.restart,
		})
	})
}
