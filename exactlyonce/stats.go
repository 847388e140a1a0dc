package exactlyonce

import (
	"maps"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer"
)

// Stats is a snapshot of what a Processor has done since it was made. Package exactlyonce/prom shows it to Prometheus.
type Stats struct {
	// Committed, Aborted and Unknown count transactions by their end, as Hooks have it.
	Committed int64
	Aborted   map[Reason]int64
	Unknown   int64
	// RecordsIn were processed in transactions that are committed, and RecordsOut sent in these. DeadLetters are those of them that were passed over.
	RecordsIn, RecordsOut, DeadLetters int64
	// RecordsUndone were processed in transactions that were not committed, or may not have been.
	RecordsUndone int64
	// Poisoned counts the times that a record could not be processed.
	Poisoned int64
	// Renewed counts producers that were made, the first included.
	Renewed int64
	// Took is the time from the beginning of a transaction with records to its commit, Commit the part of it that committing takes.
	Took, Commit Timing
	// LastCommit is when the last transaction was committed, LastRecord when the last with records was; zero is never.
	LastCommit, LastRecord time.Time
	// Lag is how many offsets the partitions have that are owned and that were not handed out, as far as the last records have told.
	Lag map[consumer.TopicPartition]int64
}

// Timing sums up what takes time.
type Timing struct {
	Count      int64
	Total, Max time.Duration
}

func (t *Timing) add(d time.Duration) {
	t.Count++
	t.Total += d
	t.Max = max(t.Max, d)
}

// figures are the Stats of a processor as they come.
type figures struct {
	mu sync.Mutex
	s  Stats
}

func (f *figures) change(how func(*Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how(&f.s)
}

func (f *figures) snapshot() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.s
	s.Aborted = maps.Clone(s.Aborted)
	return s
}

// Stats is what has been done so far.
func (p *Processor) Stats() Stats {
	s := p.figures.snapshot()
	s.Lag = map[consumer.TopicPartition]int64{}
	for _, tp := range p.consumer.Assignment() {
		if lag, known := p.consumer.Lag(tp); known {
			s.Lag[tp] = lag
		}
	}
	return s
}
