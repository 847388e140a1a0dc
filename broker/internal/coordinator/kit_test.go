package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// disk is the logs of all shards. What is appended waits in it until the test settles it, unless it is quick.
type disk struct {
	mu      sync.Mutex
	quick   bool // appends are answered at once
	logs    map[int32][]machine.Record
	others  map[string]int // records in other partitions, by key
	waiting []*pending
	opened  int
	refusal error
	refused error // what AppendLent says at once
	openErr error
	reading chan struct{} // when set, Replay waits for it
}

type pending struct {
	log     *fakeLog
	records []machine.Record
	group   []machine.Write
	lent    []*fakeLog
	done    func(error)
}

// broken says whether a log that the append is for has lost an append before it.
func (p *pending) broken() bool {
	return p.log.broken || slices.ContainsFunc(p.lent, func(l *fakeLog) bool { return l.broken })
}

// fail marks every log that the append is for.
func (p *pending) fail() {
	for _, l := range append([]*fakeLog{p.log}, p.lent...) {
		l.broken = true
	}
}

// neighbours is the first of the logs of a neighbour's shards, when a disk has those too.
const neighbours = 100

func newDisk() *disk { return &disk{logs: map[int32][]machine.Record{}, others: map[string]int{}} }

func (d *disk) open(shard int32) (Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened++
	return &fakeLog{disk: d, shard: shard}, d.openErr
}

func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// commit puts an append where it belongs. The caller holds mu.
func (d *disk) commit(p *pending) {
	d.logs[p.log.shard] = append(d.logs[p.log.shard], p.records...)
	for _, w := range p.group {
		if w.Marker != nil {
			shard := neighbours + w.Partition
			d.logs[shard] = append(d.logs[shard], machine.Record{Producer: w.Producer, Marker: w.Marker})
		}
		for _, r := range w.Records {
			d.others[string(r.Key)]++
		}
	}
}

// settle ends the first n appends that wait, with err.
func (d *disk) settle(n int, err error) {
	for range n {
		d.settleOne(0, err)
	}
}

func (d *disk) settleOne(i int, err error) {
	d.mu.Lock()
	if i >= len(d.waiting) {
		d.mu.Unlock()
		return // another was quicker
	}
	p := d.waiting[i]
	d.waiting = slices.Delete(d.waiting, i, i+1)
	if err != nil {
		p.fail()
	} else if p.broken() {
		p.fail()
		err = errors.New("behind a failed append")
	}
	if err == nil {
		d.commit(p)
	}
	d.mu.Unlock()
	p.done(err)
}

func (d *disk) pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// state is what the log of a shard says.
func (d *disk) state(shard int32) durable {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := durable{}
	for _, r := range d.logs[shard] {
		s.apply(r)
	}
	return s
}

// fakeLog is a Log in a disk.
type fakeLog struct {
	disk   *disk
	shard  int32
	broken bool
}

func (l *fakeLog) Replay(ctx context.Context, yield func(machine.Record) error) error {
	l.disk.mu.Lock()
	reading, records := l.disk.reading, slices.Clone(l.disk.logs[l.shard])
	l.disk.mu.Unlock()
	if reading != nil {
		select {
		case <-reading:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, r := range records {
		key, value := slices.Clone(r.Key), slices.Clone(r.Value)
		if err := yield(machine.Record{Key: key, Value: value, Producer: r.Producer, Marker: r.Marker}); err != nil {
			return err
		}
		clear(key) // it was valid during the call only
		clear(value)
	}
	return nil
}

func (l *fakeLog) Refusal() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	return l.disk.refusal
}

func (l *fakeLog) Append(records []machine.Record, group []machine.Write, done func(error)) {
	l.append(&pending{log: l, records: slices.Clone(records), group: slices.Clone(group), done: done})
}

func (l *fakeLog) AppendLent(records []machine.Record, group []machine.Write, lent []Log, done func(error)) error {
	p := &pending{log: l, records: slices.Clone(records), group: slices.Clone(group), done: done}
	for _, other := range lent {
		p.lent = append(p.lent, other.(*fakeLog))
	}
	l.disk.mu.Lock()
	refused := l.disk.refused
	l.disk.mu.Unlock()
	if refused != nil {
		return refused
	}
	l.append(p)
	return nil
}

func (l *fakeLog) append(p *pending) {
	l.disk.mu.Lock()
	quick := l.disk.quick
	if quick {
		l.disk.commit(p)
	} else {
		l.disk.waiting = append(l.disk.waiting, p)
	}
	l.disk.mu.Unlock()
	if quick {
		p.done(nil)
	}
}

// house is a coordinator of toys with its disk.
type house struct {
	t    *testing.T
	disk *disk
	cfg  Config
	*Coordinator
	logs lines

	mu    sync.Mutex // guards what follows
	calls []*asked
	toys  map[int32]*toy // the last of each shard
	order []string       // of answers
}

// asked is one call and what has become of it.
type asked struct {
	name  string
	value any
	err   error
	told  int
	early bool
	after []error // of an early one: what it was told when it was durable or lost
}

// inHouse runs a test in a bubble, on a coordinator of so many shards and one worker. Everybody must be answered once in the
// end.
func inHouse(t *testing.T, shards int, prepare func(*house), test func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: newDisk(), toys: map[int32]*toy{}}
		h.cfg = Config{
			Shards: shards, Workers: 1, Open: h.disk.open, Logger: slog.New(slog.NewTextHandler(&h.logs, nil)),
			Machine: func(shard int32) machine.Machine {
				y := newToy()
				h.mu.Lock()
				defer h.mu.Unlock()
				h.toys[shard] = y
				return y
			},
		}
		if prepare != nil {
			prepare(h)
		}
		h.Coordinator = Open(h.cfg)
		t.Cleanup(func() { // when the test has failed
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = h.Shutdown(ended)
		})
		synctest.Wait()
		test(h)
		h.shut()
		h.expectAllAnswered()
	})
}

// shut ends the coordinator; what the disk has is settled.
func (h *house) shut() {
	h.t.Helper()
	ended := make(chan error)
	go func() { ended <- h.Shutdown(context.Background()) }()
	synctest.Wait()
	for h.disk.pending() > 0 {
		h.disk.settle(1, nil)
		synctest.Wait()
	}
	if err := <-ended; err != nil {
		h.t.Errorf("shutting down: %v", err)
	}
}

// ask gives a shard an input.
func (h *house) ask(shard int32, name string, in any) *asked {
	a := h.asking(name)
	h.Do(shard, in, h.tells(a))
	return a
}

// askEarly does not wait for the disk.
func (h *house) askEarly(shard int32, name string, in any) *asked {
	a := h.asking(name)
	a.early = true
	h.DoEarly(shard, in, h.tells(a), func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if a.told == 0 {
			h.t.Errorf("%s hears that it is durable before it is answered", name)
		}
		a.after = append(a.after, err)
	})
	return a
}

// asking notes somebody who is about to ask, tells what he is told.
func (h *house) asking(name string) *asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &asked{name: name}
	h.calls = append(h.calls, a)
	return a
}

func (h *house) tells(a *asked) func(any, error) {
	return func(value any, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		a.value, a.err = value, err
		a.told++
		h.order = append(h.order, a.name)
	}
}

// asks is ask, and waits until nothing moves.
func (h *house) asks(name string, in any) *asked {
	a := h.ask(0, name, in)
	synctest.Wait()
	return a
}

// expect checks what has been answered up to now, in order.
func (h *house) expect(names ...string) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.order, names) {
		h.t.Fatalf("answered: %v, want %v", h.order, names)
	}
}

func (h *house) expectAnswer(a *asked, value any, err error) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.told != 1 || a.value != value || !errors.Is(a.err, err) {
		h.t.Fatalf("%s was told %d times: %v, %v; want %v, %v", a.name, a.told, a.value, a.err, value, err)
	}
}

// expectAllAnswered checks that nobody is lost and nobody was told twice.
func (h *house) expectAllAnswered() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.calls {
		if a.told != 1 {
			h.t.Errorf("%s was told %d times", a.name, a.told)
		}
		if want := map[bool]int{true: 1}[a.early && a.err == nil]; len(a.after) != want {
			h.t.Errorf("%s was told %v afterwards", a.name, a.after)
		}
	}
}

func (h *house) toy(shard int32) *toy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.toys[shard]
}

// pass lets time pass.
func (h *house) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// lines keeps what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}
