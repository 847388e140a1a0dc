package consumer

import (
	"sync"
	"time"
)

// stats counts.
type stats struct {
	mu      sync.Mutex
	commits int64
	latency time.Duration
}

func (s *stats) committed(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits++
	s.latency += took
}
