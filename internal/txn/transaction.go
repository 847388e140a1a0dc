package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/deadline"
)

const (
	noProducerID = -1
	noEpoch      = -1
	// epochMax is the last epoch that a producer is given. The one above is left for markers of a fence or an end, which
	// take the id away with it (R-E4, R-K28).
	epochMax = 1<<15 - 2
	// untimed stands for no start of a transaction.
	untimed = -1
)

// identity is who a producer is to partitions.
type identity struct {
	ProducerID int64
	Epoch      int16
}

// exhausted: there is no epoch left to give.
func (p identity) exhausted() bool { return p.Epoch >= epochMax }

// value is what a record says about a transactional id.
type value struct {
	identity
	// previous is the producer id before this record. Another one than ProducerID: the id has just changed.
	previous int64
	// last is the epoch of previous that a retry may still come with, because the answer that raised it may be lost; -1:
	// nobody may come with an older epoch.
	last int16
	// next is the producer id after a Prepare that has used up the epochs; -1: the same.
	next       int64
	timeout    time.Duration
	state      kmsg.TransactionState
	partitions []Partition // sorted; never changed in place
	updated    int64       // ms
	started    int64       // ms; untimed: no transaction since the producer was initialised
	// version is that of the transactions that the client spoke last (KIP-890): 2 with a new epoch at every end, else 0.
	version int16
	// timedOut: the coordinator aborted the last transaction, since it was out of time.
	timedOut bool
}

// unborn is the value of a transactional id that has no record yet.
var unborn = value{
	identity: identity{noProducerID, noEpoch}, previous: noProducerID, last: noEpoch, next: noProducerID,
	state: kmsg.TransactionStateDead, started: untimed,
}

// transaction is a transactional id.
type transaction struct {
	id string
	value
	timer deadline.Timer
	// asks since the timer was set for a decided transaction: how often markers were missing.
	asks int
	// heard is where the current producer id and epoch were heard: clients before KIP-890 alone.
	heard heard
}

// born says whether the id has a record.
func (t *transaction) born() bool { return t != nil && t.state != kmsg.TransactionStateDead }

// retries says whether p is who the producer was before the request that raised its epoch.
func (v *value) retries(p identity) bool {
	return v.last != noEpoch && p.Epoch == v.last && p.ProducerID == v.previous
}

// decided: the transaction has an outcome, and markers are missing.
func (v *value) decided() bool {
	return v.state == kmsg.TransactionStatePrepareCommit || v.state == kmsg.TransactionStatePrepareAbort
}

// ended: the last transaction is over, and no producer was initialised since.
func (v *value) ended() bool {
	return v.state == kmsg.TransactionStateCompleteCommit || v.state == kmsg.TransactionStateCompleteAbort
}

// commits: the outcome is to commit.
func (v *value) commits() bool {
	return v.state == kmsg.TransactionStatePrepareCommit || v.state == kmsg.TransactionStateCompleteCommit
}

// deadline is when an open transaction is out of time.
func (v *value) deadline() time.Time {
	from := v.started
	if from < 0 {
		from = v.updated
	}
	return time.UnixMilli(from).Add(v.timeout)
}

// changed is v as the start of its successor.
func (v *value) changed(now time.Time) value {
	next := *v
	next.previous = v.ProducerID
	next.updated = now.UnixMilli()
	return next
}

// initialised is v for a producer that has just been initialised as p. last is the epoch that it may retry with.
func (v *value) initialised(now time.Time, p identity, last int16, timeout time.Duration) value {
	next := v.changed(now)
	next.identity, next.last, next.timeout = p, last, timeout
	next.state, next.partitions, next.started = kmsg.TransactionStateEmpty, nil, untimed
	next.timedOut = false
	if next.previous == noProducerID {
		next.previous = p.ProducerID
	}
	return next
}

// adding is v with partitions, open, for a client that speaks a version of transactions. The producer knows its epoch, so
// nobody retries with an older one.
func (v *value) adding(now time.Time, partitions []Partition, version int16) value {
	next := v.changed(now)
	next.version = version
	if v.state != kmsg.TransactionStateOngoing {
		next.state, next.started, next.timedOut = kmsg.TransactionStateOngoing, next.updated, false
	}
	next.partitions, next.last = partitions, noEpoch
	return next
}

// outcome is how a transaction ends.
type outcome struct {
	commit bool
	raise  bool // the epoch: always when it is not the producer that ends it, and with KIP-890
	// last is the epoch that the producer may retry with.
	last     int16
	version  int16
	timedOut bool
	// next is a new producer id; needed where raise finds the epoch exhausted.
	next int64
}

// prepared is v when its outcome is decided. Markers have its epoch.
func (v *value) prepared(now time.Time, o outcome) value {
	next := v.changed(now)
	next.state = kmsg.TransactionStatePrepareAbort
	if o.commit {
		next.state = kmsg.TransactionStatePrepareCommit
	}
	if o.raise {
		if v.exhausted() {
			next.next = o.next
		}
		next.Epoch = min(v.Epoch, epochMax) + 1
	}
	if v.state != kmsg.TransactionStateOngoing {
		next.started = next.updated // the end of nothing
	}
	next.last, next.version, next.timedOut = o.last, o.version, o.timedOut
	return next
}

// completed is a decided v when all markers are written.
func (v *value) completed(now time.Time) value {
	next := v.changed(now)
	next.state = kmsg.TransactionStateCompleteAbort
	if v.commits() {
		next.state = kmsg.TransactionStateCompleteCommit
	}
	if v.next != noProducerID {
		next.ProducerID, next.Epoch, next.next = v.next, 0, noProducerID
	}
	next.partitions = nil
	return next
}

// goesOn is who the producer is after the end of a decided transaction.
func (v *value) goesOn() identity {
	if v.next != noProducerID {
		return identity{v.next, 0}
	}
	return v.identity
}
