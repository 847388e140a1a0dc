package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// initProducer answers InitProducerId (R-E3 to R-E5). An open transaction is aborted in the same step and the answer is the one that
// Kafka gives after CONCURRENT_TRANSACTIONS and another try, with the same epochs (R-K22).
func (m *Machine) initProducer(in *Init) any {
	r := in.Request
	if code := m.checkInit(r); code != 0 {
		return initRefused(r.Version, code)
	}
	t := m.transactions[*r.TransactionalID]
	switch p := expected(r); {
	case !t.born():
		return m.create(in)
	case t.decided():
		return initRefused(r.Version, kerr.ConcurrentTransactions.Code)
	case p != nil && *p != t.identity && !t.retries(*p):
		return initRefused(r.Version, fenced(r.Version, initFenced))
	case needsProducerID(&t.value, p) && in.NewProducerID < 0:
		return NeedProducerID{}
	case t.state == kmsg.TransactionStateOngoing:
		return m.fence(t, in)
	}
	return m.initialise(t, &t.value, in)
}

// checkInit checks what needs no state (R-K21, T34).
func (m *Machine) checkInit(r *kmsg.InitProducerIDRequest) int16 {
	timeout := time.Duration(r.TransactionTimeoutMillis) * time.Millisecond
	switch {
	case (r.ProducerID == noProducerID) != (r.ProducerEpoch == noEpoch):
		return kerr.InvalidRequest.Code
	case r.TransactionalID == nil || *r.TransactionalID == "":
		return kerr.InvalidRequest.Code
	case timeout <= 0 || timeout > m.settings.MaxTimeout:
		return kerr.InvalidTransactionTimeout.Code
	}
	return 0
}

// expected is who the caller was, nil when it does not say (KIP-360).
func expected(r *kmsg.InitProducerIDRequest) *identity {
	if r.ProducerID == noProducerID {
		return nil
	}
	return &identity{r.ProducerID, r.ProducerEpoch}
}

// create makes a transactional id known. Who says that it was known before is right, as far as can be told: the id has expired
// (P7.5, FR-H12).
func (m *Machine) create(in *Init) any {
	if in.NewProducerID < 0 {
		return NeedProducerID{}
	}
	t := m.known(*in.Request.TransactionalID)
	return m.initialise(t, &t.value, in)
}

// needsProducerID says whether the epochs of v end with this request.
func needsProducerID(v *value, p *identity) bool {
	switch {
	case p != nil && v.retries(*p):
		return false
	case v.state != kmsg.TransactionStateOngoing || p != nil:
		return v.exhausted()
	}
	return v.Epoch+1 >= epochMax // one for the markers, one for the newcomer
}

// fence aborts the open transaction of t and initialises the producer. The owner itself may do so, and goes on with the
// epoch of the markers; anybody else gets one above it, and nobody can come with an older one.
func (m *Machine) fence(t *transaction, in *Init) any {
	o := outcome{raise: true, last: noEpoch, version: m.version(), next: in.NewProducerID}
	if expected(in.Request) != nil {
		o.last = t.Epoch
	} else {
		m.totals.Fenced++
	}
	v := m.conclude(t, o, &in.Ends)
	if v.decided() {
		return initRefused(in.Request.Version, kerr.ConcurrentTransactions.Code)
	}
	return m.initialise(t, &v, in)
}

// initialise gives the producer its next epoch after v, or once more the one that an earlier try gave it.
func (m *Machine) initialise(t *transaction, v *value, in *Init) any {
	r, p := in.Request, expected(in.Request)
	next, last := identity{v.ProducerID, v.Epoch + 1}, int16(noEpoch)
	if v.ProducerID == noProducerID || v.exhausted() {
		next = identity{in.NewProducerID, 0}
	}
	if p != nil {
		last = v.Epoch
	}
	after := v.initialised(m.now, next, last, time.Duration(r.TransactionTimeoutMillis)*time.Millisecond)
	if p != nil && v.retries(*p) {
		after.identity, after.last, after.previous = v.identity, v.last, v.previous
	}
	m.decide(t, after)
	answer := initAnswer(r.Version)
	answer.ProducerID, answer.ProducerEpoch = after.ProducerID, after.Epoch
	return answer
}

// version is that of transactions which a client does not end itself.
func (m *Machine) version() int16 {
	if m.settings.Version2 {
		return 2
	}
	return 0
}

func initAnswer(version int16) *kmsg.InitProducerIDResponse {
	r := kmsg.NewPtrInitProducerIDResponse()
	r.Version = version
	return r
}

func initRefused(version, code int16) *kmsg.InitProducerIDResponse {
	r := initAnswer(version)
	r.ErrorCode, r.ProducerID, r.ProducerEpoch = code, noProducerID, noEpoch
	return r
}
