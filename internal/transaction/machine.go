package transaction

import "fmt"

type state uint8

const (
	ready     state = iota // none is open; so it is before the first Begin, too
	open                   // records and offsets are taken
	undecided              // EndTxn for a commit was sent, and is not answered
	ended                  // the broker has aborted it already; the user has not yet
	aborting               // an Abort has begun
	fatal                  // this producer has come to its end
)

// Machine is the life of one transactional producer. It is driven by one goroutine at a time.
type Machine struct {
	state state
	// cause is why nothing goes on, in state fatal.
	cause error
	// id, epoch and implicit are those of the transaction that is open, or was the last.
	id       int64
	epoch    int16
	implicit bool

	sent    int   // records that were handed over
	closed  bool  // no more are taken
	done    bool  // it was committed
	failure error // why the transaction cannot be committed
	groups  []Group

	// byHand says that the coordinator may have opened the transaction without the client library's knowing: for offsets alone.
	byHand bool
	// echo says that something that was sent by hand may arrive yet, in the epoch of the transaction. The next one needs another.
	echo bool
	// lostEnd says that an EndTxn for the commit has had no answer.
	lostEnd bool
	// stale says that the client library does not know how its EndTxn ended.
	stale bool
	// broken says that the client library cannot go on.
	broken bool
	// healed says that the call has healed once already.
	healed bool

	op   string // the call that is being made
	last error  // what was answered last, and may pass
	step Step
	then func(Answer)
}

// New is a producer that nobody knows of yet.
func New() *Machine { return &Machine{id: -1, epoch: -1} }

// begins a call.
func (m *Machine) begins(op string) { m.op, m.last, m.healed = op, nil, false }

// Condemn ends the producer, since the shell has found out that it cannot go on. It returns why, as all calls do from now on.
func (m *Machine) Condemn(op string, err error) error {
	m.condemn(op, err)
	return m.cause
}

// Step is what to do next.
func (m *Machine) Step() Step {
	m.step.ID, m.step.Epoch = m.id, m.epoch
	return m.step
}

// Answer takes what came of the last Step.
func (m *Machine) Answer(a Answer) {
	then := m.then
	m.then = nil
	if m.state == fatal { // by the failure of a record, meanwhile
		m.returns(m.cause)
		return
	}
	then(a)
}

func (m *Machine) do(s Step, then func(Answer)) { m.step, m.then = s, then }

// again does a step once more, a while later. What to do when the caller has gone meanwhile is left to who awaits the answer.
func (m *Machine) again(s Step, n int, then func(Answer, int)) {
	m.do(Step{Act: Pause, Wait: pause(n)}, func(a Answer) {
		if a.Over {
			a.unsent = true
			then(a, n)
			return
		}
		m.do(s, func(a Answer) { then(a, n+1) })
	})
}

// untilAnswered does a step until the answer is neither lost nor one that passes, or the caller has gone.
func (m *Machine) untilAnswered(s Step, then func(Answer)) {
	var judge func(Answer, int)
	judge = func(a Answer, n int) {
		if a.lost() && s.byHand() {
			m.echo = true
			m.lostEnd = m.lostEnd || s.Act == EndByHand && s.Commit
		}
		if a.Err != nil && passes(a.Err) && !a.Over {
			m.last = a.Err
			m.again(s, n, judge)
			return
		}
		then(a)
	}
	m.do(s, func(a Answer) { judge(a, 0) })
}

// byHand says that a step sends something which could open, fill or end a transaction of the same epoch when it arrives late.
func (s Step) byHand() bool {
	return s.Act == AddOffsets || s.Act == CommitOffsets || s.Act == EndByHand
}

// Send says whether a record may be handed over now, and counts it.
func (m *Machine) Send() error {
	const op = "sending a record"
	switch {
	case m.state == fatal:
		return m.cause
	case m.state == ready:
		return illegal(op, errNotOpen)
	case m.failure != nil:
		return &Error{op, AbortAndContinue, m.failure}
	case m.state != open || m.closed:
		return illegal(op, errEnding)
	}
	m.sent++
	return nil
}

// Sent is how many records were handed over in the transaction that is open, or was the last.
func (m *Machine) Sent() int { return m.sent }

// Committed says that the last transaction was.
func (m *Machine) Committed() bool { return m.done }

// Dead says that the producer has come to its end.
func (m *Machine) Dead() bool { return m.state == fatal }

// Failed is told of a record that was handed over and will not be written, and why.
func (m *Machine) Failed(err error) {
	if m.state != open {
		return
	}
	if classOfSend(err) == Fatal {
		m.condemn("sending a record", err)
		return
	}
	m.echo = m.echo || !m.implicit // the record's sequence number may have been used up (R-K32)
	m.spoil(err)
}

// spoil has the transaction end in an abort.
func (m *Machine) spoil(err error) {
	if m.failure == nil {
		m.failure = err
	}
}

// returns ends a call.
func (m *Machine) returns(err error) { m.do(Step{Act: Return, Err: err}, nil) }

// fails ends a call: the transaction cannot be committed.
func (m *Machine) fails(err error) {
	m.spoil(err)
	m.returns(&Error{m.op, AbortAndContinue, m.failure})
}

// waits ends a call that may be made again.
func (m *Machine) waits(err error) {
	if m.last != nil && codeOf(err) == nil {
		err = fmt.Errorf("%w; the answer before: %w", err, m.last)
	}
	m.returns(&Error{m.op, Retriable, err})
}

// dies ends the producer, and a call.
func (m *Machine) dies(op string, err error) {
	m.condemn(op, err)
	m.returns(m.cause)
}

func (m *Machine) condemn(op string, err error) {
	if m.state != fatal {
		m.state, m.cause = fatal, &Error{op, Fatal, err}
	}
}

// superseded is why who is refused as an old producer dies.
func (m *Machine) superseded(err error) error {
	if m.id >= 0 && !m.implicit { // the epoch is raised by both, and Kafka tells neither
		return fmt.Errorf("%w; or, on a broker without KIP-890, the transaction was open for longer than TransactionTimeout (%w)", ErrFenced, err)
	}
	return fmt.Errorf("%w (%w)", ErrFenced, err)
}

func illegal(op string, err error) error { return &Error{op, Illegal, err} }
