package broker

import (
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/txn"
)

// ending is an input that may end a transaction, on its way: the machine is asked which partitions that would concern, it is
// looked how they are, and then comes the input itself, once more if it needs a producer id.
type ending struct {
	txns  *transactions
	id    string
	plain bool // markers have the transaction's own epoch, else the one above
	in    func(txn.Ends) any
	done  func(any, error)
	ends  txn.Ends
}

func (t *transactions) end(id string, plain bool, in func(txn.Ends) any, done func(any, error)) {
	e := &ending{txns: t, id: id, plain: plain, in: in, done: done}
	t.do(id, txn.Reach{TransactionalID: id}, e.reached)
}

func (e *ending) reached(answer any, err error) {
	if err == nil {
		e.ends, err = e.txns.look(answer.(txn.Reached), e.plain)
	}
	if err != nil {
		e.done(nil, err)
		return
	}
	e.step()
}

func (e *ending) step() { e.txns.do(e.id, e.in(e.ends), e.answered) }

func (e *ending) answered(answer any, err error) {
	if _, needs := answer.(txn.NeedProducerID); !needs || err != nil {
		e.done(answer, err)
		return
	}
	e.txns.ids.take(func(id int64, err error) {
		if err != nil {
			e.done(nil, err)
			return
		}
		e.ends.NewProducerID = id
		e.step()
	})
}

// look finds out which partitions of a transaction take its markers. The error is for a client who may come again at once.
func (t *transactions) look(r txn.Reached, plain bool) (ends txn.Ends, err error) {
	ends.NewProducerID = -1
	marker := producers.Marker{Epoch: r.Epoch, CoordinatorEpoch: t.broker.catalog.StartCount()}
	if !plain {
		marker.Epoch++
	}
	for _, p := range r.Partitions {
		there := t.broker.partition(p.Topic, p.Partition)
		switch {
		case there == nil:
			ends.Gone = append(ends.Gone, p)
		case there.Barred() != nil:
			ends.Unreachable = append(ends.Unreachable, p)
		case there.Producer(r.ProducerID).CheckMarker(marker) != nil:
			ends.Gone = append(ends.Gone, p)
		default:
			if c := t.broker.coordinatorOf(p.Topic); c != nil && !c.Serves(p.Partition) {
				return ends, coordinator.ErrLoading
			}
		}
	}
	return ends, nil
}
