package story

import (
	"slices"
	"time"

	"github.com/skeinstream/skein/internal/ownership"
)

// State is the play as it stands. It follows from the events alone, and from Tick, by which time passes in the tickers.
type State struct {
	Acts       []Act
	Act        int
	Text       string // what is done now
	Began, Now time.Time
	Members    [Members]Member
	Parts      [Partitions]Part
	BrokerDown bool
	Lines      []Line // what people see happen, the newest last
	Failures   []string

	watch       *ownership.Watch
	ends        map[int32]int64
	killed      int      // the slot of whoever was killed last
	expectation []string // that were not met
}

// Member is the process in one place.
type Member struct {
	Slot        int
	Name        string
	Code        Code
	Alive       bool
	End         string // how the last one ended: "stopped", "killed"
	Generation  int32
	Assignor    string
	Cooperative bool
	Leader      bool
	Rebalancing bool
	Owns        []int32
}

// Part is one partition. Cells are its ticker, the newest last: the slot of the member that handled records in that time, 0 if
// nobody did.
type Part struct {
	Owner   int
	Handled int64
	Last    time.Time
	Cells   []int

	cell  int
	took  bool
	flows bool // its owner has handled something
}

// Line is an event for people.
type Line struct {
	At   time.Time
	Text string
}

// How much a ticker and the list of events remember.
const (
	maxCells = 400
	maxLines = 200
)

// NewState is before the first event.
func NewState(acts []Act) *State {
	s := &State{Acts: acts, watch: ownership.NewWatch(), ends: map[int32]int64{}}
	for i := range s.Members {
		s.Members[i].Slot = i + 1
	}
	return s
}

// See takes an event.
func (s *State) See(e Event) {
	if s.Began.IsZero() {
		s.Began = e.At
	}
	s.Now = e.At
	s.watch.See(e.Event)
	if e.Slot > 0 {
		s.member(e, &s.Members[e.Slot-1])
	}
	switch e.Kind {
	case ownership.Began:
		s.Act = e.Act
	case Stepped:
		s.Text = e.Text
	case BrokerDown, BrokerUp:
		s.BrokerDown = e.Kind == BrokerDown
	case Failed:
		s.Failures = append(s.Failures, e.Text)
	}
	if line := e.Line(); line != "" && e.Kind != Stepped && e.Kind != ownership.Began {
		s.Lines = append(s.Lines, Line{e.At, line})
		s.Lines = s.Lines[max(0, len(s.Lines)-maxLines):]
	}
}

func (s *State) member(e Event, m *Member) {
	switch e.Kind {
	case Started:
		*m = Member{Slot: e.Slot, Name: e.Member, Code: e.Code, Alive: true}
	case ownership.Ended:
		m.Alive, m.Leader, m.Rebalancing = false, false, false
		s.disown(e.Slot, m, m.Owns)
	case Stopped, Killed:
		m.End = string(e.Kind)
		if e.Kind == Killed {
			s.killed = e.Slot
		}
	case Rejoining:
		m.Rebalancing = true
	case ownership.Joined:
		m.Generation, m.Assignor, m.Leader, m.Rebalancing = e.Generation, e.Assignor, e.Leader, true
	case Completed:
		m.Cooperative, m.Rebalancing = e.Cooperative, false
	case Switched:
		m.Cooperative = e.Cooperative
	case ownership.Assigned:
		s.own(e, m)
	case ownership.Revoked, ownership.Lost:
		s.disown(e.Slot, m, e.Partitions)
	case ownership.Handled:
		s.handled(e)
	}
}

func (s *State) own(e Event, m *Member) {
	m.Owns = slices.Compact(slices.Sorted(slices.Values(append(m.Owns, e.Partitions...))))
	for _, p := range e.Partitions {
		s.Parts[p].Owner, s.Parts[p].flows = e.Slot, false
	}
}

func (s *State) disown(slot int, m *Member, partitions []int32) {
	for _, p := range partitions {
		if s.Parts[p].Owner == slot {
			s.Parts[p].Owner = 0
		}
	}
	m.Owns = slices.DeleteFunc(slices.Clone(m.Owns), func(p int32) bool { return slices.Contains(partitions, p) })
}

func (s *State) handled(e Event) {
	p := &s.Parts[e.Partitions[0]]
	p.Handled, p.Last, p.cell, p.took, p.flows = max(p.Handled, e.Last+1), e.At, e.Slot, true, true
}

// Tick ends a cell of every ticker.
func (s *State) Tick(now time.Time) {
	s.Now = now
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Last.IsZero() {
			continue
		}
		cell := 0
		if p.took {
			cell = p.cell
		}
		p.Cells = append(p.Cells, cell)
		p.Cells = p.Cells[max(0, len(p.Cells)-maxCells):]
		p.took = false
	}
}

// Generation is the newest that a live member is in.
func (s *State) Generation() (g int32) {
	for _, m := range s.Members {
		if m.Alive {
			g = max(g, m.Generation)
		}
	}
	return g
}

// InForce are the assignor and protocol of the newest generation, "" before the first.
func (s *State) InForce() (assignor, protocol string) {
	for _, m := range s.Members {
		if m.Alive && m.Generation > 0 && m.Generation == s.Generation() {
			return m.Assignor, ProtocolOf(m.Cooperative)
		}
	}
	return "", ""
}

// Leader is the slot of the group's leader, 0 if none is known.
func (s *State) Leader() int {
	for _, m := range s.Members {
		if m.Alive && m.Leader && m.Generation == s.Generation() {
			return m.Slot
		}
	}
	return 0
}

// LastKilled is the slot of whoever was killed last.
func (s *State) LastKilled() int { return s.killed }

// Settled says that the live members share all partitions in one generation, and have handled records of each, also since a moment.
func (s *State) Settled(since time.Time) bool {
	for _, m := range s.Members {
		if m.Alive && (m.Rebalancing || len(m.Owns) == 0 || m.Generation != s.Generation()) {
			return false
		}
	}
	for i := range s.Parts {
		if s.Parts[i].Owner == 0 || !s.Parts[i].flows || !s.Parts[i].Last.After(since) {
			return false
		}
	}
	return !s.BrokerDown
}
