package simulation

import (
	"maps"
	"slices"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// Coordinator runs a machine: what it decides is told when it is durable, and lost with the coordinator before.
type Coordinator struct {
	Clock *Clock
	Dice  *Dice
	Disk  *Disk
	// New makes a machine that knows nothing.
	New func() machine.Machine
	// Begun is called when a machine has replayed the log; nil is nothing.
	Begun func()
	// Durable is told of every record once it is on the disk.
	Durable func(machine.Record)
	// Lend is told of batches for other partitions when they are decided; what it returns is called when they are on the disk
	// together with the records, or, with false, when both are lost. Nil where machines have none.
	Lend func([]machine.Write) func(written bool)
	// Asked is told of what the machine wants done, once that is durable. Nil where machines want nothing.
	Asked func(any)

	m       machine.Machine
	epoch   int // counts the lives of the machine
	up      bool
	log     []machine.Record
	waiting map[machine.Token]waiter
	token   machine.Token
	wakes   time.Time // the wish that is under way
	held    int
	parked  []func()
	lent    []func(bool)
}

// waiter is who has asked; nil is the coordinator itself.
type waiter struct {
	by     *Life
	answer func(any)
}

// Up says that there is a machine.
func (c *Coordinator) Up() bool { return c.up }

// Begin replays the log into a machine that knows nothing.
func (c *Coordinator) Begin() {
	c.epoch++
	c.wakes = time.Time{}
	c.up, c.waiting, c.m = true, map[machine.Token]waiter{}, c.New()
	for _, r := range c.log {
		c.m.Apply(r)
	}
	c.take(c.m.Loaded(c.Clock.Now))
	if c.Begun != nil {
		c.Begun()
	}
}

// Fail ends the machine; another begins after a while. Who waits never hears. False is that there was none.
func (c *Coordinator) Fail() bool {
	if !c.up {
		return false
	}
	c.up = false
	c.epoch++
	for _, lost := range c.lent {
		lost(false)
	}
	c.lent, c.parked = nil, nil
	for _, token := range slices.Sorted(maps.Keys(c.waiting)) {
		if by := c.waiting[token].by; by != nil {
			by.HangUp()
		}
	}
	c.waiting = nil
	c.Clock.After(c.Dice.Between(50*time.Millisecond, 2*time.Second), c.Begin)
	return true
}

// Ask gives the machine an input. What it is answered with is told when it is durable.
func (c *Coordinator) Ask(by *Life, in any, answer func(any)) {
	c.free(func() {
		c.token++
		c.waiting[c.token] = waiter{by, answer}
		c.take(c.m.Step(c.Clock.Now, c.token, in))
	})
}

// free does something when nobody holds the coordinator.
func (c *Coordinator) free(do func()) {
	if c.held > 0 {
		c.parked = append(c.parked, do)
		return
	}
	do()
}

// Hold keeps the machine from hearing anything until Release.
func (c *Coordinator) Hold() { c.held++ }

// Release ends a Hold.
func (c *Coordinator) Release() {
	c.held--
	for c.held == 0 && len(c.parked) > 0 {
		do := c.parked[0]
		c.parked = c.parked[1:]
		do()
	}
}

// Append writes a record that the machine has not decided: it is durable.
func (c *Coordinator) Append(r machine.Record) {
	c.log = append(c.log, r)
	c.Durable(r)
	if c.up {
		c.m.Apply(r)
	}
}

// take does what the machine has decided: changes at once, words when all before is durable.
func (c *Coordinator) take(out machine.Output) {
	for _, r := range out.Records {
		c.m.Apply(r)
	}
	epoch := c.epoch
	done := func() {
		if c.epoch == epoch {
			c.durable(out)
		}
	}
	switch {
	case len(out.Group) > 0:
		written := c.Lend(out.Group)
		c.lent = append(c.lent, written)
		c.Disk.Write(func() {
			if c.epoch == epoch {
				c.lent = c.lent[1:]
				written(true)
			}
			done()
		})
	case len(out.Records) > 0:
		c.Disk.Write(done)
	case len(out.Replies)+len(out.Asks) > 0:
		c.Disk.Read(done)
	}
	c.wake(epoch, out.Wake)
}

// wake has the machine look at the clock, by the earliest wish that is still to come: who is woken too early looks again.
func (c *Coordinator) wake(epoch int, at time.Time) {
	if at.IsZero() || !c.wakes.IsZero() && !at.Before(c.wakes) {
		return
	}
	c.wakes = at
	c.Clock.At(Later(at, c.Clock.Now), func() {
		if c.epoch == epoch && c.up && c.wakes.Equal(at) {
			c.wakes = time.Time{}
			c.free(func() { c.take(c.m.Tick(c.Clock.Now)) })
		}
	})
}

func (c *Coordinator) durable(out machine.Output) {
	c.log = append(c.log, out.Records...)
	for _, r := range out.Records {
		c.Durable(r)
	}
	for _, r := range out.Replies {
		if w, waits := c.waiting[r.To]; waits {
			delete(c.waiting, r.To)
			w.answer(r.Value)
		}
	}
	for _, a := range out.Asks {
		c.Asked(a)
	}
}
