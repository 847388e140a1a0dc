package txn

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// check says after each step what must always hold. before is what was durable before the output o.
func (st *stage) check(before map[string]value, o machine.Output) {
	st.t.Helper()
	st.checkReplay()
	st.checkEpochs()
	st.checkStates(before, o)
	st.checkDeadlines()
}

// checkReplay: what is durable is what a machine that sees the records alone knows.
func (st *stage) checkReplay() {
	st.t.Helper()
	shadow := New(st.settings)
	for _, r := range st.log {
		shadow.Apply(r)
	}
	if shadow.unread.Any() {
		st.t.Fatalf("records cannot be read: %v", shadow.unread.Take(""))
	}
	if got, want := shadow.durable(), st.m.durable(); !reflect.DeepEqual(got, want) {
		st.t.Fatalf("the log says %+v, the machine %+v", got, want)
	}
}

// checkEpochs: the epochs of a producer id never go back, and no two transactional ids share one.
func (st *stage) checkEpochs() {
	st.t.Helper()
	owners := map[int64]string{}
	for id, v := range st.m.durable() {
		if other := owners[v.ProducerID]; other != "" {
			st.t.Fatalf("%s and %s are both producer %d", id, other, v.ProducerID)
		}
		owners[v.ProducerID] = id
		if epoch, known := st.reached[v.ProducerID]; known && v.Epoch < epoch {
			st.t.Fatalf("%s is %v after epoch %d", id, v.identity, epoch)
		}
		st.reached[v.ProducerID] = v.Epoch
		if v.Epoch > epochMax && !v.decided() {
			st.t.Fatalf("%s has epoch %d for good", id, v.Epoch)
		}
	}
}

// checkStates: an open transaction that is over now has left exactly one marker for each of its partitions or still wants
// it, of one kind and one epoch, not below its producer's; and nothing else has a marker.
func (st *stage) checkStates(before map[string]value, o machine.Output) {
	st.t.Helper()
	marked := map[int64][]machine.Write{}
	for _, w := range o.Group {
		if w.Marker == nil || !w.Producer.Transactional || len(w.Records) > 0 || w.Marker.CoordinatorEpoch != st.settings.CoordinatorEpoch {
			st.t.Fatalf("a write that is no marker: %+v", w)
		}
		marked[w.Producer.ID] = append(marked[w.Producer.ID], w)
	}
	after := st.m.durable()
	for id, was := range before {
		var want []Partition
		if is := after[id]; was.state == kmsg.TransactionStateOngoing && is.state != kmsg.TransactionStateOngoing || was.decided() {
			_, want = split(was.partitions, is.partitions)
		}
		st.checkMarkers(was, want, marked[was.ProducerID])
		delete(marked, was.ProducerID)
	}
	if len(marked) > 0 {
		st.t.Fatalf("markers of nobody: %v", marked)
	}
}

func (st *stage) checkMarkers(was value, want []Partition, got []machine.Write) {
	st.t.Helper()
	_, want = split(want, st.gone)
	if len(got) != len(want) {
		st.t.Fatalf("%s: markers %v where %v are wanted", sayValue(was), got, want)
	}
	for i, w := range got {
		switch {
		case w.Topic != want[i].Topic || w.Partition != want[i].Partition:
			st.t.Fatalf("%s: markers %v where %v are wanted", sayValue(was), got, want)
		case w.Marker.Commit != got[0].Marker.Commit || w.Producer != got[0].Producer:
			st.t.Fatalf("%s: markers of two kinds: %v", sayValue(was), got)
		case w.Producer.Epoch < was.Epoch || int(w.Producer.Epoch) > int(was.Epoch)+1 || was.decided() && w.Producer.Epoch != was.Epoch:
			st.t.Fatalf("%s: a marker of epoch %d", sayValue(was), w.Producer.Epoch)
		case was.decided() && w.Marker.Commit != was.commits():
			st.t.Fatalf("%s: a marker of the other outcome", sayValue(was))
		}
	}
}

// checkDeadlines: whatever is open or decided has been asked for if its time has come, and a tick is wanted if not.
func (st *stage) checkDeadlines() {
	st.t.Helper()
	for id, v := range st.m.durable() {
		wanted := v.state == kmsg.TransactionStateOngoing || v.decided()
		switch {
		case wanted && st.wake.IsZero():
			st.t.Fatalf("%s is %s and no tick is wanted", id, sayValue(v))
		case v.decided() && !st.isAsked(id):
			st.t.Fatalf("%s is %s and nobody was asked to finish it", id, sayValue(v))
		case v.state == kmsg.TransactionStateOngoing && st.wake.After(later(v.deadline(), st.now)) && !st.isAsked(id):
			st.t.Fatalf("%s is open until %v and a tick is wanted at %v", id, v.deadline(), st.wake)
		}
	}
}

func (st *stage) isAsked(id string) bool {
	for _, a := range st.asks {
		if a.TransactionalID == id {
			return true
		}
	}
	return false
}
