package transport

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
)

// buffer is what is to be written to a partition.
type buffer struct {
	at      cluster.Partition
	records []record
	sent    int       // of them in the batch that is under way, or was: it stays the same until it is answered
	pin     *identity // in whose name the batch was sent; nil: it was not
	unsure  bool      // the batch may have been written
	next    int32     // sequence
	fresh   bool      // sequences begin anew
	added   bool      // to the transaction
}

type record struct {
	value any
	done  func(error)
}

// Produce buffers a record; done is called when it is written, or is not.
func (p *Producer) Produce(at cluster.Partition, value any, done func(error)) {
	if !p.producing {
		done(errNotInTransaction)
		return
	}
	b := p.buffers[at]
	if b == nil {
		b = &buffer{at: at}
		p.buffers[at] = b
		p.order = append(p.order, b)
	}
	b.records = append(b.records, record{value, done})
	p.drain()
}

// Expire buffers a record that will not be sent in time.
func (p *Producer) Expire(after time.Duration, done func(error)) {
	if !p.producing {
		done(errNotInTransaction)
		return
	}
	p.expiring++
	p.later(after, func() {
		p.expiring--
		done(errExpired)
		p.drain()
	})
}

// buffered counts the records that are not written.
func (p *Producer) buffered() (n int) {
	for _, b := range p.order {
		n += len(b.records)
	}
	return n
}

// Flush waits until nothing is buffered.
func (p *Producer) Flush(done func()) {
	p.flushes = append(p.flushes, done)
	p.drain()
}

// AbortBuffered fails what is not under way, and waits for the rest.
func (p *Producer) AbortBuffered(done func()) {
	p.aborting++
	p.Flush(func() {
		p.aborting--
		done()
	})
}

// drain goes on with writing. It is called again whenever a request has been answered.
func (p *Producer) drain() {
	if p.draining {
		return
	}
	switch {
	case p.buffered() > 0:
	case p.expiring > 0:
		return
	default:
		waiting := p.flushes
		p.flushes = nil
		for _, done := range waiting {
			done()
		}
		return
	}
	p.draining = true
	p.load(p.write)
}

// drained ends a round, and begins the next; waits is after a pause.
func (p *Producer) drained(waits bool) {
	p.draining = false
	if waits {
		p.later(backoff(0), p.drain)
		return
	}
	p.drain()
}

// write sends what is buffered.
func (p *Producer) write(id identity) {
	var load *loadError
	switch {
	case errors.As(id.err, &load):
		p.dropAborted()
		p.drained(true)
		return
	case id.err != nil:
		p.failAll(id.err)
		p.drained(false)
		return
	}
	p.dropAborted()
	var batches []*buffer
	for _, b := range p.order {
		if len(b.records) == 0 {
			continue
		}
		if b.fresh && b.pin == nil {
			b.next, b.fresh = 0, false
		}
		if b.sent == 0 {
			b.sent = len(b.records)
		}
		batches = append(batches, b)
	}
	switch {
	case len(batches) == 0:
		p.drained(false)
	case p.cfg.Version2:
		p.produce(id, batches)
	default:
		p.add(id, batches)
	}
}

// add brings partitions into the transaction, for brokers before KIP-890.
func (p *Producer) add(id identity, batches []*buffer) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, p.cfg.TransactionalID, id.id, id.epoch
	var fresh []*buffer
	for _, b := range batches {
		if !b.added {
			b.added = true
			fresh = append(fresh, b)
			t := kmsg.NewAddPartitionsToTxnRequestTopic()
			t.Topic, t.Partitions = b.at.Topic, []int32{b.at.Index}
			req.Topics = append(req.Topics, t)
		}
	}
	if len(fresh) == 0 {
		p.produce(id, batches)
		return
	}
	tries := 0
	p.concurrently(func(done func(error)) {
		if tries++; tries > 1 && p.aborting > 0 {
			done(errAborting)
			return
		}
		p.request(req, func(resp kmsg.Response, err error) {
			if err == nil {
				err = kerr.ErrorForCode(codeOf(resp))
			}
			done(err)
		})
	}, func(err error) {
		if err == nil || err == kerr.TransactionAbortable {
			p.produce(id, batches)
			return
		}
		for _, b := range fresh {
			b.added = false
		}
		for _, b := range batches {
			if !b.unsure {
				b.sent = 0
			}
		}
		var code *kerr.Error
		if errors.As(err, &code) && !code.Retriable {
			p.fail(id, err)
		}
		p.drained(true)
	})
}

// dropAborted fails what may be failed while the transaction is aborted.
func (p *Producer) dropAborted() {
	if p.aborting > 0 {
		p.failAll(errAborting)
	}
}

// failAll fails what is buffered, but, while the transaction is aborted, not batches that may have been written.
func (p *Producer) failAll(err error) {
	for _, b := range p.order {
		if len(b.records) > 0 && !(b.unsure && errors.Is(err, errAborting)) {
			p.failBuffer(b, err)
		}
	}
}

// failBuffer fails all of a buffer. A batch that was sent may be there: its sequence cannot be used for another one of the same epoch.
func (p *Producer) failBuffer(b *buffer, err error) {
	failed, pin := b.records, b.pin
	b.records, b.sent, b.unsure, b.pin = nil, 0, false, nil
	for _, r := range failed {
		r.done(err)
	}
	if pin != nil {
		p.fail(*pin, errReload)
	}
}

// produce sends batches, and again until they are answered. Those that were sent in the name of an epoch before stay in it.
func (p *Producer) produce(id identity, all []*buffer) {
	as, batches := id, all
	if i := slices.IndexFunc(all, func(b *buffer) bool { return b.pin != nil && *b.pin != id }); i >= 0 {
		as, batches = *all[i].pin, all[i:i+1]
	}
	req := cluster.Produce{Version: 11, TransactionalID: p.cfg.TransactionalID, Producer: as.id, Epoch: as.epoch}
	if p.cfg.Version2 {
		req.Version = 12
	}
	for _, b := range batches {
		b.pin = &as
		batch := cluster.Batch{At: b.at, Sequence: b.next}
		for _, r := range b.records[:b.sent] {
			batch.Values = append(batch.Values, r.value)
		}
		req.Batches = append(req.Batches, batch)
	}
	p.produced = true
	p.cfg.Send(req, func(resp any, err error) {
		switch {
		case p.closed:
			return
		case err != nil:
			for _, b := range batches {
				b.unsure = true
			}
			p.drained(true)
			return
		}
		waits := false
		for n, code := range resp.(cluster.Produced).Codes {
			waits = p.written(id, batches[n], code) || waits
		}
		p.drained(waits)
	})
}

// written takes what became of a batch, and says whether it is to be sent again.
func (p *Producer) written(id identity, b *buffer, code int16) (again bool) {
	err := kerr.ErrorForCode(code)
	switch {
	case err == kerr.ConcurrentTransactions, err != nil && kerr.IsRetriable(err):
		return true
	case err == kerr.OutOfOrderSequenceNumber, err == kerr.UnknownProducerID, err == kerr.InvalidProducerIDMapping, err == kerr.InvalidProducerEpoch:
		b.pin = nil
		p.fail(id, err)
	case err == kerr.DuplicateSequenceNumber:
		err = nil
	}
	if err != nil {
		p.failBuffer(b, err)
		return false
	}
	b.added = b.added || p.cfg.Version2
	done := b.records[:b.sent]
	b.records = b.records[b.sent:]
	b.next += int32(b.sent)
	b.sent, b.unsure, b.pin = 0, false, nil
	for _, r := range done {
		r.done(nil)
	}
	return false
}
