package group

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/internal/deadline"
	"github.com/skeinstream/skein/internal/machine"
)

// Machine is the coordinator of the groups of one partition of __consumer_offsets. It implements machine.Machine.
type Machine struct {
	settings  Settings
	groups    map[string]*Group
	offsets   offsetIndex
	producers producers
	life      *life
	timers    deadline.Queue
	check     deadline.Timer // of the retention of offsets
	unread    machine.Unread

	// Totals since the machine was made.
	totals     offsetTotals
	rebalances int64

	// The step under way.
	now time.Time
	out machine.Output
}

// New returns a machine that knows nothing yet: the log is to be applied, then Loaded called.
func New(s Settings) *Machine {
	m := &Machine{settings: s, groups: map[string]*Group{}, life: new(life)}
	m.check.Fire = m.checkOffsets
	return m
}

// Step decides about one input, of call.go's types.
func (m *Machine) Step(now time.Time, caller machine.Token, in any) machine.Output {
	m.now = now
	switch in := in.(type) {
	case Join:
		m.join(caller, &in)
	case Sync:
		m.sync(caller, in.Request)
	case Heartbeat:
		m.reply(caller, m.heartbeat(in.Request))
	case Leave:
		m.reply(caller, m.leave(in.Request))
	case Describe:
		m.reply(caller, m.describe(in))
	case List:
		m.reply(caller, m.list())
	case Delete:
		m.reply(caller, m.delete(in.Group))
	case Count:
		m.reply(caller, m.count())
	default:
		m.stepOffsets(caller, in)
	}
	return m.finish()
}

// stepOffsets is Step for what concerns committed offsets.
func (m *Machine) stepOffsets(caller machine.Token, in any) {
	switch in := in.(type) {
	case Commit:
		answer, records := m.commit(m.now, in.Request)
		m.write(records...)
		m.reply(caller, answer)
	case TxnCommit:
		answer, records := m.txnCommit(m.now, in)
		m.write(records...)
		m.reply(caller, answer)
	case Guard:
		m.reply(caller, m.guard())
	case Fetch:
		m.reply(caller, m.fetch(in))
	case DeleteOffsets:
		answer, records := m.deleteOffsets(in.Request)
		m.write(records...)
		m.reply(caller, answer)
	case DeleteTopics:
		m.write(m.deleteTopics(in.Topics)...)
		m.reply(caller, nil)
	case Topics:
		m.reply(caller, m.offsets.names())
	default:
		panic(fmt.Sprintf("group: %T is no input", in))
	}
}

// Tick does what is due. After a pause of the whole process, call it after the inputs that came meanwhile: a heartbeat that
// waits to be read then still counts.
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
		m.applyMarker(r.Producer, r.Marker.Commit)
		return
	}
	if r.Producer.Transactional {
		m.producers.seen(r.Producer)
	}
	version, ok := keyVersion(r.Key)
	var err error
	switch {
	case ok && isOffsetKey(version):
		err = m.applyOffset(r)
	case ok && version == groupKeyVersion:
		err = m.applyGroup(r)
	default:
		err = fmt.Errorf("unknown key version %d", version)
	}
	if err != nil {
		m.unread.Add(err)
	}
}

// Loaded makes groups live again from what was applied.
func (m *Machine) Loaded(now time.Time) machine.Output {
	m.now = now
	m.out.Notes = append(m.out.Notes, m.unread.Take("records of the offsets topic were passed over")...)
	for _, g := range m.sorted() {
		g.load()
	}
	m.timers.Set(&m.check, now.Add(m.settings.OffsetsRetentionCheck))
	return m.finish()
}

// checkOffsets ends what nobody needs any more.
func (m *Machine) checkOffsets() {
	m.write(m.expire(m.now)...)
	m.timers.Set(&m.check, m.now.Add(max(m.settings.OffsetsRetentionCheck, time.Millisecond)))
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

func (m *Machine) write(r ...machine.Record) { m.out.Records = append(m.out.Records, r...) }

func (m *Machine) note(level slog.Level, message string, attrs ...slog.Attr) {
	m.out.Notes = append(m.out.Notes, machine.Note{Level: level, Message: message, Attrs: attrs})
}

// group returns the group of a name, nil when there is none.
func (m *Machine) group(name string) *Group { return m.groups[name] }

// groupForCommit returns the group of a name. An unknown one becomes a simple group, a place for offsets without members
// or protocol type; it lives by its offsets, so make one only where an offset follows.
func (m *Machine) groupForCommit(name string) *Group {
	g := m.groups[name]
	if g == nil {
		g = newGroup(m, name)
		m.groups[name] = g
	}
	return g
}

// sorted returns all groups by name.
func (m *Machine) sorted() []*Group {
	all := make([]*Group, 0, len(m.groups))
	for _, g := range m.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Group) int { return strings.Compare(a.name, b.name) })
	return all
}
