package producer

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// landed is the topics that records of transactions have come to. franz-go sends what waits for a new topic before it lists the topic's
// partitions, and ends a transaction by that list: one that ends in between is aborted, and called committed.
type landed struct {
	mu    sync.Mutex
	known map[string]bool  // listed by the client of now
	fresh map[string]int32 // a partition of each that may not be
}

func (l *landed) at(topic string, partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[topic] {
		return
	}
	if l.fresh == nil {
		l.fresh = map[string]int32{}
	}
	l.fresh[topic] = partition
}

// listed waits until franz-go has all of them in its list.
func (l *landed) listed(ctx context.Context, kafka *kgo.Client) error {
	l.mu.Lock()
	fresh := maps.Clone(l.fresh)
	l.mu.Unlock()
	for topic, partition := range fresh {
		for {
			if leader, _, err := kafka.PartitionLeader(topic, partition); err != nil || leader >= 0 {
				break
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		l.knows(topic)
	}
	return nil
}

func (l *landed) knows(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[topic] = true
	delete(l.fresh, topic)
}

// forget is for another client.
func (l *landed) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.fresh = nil, nil
}
