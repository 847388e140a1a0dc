package broker

import (
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/txn"
)

// ending is an input that may end a transaction, on its way: the machine is asked which partitions that would concern, it is
// looked how they are, and then comes the input itself, once more if it needs a producer id.
type ending struct {
	txns  *transactions
	id    string
	plain bool // markers have the transaction's own epoch, else the one above
	tired bool // partitions whose coordinator does not serve are not waited for any more
	in    func(txn.Ends) any
	done  func(any, error)
	ends  txn.Ends
}

func (e *ending) start() { e.txns.do(e.id, txn.Reach{TransactionalID: e.id}, e.reached) }

func (e *ending) reached(answer any, err error) {
	if err == nil {
		e.ends, err = e.look(answer.(txn.Reached))
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
//
// A partition that has seen a higher coordinator epoch than ours is no sign of another coordinator, since the directory has
// no other: it was Kafka's before, or an administrator has named one. Partitions refuse markers of lower epochs, and one that
// had none while the others have theirs would tear the transaction. So the markers get the highest that is known.
func (e *ending) look(r txn.Reached) (ends txn.Ends, err error) {
	b := e.txns.broker
	ends.NewProducerID = -1
	epoch := r.Epoch
	if !e.plain {
		epoch++
	}
	for _, p := range r.Partitions {
		there, owner := b.partition(p.Topic, p.Partition), b.coordinatorOf(p.Topic)
		if there == nil {
			ends.Gone = append(ends.Gone, p)
			continue
		}
		known := there.Producer(r.ProducerID)
		switch {
		case there.Barred() != nil:
			ends.Unreachable = append(ends.Unreachable, p)
		case known.CheckEpoch(epoch) != nil:
			ends.Gone = append(ends.Gone, p)
		case owner == nil || owner.Serves(p.Partition):
			ends.CoordinatorEpoch = max(ends.CoordinatorEpoch, known.CoordinatorEpoch)
		case e.tired:
			ends.Unreachable = append(ends.Unreachable, p)
		default:
			return ends, coordinator.ErrLoading
		}
	}
	return ends, nil
}
