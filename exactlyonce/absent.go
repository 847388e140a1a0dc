package exactlyonce

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/work"
)

// absent is the output topics that are not there. One may come yet, and is waited for as long as a record is tried to be written. What is
// written to others meanwhile says nothing of it.
type absent struct {
	patience time.Duration
	lapse    time.Duration // what has not been tried for longer begins anew: the records that it is for were another's meanwhile

	mu     sync.Mutex
	topics map[string]absence
}

// absence is when a record has failed since there is no such topic: for the first time, and for the last.
type absence struct{ since, last time.Time }

func newAbsent(c Config) *absent {
	patience := c.Producer.DeliveryTimeout
	return &absent{patience: patience, lapse: patience + c.Poison.BackoffMax + c.Producer.TransactionTimeout, topics: map[string]absence{}}
}

// heard takes what has become of a record.
func (a *absent) heard(topic string, err error) {
	switch {
	case err == nil:
		a.is(topic)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		a.isNot(topic, time.Now())
	}
}

func (a *absent) is(topic string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.topics, topic)
}

func (a *absent) isNot(topic string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.topics[topic]
	if now.Sub(t.last) > a.lapse {
		t.since = now
	}
	t.last = now
	a.topics[topic] = t
}

// inVain is a topic that has been waited for long enough.
func (a *absent) inVain() (topic string, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for topic, t := range a.topics {
		if t.last.Sub(t.since) >= a.patience {
			return topic, true
		}
	}
	return "", false
}

// unwritten is what it comes to that a record was not written.
func (l *loop) unwritten(err error) (work.Outcome, error) {
	if topic, is := l.absent.inVain(); is && errors.Is(err, kerr.UnknownTopicOrPartition) {
		return work.Hopeless, fmt.Errorf("topic %q has not been there for %v (Producer.DeliveryTimeout), create it: %w", topic, l.absent.patience, err)
	}
	return sendOutcome(err), err
}
