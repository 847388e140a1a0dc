package txns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Producer is what a partition remembers of a producer.
type Producer struct {
	Place
	ProducerID int64 `json:"producer_id"`
	Epoch      int16 `json:"producer_epoch"`
	// CoordinatorEpoch is that of the last marker; -1: no transaction of the producer has ended here.
	CoordinatorEpoch int32      `json:"coordinator_epoch"`
	LastSequence     int32      `json:"last_sequence"`
	LastTimestamp    *time.Time `json:"last_timestamp"` // of its last batch or marker; null: not known
	StartOffset      *int64     `json:"start_offset"`   // of its open transaction; null: there is none
}

// InTransaction says that a transaction of the producer is open in the partition.
func (p *Producer) InTransaction() bool { return p.StartOffset != nil }

// openKey is what a transaction in a partition is known by: a later one of the producer begins elsewhere.
type openKey struct {
	Place
	producer, start int64
}

func (p *Producer) key() openKey {
	k := openKey{Place: p.Place, producer: p.ProducerID, start: -1}
	if p.InTransaction() {
		k.start = *p.StartOffset
	}
	return k
}

// Verdict is what becomes of a transaction that is open in a partition.
type Verdict string

// The verdicts.
const (
	Hanging Verdict = "hanging" // nobody will end it
	Overdue Verdict = "overdue" // its coordinator knows it, and should have aborted it
	Ending  Verdict = "ending"  // it is decided, and its coordinator has still to write the marker
	Ongoing Verdict = "ongoing" // its producer will end it, or its timeout
)

// Finding is a transaction that is open in a partition, and what becomes of it.
type Finding struct {
	Producer
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"`
	// ID is the transactional id of the producer, and State its state; "": no coordinator knows the producer.
	ID    string `json:"transactional_id,omitempty"`
	State string `json:"state,omitempty"`
	// Since is when it began, as its coordinator says, or when its first record here was written, and OpenMs how long ago that
	// is; null: not known.
	Since  *time.Time `json:"open_since"`
	OpenMs *int64     `json:"open_ms"`
	// Blocked is how many offsets of the partition committed readers do not see, and Holds says that this transaction is the
	// first of those that are open: the last stable offset is where it begins.
	Blocked int64 `json:"blocked_offsets"`
	Holds   bool  `json:"holds_last_stable_offset"`
	// Abort is the command that ends it, if it hangs or is overdue.
	Abort string `json:"abort_command,omitempty"`
}

// Judge says what becomes of the transactions that a first look at partitions has found open.
//
// A transaction hangs if no coordinator has it any more (KIP-664). But a transaction may end, and another begin, while all
// that is asked for. So coordinators are asked between two looks at the partitions: known is what they answered after seen and
// before again. A coordinator has a partition before the partition has a record of the transaction, and drops it after the
// partition has its marker. Whoever is open in both looks and unknown in between will not be ended; its age does not matter.
// What has ended meanwhile is left out.
//
// Of all coordinators: an answer that is missing makes transactions look as if they hung.
func Judge(seen []Producer, known []Transaction, again []Producer, now time.Time) []Finding {
	by := map[int64][]Transaction{}
	for _, t := range known {
		t.At(now)
		by[t.ProducerID] = append(by[t.ProducerID], t)
	}
	still := map[openKey]bool{}
	for _, p := range again {
		still[p.key()] = p.InTransaction()
	}
	var found []Finding
	for _, p := range seen {
		if p.InTransaction() && still[p.key()] {
			found = append(found, judge(p, by[p.ProducerID], now))
		}
	}
	Sort(found)
	return found
}

func judge(p Producer, of []Transaction, now time.Time) Finding {
	f := Finding{Producer: p, Verdict: Hanging, Why: "no transactional id has this producer id"}
	for _, t := range of {
		f.ID, f.State = t.ID, t.State
		switch {
		case !t.Open():
			f.Why = "its transactional id has no open transaction"
		case !t.Partitions.Has(p.Place):
			f.Why = "the transaction of its transactional id does not have this partition"
		default:
			f.Verdict, f.Why = underControl(&p, &t)
			if t.Started != nil {
				f.Begun(*t.Started, now)
			}
			return f
		}
	}
	return f
}

// underControl is about a transaction that its coordinator will end.
func underControl(p *Producer, t *Transaction) (Verdict, string) {
	switch {
	case !t.Ongoing():
		return Ending, "it is decided, and its coordinator has still to write the marker"
	case t.Overdue:
		return Overdue, fmt.Sprintf("its coordinator should have aborted it after %v", t.Timeout())
	case t.Epoch != p.Epoch:
		return Ongoing, fmt.Sprintf("it is of epoch %d, and ends with the transaction of epoch %d", p.Epoch, t.Epoch)
	}
	return Ongoing, fmt.Sprintf("its producer will end it, or its timeout of %v", t.Timeout())
}

// Sort orders findings by where they are.
func Sort(found []Finding) {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(*a.StartOffset, *b.StartOffset))
	})
}

// Ends are where a partition ends, for readers of everything and for those of what is committed.
type Ends struct{ High, Stable int64 }

// Held says that a transaction is open before the end.
func (e Ends) Held() bool { return e.Stable < e.High }

// Measure notes how much a transaction holds back.
func (f *Finding) Measure(e Ends) {
	f.Blocked, f.Holds = max(0, e.High-e.Stable), *f.StartOffset == e.Stable
}

// Begun notes since when a transaction has been open.
func (f *Finding) Begun(since, now time.Time) {
	open := max(0, now.Sub(since)).Milliseconds()
	since = since.UTC()
	f.Since, f.OpenMs = &since, &open
}

// OpenFor is for how long, at least, a transaction has been open.
func (f *Finding) OpenFor(now time.Time) (d time.Duration, known bool) {
	switch {
	case f.OpenMs != nil:
		return time.Duration(*f.OpenMs) * time.Millisecond, true
	case f.LastTimestamp != nil:
		return max(0, now.Sub(*f.LastTimestamp)), true
	}
	return 0, false
}

// Of keeps the findings with these verdicts that have been open for long enough; those that nobody knows for how long, too.
func Of(found []Finding, longer time.Duration, now time.Time, verdicts ...Verdict) []Finding {
	kept := []Finding{}
	for _, f := range found {
		open, known := f.OpenFor(now)
		if slices.Contains(verdicts, f.Verdict) && (!known || open >= longer) {
			kept = append(kept, f)
		}
	}
	return kept
}
