package fence

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Config is how long and how hard it is tried.
type Config struct {
	// Self is the machine's own transactional id, which is never fenced.
	Self string
	// Patience is for how long one id is tried: the transaction timeout, after which the broker has ended what the dead have left. 0 is 10 s.
	Patience time.Duration
	// RetryMin and RetryMax bound the wait before one is tried again; 0 is 20 ms and 1 s.
	RetryMin, RetryMax time.Duration
	// AtOnce is how many are tried at a time; 0 is 8.
	AtOnce int
}

func (c Config) withDefaults() Config {
	c.Patience = cmp.Or(c.Patience, 10*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, 20*time.Millisecond)
	c.RetryMax = max(c.RetryMin, cmp.Or(c.RetryMax, time.Second))
	c.AtOnce = cmp.Or(c.AtOnce, 8)
	return c
}

// Input is something that happened.
type Input interface{ input() }

type (
	// Roster is who is there and who is not, by their transactional ids.
	Roster struct{ Present, Missing []string }
	// Answered is how an attempt to fence has ended.
	Answered struct {
		ID     string
		Answer Answer
	}
)

func (Roster) input()   {}
func (Answered) input() {}

// Answer is what became of an attempt.
type Answer uint8

const (
	Fenced  Answer = iota // the id has another epoch, and no transaction is open
	Passing               // not yet: its transaction is being ended, or nobody has answered
	Refused               // and always will be
)

// Output is what is to be done.
type Output struct {
	// Fence are ids to initialise a producer for. Answered is the answer to each.
	Fence []string
	// Done are ids that are fenced now, GaveUp those that are not and will not be tried again.
	Done, GaveUp []Tried
	// Wake is when Tick is wanted; it replaces what an earlier output said. The zero time: never.
	Wake time.Time
}

// Tried is an id and how long it was tried.
type Tried struct {
	ID   string
	Took time.Duration
}

// Machine remembers whom it has fenced, as long as somebody misses them. Its methods are called by one goroutine at a time.
type Machine struct {
	cfg    Config
	missed map[string]*missed
	now    time.Time
	out    Output
}

// missed is one that is to be fenced, or was.
type missed struct {
	since  time.Time
	next   time.Time // when to try; zero: one is under way, or there is no need
	tries  int
	asked  bool // an attempt is under way
	over   bool
	needed bool // nobody has said meanwhile that it lives
}

// New is a machine that has nothing to do.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg.withDefaults(), missed: map[string]*missed{}}
}

// Step takes something that happened.
func (m *Machine) Step(now time.Time, in Input) Output {
	m.now, m.out = now, Output{}
	switch in := in.(type) {
	case Roster:
		m.roster(in)
	case Answered:
		m.answered(in)
	}
	return m.end()
}

// Tick looks at the clock.
func (m *Machine) Tick(now time.Time) Output {
	m.now, m.out = now, Output{}
	return m.end()
}

// roster takes who is missing. Whoever is present lives, whatever was heard before; whoever is missed no more has been forgotten by all, and
// need not be remembered here.
func (m *Machine) roster(in Roster) {
	lives := func(id string) bool { return id == m.cfg.Self || slices.Contains(in.Present, id) }
	for id, w := range m.missed {
		switch {
		case lives(id):
			w.needed = false
			if !w.asked {
				delete(m.missed, id)
			}
		case w.over && !slices.Contains(in.Missing, id):
			delete(m.missed, id)
		}
	}
	for _, id := range in.Missing {
		if lives(id) {
			continue
		}
		if w := m.missed[id]; w == nil {
			m.missed[id] = &missed{since: m.now, next: m.now, needed: true}
		} else if !w.needed { // it was there again, and has gone again
			w.since, w.needed = m.now, true
		}
	}
}

// answered takes the end of an attempt.
func (m *Machine) answered(in Answered) {
	w := m.missed[in.ID]
	if w == nil || !w.asked {
		return
	}
	w.asked = false
	switch tried := (Tried{in.ID, m.now.Sub(w.since)}); {
	case in.Answer == Fenced:
		w.over = true
		m.out.Done = append(m.out.Done, tried)
	case in.Answer == Refused || w.needed && !m.now.Before(w.since.Add(m.cfg.Patience)):
		w.over = true
		m.out.GaveUp = append(m.out.GaveUp, tried)
	default:
		w.next = m.now.Add(m.wait(w.tries))
	}
	if !w.needed {
		delete(m.missed, in.ID)
	}
}

// wait grows with each attempt.
func (m *Machine) wait(tries int) time.Duration {
	if tries > 16 {
		return m.cfg.RetryMax
	}
	return min(m.cfg.RetryMin<<(tries-1), m.cfg.RetryMax)
}

// end tries what is due, those first that wait for the longest.
func (m *Machine) end() Output {
	ids := slices.SortedFunc(maps.Keys(m.missed), func(a, b string) int {
		return cmp.Or(m.missed[a].next.Compare(m.missed[b].next), cmp.Compare(a, b))
	})
	free := m.cfg.AtOnce
	for _, id := range ids {
		if m.missed[id].asked {
			free--
		}
	}
	for _, id := range ids {
		w := m.missed[id]
		switch {
		case w.asked || w.over || free <= 0:
		case m.now.Before(w.next):
			if m.out.Wake.IsZero() {
				m.out.Wake = w.next
			}
		default:
			free--
			w.asked, w.tries = true, w.tries+1
			m.out.Fence = append(m.out.Fence, id)
		}
	}
	return m.out
}
