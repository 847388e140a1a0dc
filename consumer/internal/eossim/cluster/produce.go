package cluster

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/txn"
)

// Produce is the request of that name, of one transaction. It is answered by a Produced. Version 12 brings partitions into the
// transaction, up to version 11 they have to be there (KIP-890).
type Produce struct {
	Version         int16
	TransactionalID string
	Producer        int64
	Epoch           int16
	Batches         []Batch
}

// Batch is one of a partition.
type Batch struct {
	At       Partition
	Sequence int32
	Values   []any
}

// Produced has a code for each batch.
type Produced struct{ Codes []int16 }

// The first version that adds partitions.
const produceAdds = 12

// produce asks the coordinator about partitions in which the transaction is not open, then appends (R-E12, R-E13).
func (c *Cluster) produce(from Client, r Produce, answer func(any)) {
	of := machine.Producer{Transactional: true, ID: r.Producer, Epoch: r.Epoch}
	guards := make([]guard, len(r.Batches))
	codes := make([]int16, len(r.Batches))
	in := txn.Add{
		Caller: from.caller(r.Version), TransactionalID: r.TransactionalID, ProducerID: r.Producer, Epoch: r.Epoch,
		VerifyOnly: r.Version < produceAdds, Implicit: true,
	}
	var unverified []int
	for i, b := range r.Batches {
		guards[i] = c.logs[b.At].guard(of)
		if !guards[i].open {
			unverified = append(unverified, i)
			in.Partitions = append(in.Partitions, txn.Partition{Topic: b.At.Topic, Partition: b.At.Index})
		}
	}
	write := func() {
		c.disk.Write(func() {
			c.appendAll(of, r, guards, codes)
			answer(Produced{codes})
		})
	}
	if len(unverified) == 0 {
		write()
		return
	}
	c.add(from, in, func(a txn.Added) {
		for n, i := range unverified {
			code := a.Code
			if code == 0 && n < len(a.Codes) {
				code = a.Codes[n]
			}
			codes[i] = verificationCode(r.Version, code)
		}
		write()
	})
}

func (c *Cluster) appendAll(of machine.Producer, r Produce, guards []guard, codes []int16) {
	for i, b := range r.Batches {
		if codes[i] != 0 {
			continue
		}
		l := c.logs[b.At]
		var repeated bool
		if codes[i], repeated = l.check(of, b.Sequence, int32(len(b.Values)), guards[i], absentCode); codes[i] == 0 && !repeated {
			l.append(of, b.Sequence, b.Values)
		}
	}
}

// absentCode is that of a partition which the transaction does not have. Versions before 11, which know INVALID_TXN_STATE alone,
// are not simulated.
var absentCode = kerr.TransactionAbortable.Code

// verificationCode is what Produce says for an answer of the coordinator (T36).
func verificationCode(version, code int16) int16 {
	switch code {
	case kerr.ConcurrentTransactions.Code:
		if version >= produceAdds {
			return code
		}
		return kerr.NotEnoughReplicas.Code
	case kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
		return kerr.NotEnoughReplicas.Code
	}
	return code
}
