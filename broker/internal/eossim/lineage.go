package eossim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// lineage is a transactional id and those who use it, one after the other, and now and then two at a time: who comes next does not
// wait for the one before, who may have crashed or only looked like it.
type lineage struct {
	w       *world
	id      string
	speaks  protocol
	timeout time.Duration
	dice    *rand.Rand
	// live is one life of a producer. It returns errFenced when the producer has to begin anew, and nil when its work is done.
	live func(p *producer) error
}

// run lets instances come and go; the last one lives until its work is done, and is born again when it is fenced.
func (l *lineage) run(instances int) {
	starts := make([]time.Duration, instances)
	for i := 1; i < instances; i++ {
		starts[i] = starts[i-1] + spread(l.dice, l.w.plan.calm/time.Duration(instances)*2)
	}
	var others sync.WaitGroup
	defer others.Wait()
	for i := range instances - 1 {
		until := starts[i+1] + spread(l.dice, 4*time.Second)
		if l.dice.IntN(3) == 0 {
			until = starts[i+1] - spread(l.dice, time.Second)
		}
		others.Go(func() {
			time.Sleep(starts[i])
			p := l.instance(i)
			if p.until = until; until <= 0 {
				return
			}
			_ = l.live(p) // it crashes, or is fenced
			p.drop()
		})
	}
	time.Sleep(starts[instances-1])
	for i := instances - 1; ; i++ {
		p := l.instance(i)
		err := l.live(p)
		p.drop()
		if err == nil || l.w.trouble() {
			return
		}
		p.rest(200 * time.Millisecond)
	}
}

func (l *lineage) instance(number int) *producer {
	return l.w.producer(fmt.Sprintf("%s/%d", l.id, number), number, l.id, l.speaks, l.timeout)
}

// writing is a life of writing to random partitions, in so many transactions in which it also commits the number of the
// transaction as an offset.
func (w *world) writing(group string, partitions []history.Partition, transactions int) func(p *producer) error {
	return func(p *producer) error {
		if err := p.initialise(false); err != nil {
			return err
		}
		for range transactions {
			if w.trouble() {
				return nil
			}
			if err := p.transaction(group, partitions); err != nil {
				return err
			}
			p.rest(200 * time.Millisecond)
			if p.dice.IntN(25) == 0 {
				p.rest(2 * p.timeout)
			}
		}
		return nil
	}
}

func (p *producer) transaction(group string, partitions []history.Partition) error {
	p.begin()
	err := p.fill(group, partitions)
	if err == errDead || err == errFenced {
		return err
	}
	_, err = p.end(err == nil && p.dice.IntN(4) > 0)
	return err
}

// fill writes to some partitions, some of them more than once, and commits an offset somewhere in between.
func (p *producer) fill(group string, partitions []history.Partition) error {
	sends := 1 + p.dice.IntN(3)
	commits := p.dice.IntN(2 * sends) // after that many
	for i := range sends {
		if i == commits {
			if err := p.commitNumber(group); err != nil {
				return err
			}
		}
		var writes []*history.Write
		for range 1 + p.dice.IntN(3) {
			at := partitions[p.dice.IntN(len(partitions))]
			writes = append(writes, p.write(at, p.id, p.txn.Number*100+len(p.txn.Writes), nil))
		}
		if err := p.send(writes); err != nil {
			return err
		}
		p.rest(50 * time.Millisecond)
		if p.dice.IntN(40) == 0 {
			p.rest(3 * p.timeout)
		}
	}
	return nil
}

func (p *producer) commitNumber(group string) error {
	return p.commit(group, nobody(), []history.Offset{{Group: group, At: inputs()[0], Next: int64(p.txn.Number)}})
}
