// Package txns decides about transactions: which of those that are open in a partition hang, whom a list shows, and by which
// command one is ended. It has no cluster: txnwire asks one, and the verbs of `skein txn` hand its answers in.
package txns

import (
	"fmt"
	"slices"
	"time"
)

// States of transactional ids that have a transaction: it is open, or decided while markers are missing.
const (
	ongoing       = "Ongoing"
	prepareCommit = "PrepareCommit"
	prepareAbort  = "PrepareAbort"
)

// States lists what coordinators call the states of transactional ids.
func States() []string {
	return []string{"Empty", ongoing, prepareCommit, prepareAbort, "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
}

// Place is a partition.
type Place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

func (p Place) String() string { return fmt.Sprintf("%s partition %d", p.Topic, p.Partition) }

// Partitions are partitions by topic, in order.
type Partitions map[string][]int32

// Has says whether p is among them.
func (all Partitions) Has(p Place) bool { return slices.Contains(all[p.Topic], p.Partition) }

// Broker is where a coordinator lives.
type Broker struct {
	ID   int32  `json:"id"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

func (b Broker) String() string { return fmt.Sprintf("%d (%s:%d)", b.ID, b.Host, b.Port) }

// Listed is a transactional id of a list.
type Listed struct {
	ID          string `json:"transactional_id"`
	State       string `json:"state"`
	ProducerID  int64  `json:"producer_id"`
	Coordinator Broker `json:"coordinator"`
}

// Transaction is a transactional id as its coordinator describes it.
type Transaction struct {
	ID          string     `json:"transactional_id"`
	State       string     `json:"state"`
	ProducerID  int64      `json:"producer_id"`
	Epoch       int16      `json:"producer_epoch"`
	TimeoutMs   int64      `json:"timeout_ms"`
	Started     *time.Time `json:"started"` // of the last transaction; null: there was none since the producer was initialised
	AgeMs       *int64     `json:"age_ms"`  // null: none is open
	Overdue     bool       `json:"overdue"` // open for longer than its timeout allows
	Coordinator Broker     `json:"coordinator"`
	// Partitions are those of the open transaction, and those that still miss the marker of a decided one.
	Partitions Partitions `json:"partitions"`
}

// Open says that the id has a transaction that has not ended.
func (t *Transaction) Open() bool {
	return t.State == ongoing || t.State == prepareCommit || t.State == prepareAbort
}

// Ongoing says that its transaction can still be committed or aborted.
func (t *Transaction) Ongoing() bool { return t.State == ongoing }

// Timeout is after how long its coordinator aborts its transaction.
func (t *Transaction) Timeout() time.Duration { return time.Duration(t.TimeoutMs) * time.Millisecond }

// Age is how long its transaction has been open; ok is false without one.
func (t *Transaction) Age() (age time.Duration, ok bool) {
	if t.AgeMs == nil {
		return 0, false
	}
	return time.Duration(*t.AgeMs) * time.Millisecond, true
}

// grace is for which time beyond its timeout a transaction may be open: Kafka looks every ten seconds, and clocks differ.
const grace = time.Minute

// At fills in what depends on the time.
func (t *Transaction) At(now time.Time) {
	t.AgeMs, t.Overdue = nil, false
	if t.Started == nil || !t.Open() {
		return
	}
	age := max(0, now.Sub(*t.Started))
	ms := age.Milliseconds()
	t.AgeMs, t.Overdue = &ms, t.Ongoing() && age > t.Timeout()+grace
}
