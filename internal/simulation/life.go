package simulation

import (
	"slices"
	"time"
)

// Life is a process from its start to its end. It may stand still in between, as a machine does that is suspended.
type Life struct {
	clock  *Clock
	dice   *Dice // of the network
	ended  bool
	died   time.Time
	frozen time.Time // until when
	held   []func()  // what it does when it thaws
	calls  []*call
}

// Live begins a process on the network.
func (n *Network) Live() *Life { return &Life{clock: n.Clock, dice: n.Dice} }

// Lives says that it has not ended.
func (l *Life) Lives() bool { return !l.ended }

// Died says when it ended.
func (l *Life) Died() time.Time { return l.died }

// End takes it away, as when a process is killed: nothing that it was to do is done any more.
func (l *Life) End() { l.ended, l.died, l.held, l.calls = true, l.clock.Now, nil, nil }

// Later has something done by the process: not before it thaws, and not once it has ended.
func (l *Life) Later(d time.Duration, do func()) {
	l.clock.After(d, func() {
		switch {
		case l.ended:
		case l.clock.Now.Before(l.frozen):
			l.held = append(l.held, do)
		default:
			do()
		}
	})
}

// Freeze stops the process for a while. When it thaws it does what it would have done meanwhile, in its order, after first.
func (l *Life) Freeze(d time.Duration, first func()) {
	l.frozen = Later(l.frozen, l.clock.Now.Add(d))
	l.clock.At(l.frozen, func() {
		if l.ended || l.clock.Now.Before(l.frozen) {
			return
		}
		first()
		held := l.held
		l.held = nil
		for _, do := range held {
			if !l.ended {
				do()
			}
		}
	})
}

// HangUp breaks the connections of the process: who waits for an answer hears that there is none.
func (l *Life) HangUp() {
	calls := l.calls
	l.calls = nil
	for _, c := range calls {
		l.Later(l.dice.Between(0, 50*time.Millisecond), func() { c.end(nil, ErrNoAnswer) })
	}
}

// call is a request that somebody waits for.
type call struct {
	over bool
	end  func(resp any, err error)
}

func (l *Life) call(done func(any, error)) *call {
	c := &call{}
	c.end = func(resp any, err error) {
		if !c.over {
			c.over = true
			done(resp, err)
		}
	}
	l.calls = append(slices.DeleteFunc(l.calls, func(c *call) bool { return c.over }), c)
	return c
}
