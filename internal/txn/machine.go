package txn

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/deadline"
	"github.com/skeinstream/skein/internal/machine"
)

// Machine is the coordinator of the transactions of one partition of __transaction_state. It implements machine.Machine.
type Machine struct {
	settings     Settings
	transactions map[string]*transaction
	timers       deadline.Queue
	check        deadline.Timer // of ids that nobody uses
	unread       machine.Unread
	coder        coder

	// Totals since the machine was made.
	totals Counts

	// The step under way.
	now time.Time
	out machine.Output
}

// New returns a machine that knows nothing yet: the log is to be applied, then Loaded called.
func New(s Settings) *Machine {
	m := &Machine{settings: s, transactions: map[string]*transaction{}}
	m.check.Fire = m.expire
	return m
}

// Step decides about one input, of call.go's types.
func (m *Machine) Step(now time.Time, caller machine.Token, in any) machine.Output {
	m.now = now
	m.reply(caller, m.answer(in))
	return m.finish()
}

func (m *Machine) answer(in any) any {
	switch in := in.(type) {
	case Init:
		return m.initProducer(&in)
	case Add:
		return m.add(&in)
	case End:
		return m.end(&in)
	case Finish:
		return m.finishTransaction(&in)
	case Reach:
		return m.reach(in.TransactionalID)
	case Found:
		m.found(in.Open)
		return nil
	case Unended:
		return m.unended()
	case Describe:
		return m.describe(in.TransactionalID)
	case List:
		return m.list()
	case Count:
		return m.count()
	}
	panic(fmt.Sprintf("txn: %T is no input", in))
}

// Tick does what is due.
func (m *Machine) Tick(now time.Time) machine.Output {
	m.now = now
	for t := m.timers.Due(now); t != nil; t = m.timers.Due(now) {
		t.Fire()
	}
	return m.finish()
}

// Apply changes the durable state. Records of kinds that we do not know, from a later version or another product, and those
// that cannot be read are passed over (KIP-915); Loaded says so.
func (m *Machine) Apply(r machine.Record) {
	if r.Marker != nil {
		return // nobody's transaction is in this topic
	}
	id, err := m.coder.key(r.Key)
	if err != nil {
		m.unread.Add(err)
		return
	}
	if r.Value == nil {
		delete(m.transactions, id)
		return
	}
	v, err := m.coder.value(r.Value)
	if err != nil {
		m.unread.Add(err)
		return
	}
	m.known(id).value = v
}

// known returns the transaction of an id. An unknown one gets an entry, so a record of it must follow.
func (m *Machine) known(id string) *transaction {
	t := m.transactions[id]
	if t == nil {
		t = &transaction{id: strings.Clone(id), value: unborn}
		t.timer.Fire = func() { m.due(t) }
		m.transactions[t.id] = t
	}
	return t
}

// Loaded takes up what the log says is under way: open transactions have their deadlines, and decided ones are finished
// (FR-H13).
func (m *Machine) Loaded(now time.Time) machine.Output {
	m.now = now
	m.out.Notes = append(m.out.Notes, m.unread.Take("records of the transaction log were passed over")...)
	for _, t := range m.sorted() {
		switch {
		case t.state == kmsg.TransactionStateOngoing:
			m.timers.Set(&t.timer, t.deadline())
		case t.decided():
			m.ask(t, t.value, 0)
		}
	}
	m.timers.Set(&m.check, now.Add(m.settings.ExpiryCheck))
	return m.finish()
}

func (m *Machine) finish() machine.Output {
	out := m.out
	m.out = machine.Output{}
	out.Wake = m.timers.Next()
	return out
}

func (m *Machine) reply(to machine.Token, value any) {
	m.out.Replies = append(m.out.Replies, machine.Reply{To: to, Value: value})
}

func (m *Machine) note(level slog.Level, message string, attrs ...slog.Attr) {
	m.out.Notes = append(m.out.Notes, machine.Note{Level: level, Message: message, Attrs: attrs})
}

// decide writes v as the new state of t. The holder of a new epoch has not been heard yet: who was told of it, over whichever
// connection, may use any.
func (m *Machine) decide(t *transaction, v value) {
	if v.ProducerID != t.ProducerID || v.Epoch != t.Epoch {
		t.heard = heard{}
	}
	m.out.Records = append(m.out.Records, m.coder.record(t.id, &v))
}

// sorted returns all transactions by id.
func (m *Machine) sorted() []*transaction {
	all := make([]*transaction, 0, len(m.transactions))
	for _, t := range m.transactions {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *transaction) int { return strings.Compare(a.id, b.id) })
	return all
}
