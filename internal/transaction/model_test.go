package transaction

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"
)

// The machine is tried on a model of a transaction coordinator, of a network that loses and delays, and of franz-go above it.

var errLost = errors.New("the connection has ended")

type phase uint8

const (
	empty phase = iota
	ongoing
	committed
	abortedBy
)

// coordinator is that of one transactional id and of one group with one partition (R-E4 to R-E13, R-K24, R-K25).
type coordinator struct {
	t           *rapid.T
	epoch, last int16
	phase       phase
	byEpoch     bool // the last end has raised the epoch (KIP-890)
	withOffsets bool // the offsets were added

	records []int // of the open transaction
	offset  int   // likewise; 0 is none

	visible   map[int]int // committed records, and how often
	committed int         // the group's offset
	history   []int
	outsider  bool // somebody else has come, or it looks like that
	impatient bool // a transaction was given up
	late      bool // what is asked for comes late
	excused   bool // it has ended a transaction of another epoch, which nobody can help

	successor int16 // the epoch of who has taken the transactional id, and keeps a transaction open; 0 is nobody
}

// isTaken has a successor come.
func (c *coordinator) isTaken() {
	if c.successor != 0 || c.epoch == 0 {
		return
	}
	c.outsider = true
	c.successor, _ = c.initialise(-1)
	if err := c.add(c.successor); err != nil {
		c.t.Fatal(err)
	}
}

// isLeftAlone checks that nobody has touched what the successor has open.
func (c *coordinator) isLeftAlone() {
	if c.successor == 0 || c.excused {
		return
	}
	if c.epoch != c.successor || c.phase != ongoing || len(c.records) > 0 || c.offset != 0 {
		c.t.Fatalf("the successor, of epoch %d, has epoch %d now, phase %d, and records %v of somebody else", c.successor, c.epoch, c.phase, c.records)
	}
}

func (c *coordinator) ends(commit bool) {
	if commit {
		for _, r := range c.records {
			c.visible[r]++
		}
		if c.offset > 0 {
			c.committed = c.offset
			c.history = append(c.history, c.offset)
		}
	}
	c.records, c.offset, c.withOffsets = nil, 0, false
	c.phase = abortedBy
	if commit {
		c.phase = committed
	}
	c.byEpoch = false
}

// initialise is InitProducerId; an expected epoch below 0 is none. As in Kafka it is not looked at where a transaction is open.
func (c *coordinator) initialise(expected int16) (int16, error) {
	c.excused = c.excused || c.late // it may ask for an epoch that was to be an earlier one's
	if c.phase == ongoing && expected >= 0 && expected != c.epoch {
		if !c.late {
			c.t.Fatalf("a zombie has ended a transaction of epoch %d in epoch %d", c.epoch, expected)
		}
		c.outsider, c.excused = true, true
		c.ends(false)
		c.epoch++
		return 0, kerr.ProducerFenced // 51, and then this
	}
	switch {
	case expected >= 0 && expected == c.last && expected != c.epoch:
		return c.epoch, nil
	case expected >= 0 && expected != c.epoch:
		return 0, kerr.ProducerFenced
	}
	if c.phase == ongoing {
		c.ends(false)
		c.epoch++
	}
	c.last = expected
	c.epoch++
	c.phase = empty
	return c.epoch, nil
}

// timesOut is what the coordinator does by itself.
func (c *coordinator) timesOut() {
	if c.phase == ongoing && c.successor == 0 {
		c.ends(false)
		c.impatient = true
		c.last = c.epoch
		c.epoch++
	}
}

func (c *coordinator) add(epoch int16) error {
	if epoch != c.epoch {
		return kerr.ProducerFenced
	}
	c.phase = ongoing
	return nil
}

func (c *coordinator) produce(epoch int16, record int, implicit bool) error {
	switch {
	case epoch != c.epoch:
		return kerr.InvalidProducerEpoch
	case c.phase != ongoing && !implicit:
		return kerr.InvalidTxnState
	}
	c.phase = ongoing
	c.records = append(c.records, record)
	return nil
}

func (c *coordinator) addOffsets(epoch int16) error {
	err := c.add(epoch)
	c.withOffsets = c.withOffsets || err == nil
	return err
}

func (c *coordinator) commitOffsets(epoch int16, offset int, version int16) error {
	switch {
	case epoch != c.epoch:
		return kerr.InvalidProducerEpoch
	case version < implicit && !(c.phase == ongoing && c.withOffsets):
		return kerr.TransactionAbortable
	}
	c.phase, c.withOffsets, c.offset = ongoing, true, offset
	return nil
}

func (c *coordinator) endTxn(epoch int16, commit bool, version int16) (int16, error) {
	again := commit == (c.phase == committed) && (c.phase == committed || c.phase == abortedBy)
	switch {
	case version >= implicit && epoch == c.epoch-1 && c.byEpoch && again:
		return c.epoch, nil
	case version >= implicit && epoch == c.epoch-1 && !commit && (c.phase == empty || c.phase == abortedBy):
		return c.epoch, nil // Kafka takes it for a repetition, whoever has come since
	case epoch != c.epoch:
		return 0, kerr.ProducerFenced
	case c.phase == ongoing:
		c.ends(commit)
	case version < implicit && again:
		return c.epoch, nil
	case version < implicit || commit:
		return 0, kerr.InvalidTxnState
	}
	if version >= implicit {
		c.last, c.byEpoch = c.epoch, true
		c.phase = abortedBy
		if commit {
			c.phase = committed
		}
		c.epoch++
	}
	return c.epoch, nil
}

// network loses requests and answers while it is bad, and keeps what was lost, to deliver it later.
type network struct {
	t    *rapid.T
	c    *coordinator
	bad  bool
	late []func()
}

// sends has a request arrive, or not, and says whether the answer is there.
func (n *network) sends(request func()) bool {
	if !n.bad {
		request()
		return true
	}
	switch rapid.IntRange(0, 5).Draw(n.t, "fate") {
	case 0:
		n.late = append(n.late, request)
		return false
	case 1:
		request()
		n.late = append(n.late, request)
		return false
	}
	request()
	return true
}

// arrives delivers something that was late, if there is.
func (n *network) arrives() {
	if len(n.late) == 0 {
		return
	}
	i := rapid.IntRange(0, len(n.late)-1).Draw(n.t, "late")
	request := n.late[i]
	n.late = append(n.late[:i:i], n.late[i+1:]...)
	n.c.late = true
	request()
	n.c.late = false
}

// library is franz-go's client, as far as it matters (its txn.go).
type library struct {
	c        *coordinator
	n        *network
	implicit bool

	epoch              int16
	bad                error // errReload, or a *kerr.Error
	inTxn, added       bool
	produced, unproven bool
}

var errReload = errors.New("has to be loaded")

func newLibrary(c *coordinator, n *network, implicit bool) *library {
	return &library{c: c, n: n, implicit: implicit, epoch: -1, bad: errReload}
}

func (l *library) load() (int16, error) {
	if l.bad != errReload {
		return l.epoch, l.bad
	}
	var epoch int16
	err := errLost
	expected := l.epoch
	request := func() {
		if expected < 0 {
			l.c.outsider = l.c.outsider || l.n.bad // should it come late, it looks like somebody else
		}
		epoch, err = l.c.initialise(expected)
	}
	if !l.n.sends(request) {
		return l.epoch, errLost
	}
	if err != nil {
		l.bad = err
		return l.epoch, err
	}
	l.epoch, l.bad = epoch, nil
	return epoch, nil
}

func (l *library) recovers(err error) bool {
	switch codeOf(err) {
	case nil:
		return true
	case kerr.UnknownProducerID, kerr.TransactionAbortable:
		return true
	case kerr.InvalidProducerIDMapping, kerr.InvalidProducerEpoch:
		return !l.implicit
	}
	return false
}

func (l *library) produce(record int) error {
	if l.bad != nil {
		return l.bad
	}
	l.produced = true
	if !l.implicit && !l.added {
		if err := l.c.add(l.epoch); err != nil {
			l.bad = err
			return err
		}
		l.added = true
	}
	if err := l.c.produce(l.epoch, record, l.implicit); err != nil {
		l.bad = err
		return err
	}
	l.added = true
	return nil
}

func (l *library) end(commit bool) error {
	if !l.inTxn {
		return nil
	}
	added, unproven := l.added, l.unproven
	l.inTxn, l.added, l.unproven = false, false, false
	if !added {
		if !l.implicit || !l.produced {
			return nil
		}
		commit = false
	}
	epoch, err := l.load()
	if err != nil {
		if commit {
			l.inTxn, l.added, l.unproven = true, added, unproven
			return kerr.OperationNotAttempted
		}
		if l.recovers(err) {
			l.bad = errReload
			return nil
		}
	}
	if unproven {
		if commit {
			return errors.New("cannot retry")
		}
		return nil
	}
	return l.endTxn(epoch, commit, added)
}

func (l *library) endTxn(epoch int16, commit, added bool) error {
	version := int16(explicit)
	if l.implicit {
		version = implicit
	}
	var next int16
	err := errLost
	if !l.n.sends(func() { next, err = l.c.endTxn(epoch, commit, version) }) {
		err = errLost
	}
	if err == nil {
		if l.implicit {
			l.epoch, l.bad = next, nil
		}
		return nil
	}
	if l.bad == nil {
		if l.bad = err; codeOf(err) == nil {
			l.bad = errReload
		}
	}
	l.inTxn, l.added, l.unproven = true, added, true
	return err
}
