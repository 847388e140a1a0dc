package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// phase is what the member waits for.
type phase uint8

const (
	idle      phase = iota // for a subscription
	preparing              // for the callback that comes before a JoinGroup
	looking                // for the answer to DescribeGroups: who publishes what already
	joining                // for the answer to a JoinGroup, or for the moment to send it again
	asking                 // for the answer to DescribeGroups, or for the moment to ask again (R-C10)
	leading                // for metadata to plan with
	syncing                // for the answer to a SyncGroup
	giving                 // for the callback about what the assignment takes away
	taking                 // for the callback about what it brings
	steady                 // for nothing: the member has its assignment
	resting                // for the user to poll again (R-B11)
	leaving                // for the callback that comes before the member leaves
	failed                 // for nothing ever more: a fatal error
	closed
)

// Machine is one member. Its methods are called by one goroutine at a time.
type Machine struct {
	cfg   Config
	phase phase
	now   time.Time
	out   Output

	topics  []string // subscribed to, sorted
	matches func(string) bool
	owned   set

	member      string // "": the broker gives one
	generation  int32  // -1: none that the broker would take
	since       int32  // the first generation since the group last went on without the member
	named       Generation
	history     assign.History
	assignor    assign.Assignor // selected last
	cooperative bool
	climbed     int  // rounds in a row that would let it be so
	forgotten   bool // the group has gone on without the member: what it owns is lost

	seen     time.Time // when the member was in the group for certain: when that was sent which the broker has answered as to a member
	summoned time.Time // when that was sent by whose answer it was told to join first; zero: it has joined since

	known  [][]byte // what the member was last told that others publish
	gone   [][]byte // and by others who are gone
	looked bool     // it has seen who was there when it came

	adopted []assign.Assignor // offered since the group runs them (R-C10)
	reason  string            // why the member joins
	again   string            // why it has to once this rebalance is over; "": it has not

	round  round
	flight flight
	beat   heartbeat
	polled time.Time
	leaves bool // once the callback under way has ended
	closes bool // and then it is closed

	astray    int  // rounds in a row whose assignment was of no use or not to be had, or that were of another protocol
	attempted bool // this rebalance has sent a JoinGroup: an EAGER member is not told again that it has nothing (R-B3)
	cluster   []assign.Topic
	led       *ledger // what this member planned with, while it leads
}

// round is what belongs to one rebalance.
type round struct {
	narrowed bool // what was offered withholds something
	vain     int  // refusals by a group that would take the member, by what is said of it
	leader   bool
	skips    bool     // a static leader that has come back: it makes no plan (KIP-814)
	back     bool     // a static member that has come back, perhaps to a plan made without it
	unsure   []string // topics of which such a member has nothing, while it finds out whether somebody has
	members  []assign.Member
	notices  []roster.Notice // of the members, in that order
	sync     *kmsg.SyncGroupRequest
	next     set // the assignment
	added    int
	revoked  int
	failed   error // of the first callback that failed
}

// New checks the configuration.
func New(cfg Config) (*Machine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, generation: -1, named: Generation{ID: -1, Instance: cfg.InstanceID}}
	m.cooperative = cfg.Static && cfg.supportedByAll(assign.Cooperative)
	return m, nil
}

// Generation is in whose name offsets are committed.
func (m *Machine) Generation() Generation { return m.named }

// Owned is what the member has.
func (m *Machine) Owned() []TopicPartition { return slices.Clone(m.owned) }

// Step takes something that happened.
func (m *Machine) Step(now time.Time, in Input) Output {
	m.begin(now)
	switch in := in.(type) {
	case Subscribed:
		m.subscribed(in)
	case Polled:
		m.poll(in.At)
	case Called:
		m.called(in.Err)
	case Metadata:
		m.metadata(in.Topics)
	case Rejoin:
		m.rejoin(in.Reason)
	case Close:
		m.closes = true
		m.leave()
	case Answered:
		m.answered(in)
	case CommitRefused:
		m.commitRefused(in)
	}
	return m.end()
}

// Tick looks at the clock.
func (m *Machine) Tick(now time.Time) Output {
	m.begin(now)
	return m.end()
}

func (m *Machine) begin(now time.Time) { m.now, m.out = now, Output{} }

// end does what is due, and says when to look again.
func (m *Machine) end() Output {
	m.pollInTime()
	m.retry()
	m.followUp()
	m.heartbeat()
	m.stopWaiting()
	m.out.Wake = m.wake()
	return m.out
}

func (m *Machine) wake() (next time.Time) {
	for _, t := range []time.Time{m.pollDeadline(), m.flight.retry, m.followUpAt(), m.beatAt(), m.waitsUntil()} {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// subscribed takes the user's wish.
func (m *Machine) subscribed(in Subscribed) {
	if m.phase == failed || m.phase == closed {
		return
	}
	topics := slices.Compact(slices.Sorted(slices.Values(in.Topics)))
	if len(topics) == 0 && in.Matches == nil {
		m.topics, m.matches = nil, nil
		m.leave()
		return
	}
	changed := !slices.Equal(topics, m.topics)
	m.topics, m.matches = topics, in.Matches
	switch {
	case m.phase == idle:
		m.enter()
	case changed:
		m.rejoin(fmt.Sprintf("the subscription is now to %d topics", len(topics)))
	}
}

// enter begins the first rebalance of a subscription.
func (m *Machine) enter() {
	m.polled = m.now
	m.prepare("the member subscribes")
}

// rejoin begins a rebalance, or has one follow that which is under way.
func (m *Machine) rejoin(reason string) {
	switch m.phase {
	case idle, resting, leaving, failed, closed:
	case steady:
		m.prepare(reason)
	default:
		if m.again == "" {
			m.again = reason
		}
	}
}

// event tells what happened.
func (m *Machine) event(e Event) {
	e.Member, e.Generation = m.member, m.generation
	m.out.Events = append(m.out.Events, e)
}

// stop takes partitions from the user's sight.
func (m *Machine) stop(s set) { m.out.Stop = append(m.out.Stop, s...) }

func (m *Machine) call(c Callback, s set) {
	m.flight.call = &Call{Callback: c, Partitions: s}
	m.out.Call = m.flight.call
}

// fail ends the membership: the user has to change something. What is owned is told as lost when the member is closed, after
// the callback that may be under way.
func (m *Machine) fail(err error) {
	m.stop(m.owned)
	m.phase, m.out.Err, m.out.Fatal = failed, err, true
	m.flight, m.out.Requests = flight{last: m.flight.last, call: m.flight.call, strays: m.flight.strays}, nil
}

// reset is what the member does when the broker does not know its generation, or not even itself (R-B12).
func (m *Machine) reset(member bool) {
	m.generation, m.forgotten = -1, true
	if member {
		m.member = ""
	}
}
