package simulation

import (
	"errors"
	"time"
)

// ErrNoAnswer is what a process hears of a request that has no answer. The other side may have got it all the same.
var ErrNoAnswer = errors.New("the connection broke")

// Network brings requests to the other side and answers back.
type Network struct {
	Clock *Clock
	Dice  *Dice
	// Of a thousand messages, how many are lost, come twice, come late, until it is Calm.
	Lost, Twice, LateOnes int
	Calm                  bool
}

// Happens throws the dice for something that happens to so many of a thousand messages until the calm.
func (n *Network) Happens(thousand int) bool { return !n.Calm && n.Dice.In(thousand) }

// travels is how long a message is under way: some are as late as a network with retransmissions makes them.
func (n *Network) travels() time.Duration {
	switch d := n.Dice; {
	case n.Happens(n.LateOnes):
		return d.Between(0, 15*time.Second)
	case d.N(16) == 0:
		return d.Between(0, 300*time.Millisecond)
	default:
		return Distance(d)
	}
}

// Distance is how long a message is under way where all is well.
func Distance(d *Dice) time.Duration { return d.Between(200*time.Microsecond, 10*time.Millisecond) }

// Send has a request answered once, with a response or an error, however the network treats it. Nothing of it reaches who asked
// after that, nor after the process has ended; the other side may get it all the same, twice, and late: arrives is called each
// time, and told how long that took and how to answer.
func (n *Network) Send(from *Life, wait time.Duration, arrives func(took time.Duration, answer func(resp any)), done func(resp any, err error)) {
	c := from.call(done)
	broken := func() { c.end(nil, ErrNoAnswer) }
	from.Later(wait, broken)
	answer := func(resp any) {
		if n.Happens(n.Lost) {
			from.Later(n.Dice.Between(0, time.Second), broken)
			return
		}
		from.Later(n.travels(), func() { c.end(resp, nil) })
	}
	if n.Happens(n.Lost) {
		from.Later(n.Dice.Between(0, time.Second), broken)
		return
	}
	there := n.travels()
	n.Clock.After(there, func() { arrives(there, answer) })
	if n.Happens(n.Twice) {
		again := there + n.Dice.Between(0, 3*time.Second)
		n.Clock.After(again, func() { arrives(again, func(any) {}) })
	}
}
