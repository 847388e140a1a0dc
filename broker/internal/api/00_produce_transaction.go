package api

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/txn"
)

// What Produce does for transactional batches. The first batch of a transaction in a partition opens it there, and only the
// coordinator ends it, so that the coordinator must know of the partition before (R-E12, R-E13): up to version 11 it is
// asked whether it does, from version 12 on it is told. Batches of transactions that are open in their partitions need none
// of that. A request that has to ask holds its connection, so that nothing is appended before it that was sent behind it.

// refuseWhole is the code that every partition is refused with: transactional batches need a transactional id (R-K27), and
// are of one producer.
func (p *produce) refuseWhole() int16 {
	var one producerEpoch
	for i := range p.partitions {
		b := p.partitions[i].records
		if !transactionalBatch(b) {
			continue
		}
		switch id, ok := transactionalProducer(b); {
		case p.transactionalID == nil:
			return kerr.TransactionalIDAuthorizationFailed.Code
		case len(p.transactionalID) == 0:
			return kerr.InvalidRequest.Code
		case ok && one.known && one != id:
			return kerr.InvalidProducerIDMapping.Code
		case ok:
			one = id
		}
	}
	return 0
}

// Places in a batch's header. What is not a batch at all is found by the validator.
const (
	batchAttributes    = 21
	batchProducerID    = 43
	batchProducerEpoch = batchProducerID + 8
	transactionBit     = 0x10
)

func transactionalBatch(b []byte) bool {
	return len(b) > batchAttributes+1 && b[batchAttributes+1]&transactionBit != 0
}

// producerEpoch is who wrote a batch.
type producerEpoch struct {
	id    int64
	epoch int16
	known bool
}

// transactionalProducer is who wrote a transactional batch; ok is false for other batches and for those of nobody.
func transactionalProducer(b []byte) (id producerEpoch, ok bool) {
	if !transactionalBatch(b) || len(b) < batchProducerEpoch+2 {
		return producerEpoch{}, false
	}
	id = producerEpoch{
		id:    int64(binary.BigEndian.Uint64(b[batchProducerID:])),
		epoch: int16(binary.BigEndian.Uint16(b[batchProducerEpoch:])),
		known: true,
	}
	return id, id.id >= 0
}

// guard notes the state of the partition that a transactional batch goes to, and whether the coordinator is to be asked.
func (p *produce) guard(i int) {
	a := &p.appends[i]
	id, ok := transactionalProducer(a.Records)
	if !ok {
		return
	}
	var open bool
	a.Guard, open = a.to.Guard(id.id, id.epoch)
	a.Unverified, a.Anew = p.absent(), p.request.Version >= produceAdds
	if !open && p.asks() {
		p.unverified = append(p.unverified, i)
	}
}

// asks: partitions that a transaction is not open in have to be asked about.
func (p *produce) asks() bool {
	return p.request.Version >= produceAdds || p.handler.Broker().Transactions.PartitionVerification
}

// absent is the code for a partition that the transaction does not have. Before TRANSACTION_ABORTABLE it is one that
// producers do not go on after.
func (p *produce) absent() int16 {
	if p.request.Version < produceAbortable {
		return kerr.InvalidTxnState.Code
	}
	return kerr.TransactionAbortable.Code
}

// verify asks the coordinator about the partitions that are unverified.
func (p *produce) verify() {
	r := p.request
	if p.handler.Transactions == nil {
		p.verified(txn.Added{Code: kerr.InvalidProducerIDMapping.Code}, nil)
		return
	}
	id, _ := transactionalProducer(p.appends[p.unverified[0]].Records)
	in := txn.Add{
		Caller:          caller(r),
		TransactionalID: string(p.transactionalID),
		ProducerID:      id.id,
		Epoch:           id.epoch,
		VerifyOnly:      r.Version < produceAdds,
		Implicit:        true,
	}
	for _, i := range p.unverified {
		to := p.appends[i].to
		in.Partitions = append(in.Partitions, txn.Partition{Topic: to.Topic().Name, Partition: to.Index()})
	}
	for i := range p.appends {
		p.appends[i].to.Check(&p.appends[i].Append) // here, since all transactions of the shard wait while it goes on
	}
	r.Hold()
	p.handler.Transactions.AddEarly(in.TransactionalID, in, func(got any, err error) {
		defer r.Contain()
		added, _ := got.(txn.Added)
		if err != nil {
			added = txn.Added{Code: coordinatorCode(err)}
		}
		p.verified(added, err)
	}, nil)
}

// verified refuses what the coordinator does not vouch for and appends the rest.
func (p *produce) verified(added txn.Added, err error) {
	if added.Late {
		p.request.Fail(errLate)
		p.handler.data.produces.put(p)
		return
	}
	for n, i := range p.unverified {
		code := added.Code
		if code == 0 && n < len(added.Codes) {
			code = added.Codes[n]
		}
		if code == 0 {
			continue
		}
		a := &p.appends[i]
		a.to = nil
		p.results[a.result] = refused(p.verificationCode(code))
		p.results[a.result].message = verificationMessage(code, err)
	}
	p.submit()
	p.request.Proceed()
	p.finished()
}

// verificationCode is what Produce says for an answer of the coordinator: producers take a code that they do not know for the
// end, so what passes is NOT_ENOUGH_REPLICAS, which all of them try again after (T36).
func (p *produce) verificationCode(code int16) int16 {
	switch code {
	case kerr.TransactionAbortable.Code:
		return p.absent()
	case kerr.ConcurrentTransactions.Code:
		if p.request.Version >= produceAdds {
			return code
		}
		return kerr.NotEnoughReplicas.Code
	case kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
		return kerr.NotEnoughReplicas.Code
	default:
		return code
	}
}

func verificationMessage(code int16, err error) string {
	switch {
	case err != nil:
		return short("the transaction cannot be asked about now: " + err.Error())
	case code == kerr.TransactionAbortable.Code:
		return "the partition is not in the transaction"
	default:
		return kerr.ErrorForCode(code).Error()
	}
}
