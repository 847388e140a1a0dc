package txn

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// stage runs a machine as the coordinator's loop does, with clients that use transactional ids, and checks after every step
// what must always hold (check_test.go). Each client remembers the producer id and epoch that it was told.
type stage struct {
	t        scripts.Failer
	settings Settings
	start    time.Time
	now      time.Time
	wake     time.Time
	m        *Machine
	log      []machine.Record
	fresh    []machine.Record // of the last command
	markers  []machine.Write  // likewise
	notes    []machine.Note   // likewise
	asks     []Ask            // that nobody has answered
	clients  map[string]*client
	said     []string // what happened in the last command
	token    machine.Token
	nextID   int64
	failing  bool // the next append fails
	reached  map[int64]int16
	gone     []Partition // need no marker any more
}

// client is one that uses transactional ids.
type client struct {
	name string
	identity
}

func testSettings() Settings {
	return Settings{
		MaxTimeout: 15 * time.Minute, Expiration: 7 * 24 * time.Hour, ExpiryCheck: time.Hour, AbortCheck: 10 * time.Second,
		Version2: true, RefuseLate: true, CoordinatorEpoch: 3,
	}
}

func newStage(t scripts.Failer, s Settings) *stage {
	st := &stage{
		t: t, settings: s, start: time.UnixMilli(1_700_000_000_000).UTC(), clients: map[string]*client{},
		nextID: 1000, reached: map[int64]int16{},
	}
	st.now = st.start
	st.restart()
	return st
}

// restart replays the log into a machine that knows nothing.
func (st *stage) restart() {
	st.asks = nil
	st.m = New(st.settings)
	for _, r := range st.log {
		st.m.Apply(r)
	}
	st.take(st.m.Loaded(st.now))
}

func (st *stage) client(name string) *client {
	if st.clients[name] == nil {
		st.clients[name] = &client{name: name, identity: identity{noProducerID, noEpoch}}
	}
	return st.clients[name]
}

// step gives the machine one input, once more with a new producer id when it wants one, and returns the answer.
func (st *stage) step(in any) any {
	st.t.Helper()
	answer := st.once(in)
	if _, needs := answer.(NeedProducerID); !needs {
		return answer
	}
	st.nextID++
	answer = st.once(withProducerID(in, st.nextID-1))
	if _, needs := answer.(NeedProducerID); needs {
		st.t.Fatalf("%T wants a producer id although it has one", in)
	}
	return answer
}

func withProducerID(in any, id int64) any {
	switch in := in.(type) {
	case Init:
		in.NewProducerID = id
		return in
	case End:
		in.NewProducerID = id
		return in
	case Finish:
		in.NewProducerID = id
		return in
	}
	return in
}

func (st *stage) once(in any) any {
	st.t.Helper()
	st.token++
	o := st.m.Step(st.now, st.token, in)
	if len(o.Replies) != 1 || o.Replies[0].To != st.token {
		st.t.Fatalf("%T is answered by %v", in, o.Replies)
	}
	if _, needs := o.Replies[0].Value.(NeedProducerID); needs {
		if len(o.Records)+len(o.Group)+len(o.Asks) > 0 {
			st.t.Fatalf("%T wants a producer id and decides something: %v", in, o)
		}
		return o.Replies[0].Value
	}
	if st.failing {
		st.failing = false
		st.restart()
		return notCoordinator(in)
	}
	if _, reads := in.(machine.Read); reads && len(o.Records)+len(o.Group) > 0 {
		st.t.Fatalf("%T, a read, decides something: %v", in, o)
	}
	st.take(o)
	return o.Replies[0].Value
}

// notCoordinator is what the caller is told when an append has failed.
func notCoordinator(in any) any {
	code := kerr.NotCoordinator.Code
	switch in := in.(type) {
	case Init:
		return initRefused(in.Version, code)
	case Add:
		return Added{Code: code}
	case End:
		return endRefused(code)
	}
	return nil
}

// advance lets time pass.
func (st *stage) advance(until time.Time) {
	st.t.Helper()
	for n := 0; !st.wake.IsZero() && !st.wake.After(until); n++ {
		if n > 100_000 {
			st.t.Fatalf("the machine wants a tick at %v for ever", st.wake)
		}
		st.now = later(st.now, st.wake)
		st.take(st.m.Tick(st.now))
		if !st.wake.IsZero() && !st.wake.After(st.now) {
			st.t.Fatalf("after the tick of %v the machine wants one at %v", st.now, st.wake)
		}
	}
	st.now = later(st.now, until)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (st *stage) take(o machine.Output) {
	st.t.Helper()
	st.wake = o.Wake
	before := st.identities()
	for _, r := range o.Records {
		r = machine.Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
		st.log, st.fresh = append(st.log, r), append(st.fresh, r)
		st.m.Apply(r)
	}
	st.markers, st.notes = append(st.markers, o.Group...), append(st.notes, o.Notes...)
	for _, a := range o.Asks {
		st.asks = append(st.asks, a.(Ask))
		st.say("asks: %s", sayAsk(a.(Ask)))
	}
	st.check(before, o)
}

func (st *stage) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if st.now.After(st.start) {
		line = fmt.Sprintf("%v %s", st.now.Sub(st.start), line)
	}
	st.said = append(st.said, line)
}

// durable is what records say about every transactional id.
func (m *Machine) durable() map[string]value {
	all := map[string]value{}
	for id, t := range m.transactions {
		if t.born() {
			all[id] = t.value
		}
	}
	return all
}

func (st *stage) identities() map[string]value { return st.m.durable() }

// stateLines are the transactional ids that a command changed.
func (st *stage) stateLines(before map[string]value) []string {
	after := st.m.durable()
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if !reflect.DeepEqual(after[id], before[id]) {
			lines = append(lines, id+" is "+sayValue(after[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[id]; !still {
			lines = append(lines, id+" is gone")
		}
	}
	return lines
}

func sayValue(v value) string {
	line := fmt.Sprintf("%v %v", v.state, v.identity)
	if len(v.partitions) > 0 {
		line += " " + sayPartitions(v.partitions)
	}
	if v.last != noEpoch {
		line += fmt.Sprintf(", was %v", identity{v.previous, v.last})
	}
	if v.next != noProducerID {
		line += fmt.Sprintf(", next producer %d", v.next)
	}
	if v.timedOut {
		line += ", was out of time"
	}
	return line
}

func (p identity) String() string { return fmt.Sprintf("%d/%d", p.ProducerID, p.Epoch) }

func sayPartitions(list []Partition) string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return strings.Join(all, " ")
}

func sayAsk(a Ask) string {
	what := "finish"
	if a.Abort {
		what = "abort"
	}
	line := fmt.Sprintf("%s %s %v %s", what, a.TransactionalID, identity{a.ProducerID, a.Epoch}, sayPartitions(a.Partitions))
	if a.After > 0 {
		line += fmt.Sprintf(" in %v", a.After)
	}
	return line
}

func sayMarker(w machine.Write) string {
	what := "abort"
	if w.Marker.Commit {
		what = "commit"
	}
	return fmt.Sprintf("%s-%d: %s %v", w.Topic, w.Partition, what, identity{w.Producer.ID, w.Producer.Epoch})
}

func compareAsks(a, b Ask) int { return cmp.Compare(a.TransactionalID, b.TransactionalID) }

func sayDescribed(v *kmsg.DescribeTransactionsResponseTransactionState) string {
	line := scripts.Code(v.ErrorCode)
	if v.ErrorCode == 0 {
		line = fmt.Sprintf("%s %v timeout %dms started %d", v.State, identity{v.ProducerID, v.ProducerEpoch}, v.TimeoutMillis, v.StartTimestamp)
	}
	for _, t := range v.Topics {
		line += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
	}
	return line
}

func sayRecord(c *coder, r machine.Record) string {
	id, err := c.key(r.Key)
	if err != nil {
		return err.Error()
	}
	if r.Value == nil {
		return id + " deleted"
	}
	v, err := c.value(r.Value)
	if err != nil {
		return err.Error()
	}
	return id + " " + sayValue(v)
}

// rewind makes the last record of an id one of another epoch.
func (st *stage) rewind(id string, epoch int16) {
	v := st.m.transactions[id].value
	v.Epoch, v.last = epoch, noEpoch
	st.log = append(st.log, st.m.coder.record(id, &v))
	st.restart()
}
