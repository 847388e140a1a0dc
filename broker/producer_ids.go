package broker

import (
	"context"
	"sync"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// producerBlock is how many producer ids are set aside at a time, as Kafka does.
const producerBlock = 1000

// producerIDs hands out the ids of a block that the catalog has set aside. Who comes when it is used up waits for the next
// one, in the order of their coming.
type producerIDs struct {
	catalog *catalog.Catalog
	work    sync.WaitGroup // what asks for a block

	mu        sync.Mutex // guards what follows
	next, end int64
	waiting   []func(int64, error)
}

// take calls done with an id that nobody has, at once or once there is one.
func (p *producerIDs) take(done func(id int64, err error)) {
	p.mu.Lock()
	if p.next == p.end {
		p.waiting = append(p.waiting, done)
		if len(p.waiting) == 1 {
			p.work.Go(p.refill)
		}
		p.mu.Unlock()
		return
	}
	id := p.next
	p.next++
	p.mu.Unlock()
	done(id, nil)
}

// refill takes a block for those who wait; when there are more of them they wait for the next.
func (p *producerIDs) refill() {
	first, err := p.catalog.NextProducerIDs(context.Background(), producerBlock)
	p.mu.Lock()
	if err == nil {
		p.next, p.end = first, first+producerBlock
	}
	waiting := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	for _, done := range waiting {
		if err != nil {
			done(-1, err)
		} else {
			p.take(done)
		}
	}
}
