package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/recordtext"
	"github.com/skeinstream/skein/consumer"
)

// groupEvent is one line about a member's life. Which fields there are depends on Event.
type groupEvent struct {
	Event      string             `json:"event"`
	Time       time.Time          `json:"time"`
	Group      string             `json:"group"`
	Member     string             `json:"member"`
	Generation int32              `json:"generation"`
	Protocol   string             `json:"protocol,omitempty"` // EAGER, COOPERATIVE
	Assignor   string             `json:"assignor,omitempty"`
	Leader     *bool              `json:"leader,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Offered    []string           `json:"offered,omitempty"`
	GroupRuns  []string           `json:"group_runs,omitempty"`
	Added      *int               `json:"added,omitempty"`
	Revoked    *int               `json:"revoked,omitempty"`
	Dropped    *int               `json:"dropped,omitempty"` // partitions that are given up, or lost
	Partitions *groups.Partitions `json:"partitions,omitempty"`
	Offsets    []committedOffset  `json:"offsets,omitempty"`
	Gap        *groupGap          `json:"gap,omitempty"`
	Error      string             `json:"error,omitempty"`
	Records    *int64             `json:"records,omitempty"` // printed in all
}

type committedOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// groupGap is what was skipped: the log does not hold it any more.
type groupGap struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
}

const (
	eagerText       = "EAGER"
	cooperativeText = "COOPERATIVE"
)

func protocolText(cooperative bool) string {
	if cooperative {
		return cooperativeText
	}
	return eagerText
}

// eventWriter prints records and events. Records and the listener's events come of the goroutine that polls, and are written at
// once, in order; the hooks' come of others, which must not wait: they queue, and are written before the next of the former, or as
// soon as the printing goroutine can. With --json events are lines between those of records, else notices.
type eventWriter struct {
	json    bool
	group   string
	now     func() time.Time
	encode  func(io.Writer, any) error
	notices io.Writer
	write   recordtext.Writer

	mu      sync.Mutex // out and what follows
	out     *bufio.Writer
	buf     []byte
	failed  error
	records int64

	queue      sync.Mutex // what follows
	waiting    []groupEvent
	member     string
	generation int32
	more       chan struct{} // holds one when something waits
}

func newEventWriter(a *app, write recordtext.Writer, out *bufio.Writer, group string) *eventWriter {
	return &eventWriter{
		json: a.json, group: group, now: a.env.Now, encode: a.encodeLine, notices: a.notices(), write: write, out: out, generation: -1,
		more: make(chan struct{}, 1),
	}
}

// printer is the goroutine that writes what waits.
type printer struct {
	end  context.CancelFunc
	done sync.WaitGroup
}

func (p *printer) stop() {
	p.end()
	p.done.Wait()
}

func (w *eventWriter) start() *printer {
	ctx, end := context.WithCancel(context.Background())
	p := &printer{end: end}
	p.done.Go(func() {
		for {
			select {
			case <-w.more:
				w.drain()
			case <-ctx.Done():
				w.drain()
				return
			}
		}
	})
	return p
}

// tell queues an event.
func (w *eventWriter) tell(e groupEvent) {
	w.queue.Lock()
	e.Time, e.Group = w.now().UTC(), w.group
	w.member, w.generation = cmp.Or(e.Member, w.member), max(e.Generation, w.generation)
	e.Member, e.Generation = w.member, w.generation
	w.waiting = append(w.waiting, e)
	w.queue.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// drain writes what waits, and has it go out at once.
func (w *eventWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainLocked()
	w.flushLocked()
}

func (w *eventWriter) drainLocked() {
	w.queue.Lock()
	list := w.waiting
	w.waiting = nil
	w.queue.Unlock()
	for _, e := range list {
		switch {
		case w.failed != nil:
		case w.json:
			w.fail(w.encode(w.out, e))
		default:
			if text := e.text(); text != "" {
				fmt.Fprintf(w.notices, "skein: %s\n", text)
			}
		}
	}
}

func (w *eventWriter) flushLocked() {
	if w.failed == nil {
		w.fail(w.out.Flush())
	}
}

func (w *eventWriter) fail(err error) {
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("writing the output: %w", err)
	}
}

// record writes one; flush has it go out.
func (w *eventWriter) record(r *consumer.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainLocked()
	w.buf = w.write(w.buf[:0], r)
	if w.failed == nil {
		_, err := w.out.Write(w.buf)
		w.fail(err)
	}
	w.records++
	return w.failed
}

func (w *eventWriter) flush() error {
	w.drain()
	return w.err()
}

func (w *eventWriter) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// closed is the last line of a clean end.
func (w *eventWriter) closed() error {
	w.mu.Lock()
	records := w.records
	w.mu.Unlock()
	w.tell(groupEvent{Event: "closed", Records: &records})
	return w.flush()
}

// listener tells of partitions that come and go. Its lines are out before it returns: what is revoked here is nobody else's yet.
func (w *eventWriter) listener() consumer.Listener {
	say := func(event string) func(context.Context, consumer.Rebalance) error {
		return func(_ context.Context, r consumer.Rebalance) error {
			partitions := groups.Partitions{}
			for _, p := range r.Partitions {
				partitions.Add(p.Topic, p.Partition)
			}
			w.tell(groupEvent{Event: event, Generation: r.Generation, Partitions: &partitions})
			return w.flush()
		}
	}
	return consumer.Listener{Revoked: say("revoked"), Assigned: say("assigned"), Lost: say("lost")}
}

func (w *eventWriter) hooks() consumer.Hooks {
	return consumer.Hooks{
		Event: func(e consumer.Event) { w.tell(rebalanceEvent(e)) },
		Commit: func(offsets consumer.Offsets, err error) {
			e := groupEvent{Event: "committed", Offsets: committedOffsets(offsets)}
			if err != nil {
				e.Error = err.Error()
			}
			w.tell(e)
		},
		Gap: func(g consumer.Gap) {
			w.tell(groupEvent{Event: "gap", Gap: &groupGap{g.Topic, g.Partition, g.From, g.To}})
		},
	}
}

func committedOffsets(offsets consumer.Offsets) (list []committedOffset) {
	for _, p := range slices.SortedFunc(maps.Keys(offsets), consumer.TopicPartition.Compare) {
		list = append(list, committedOffset{p.Topic, p.Partition, offsets[p].At})
	}
	return list
}

func rebalanceEvent(e consumer.Event) groupEvent {
	out := groupEvent{
		Event: eventName(e.Kind), Member: e.Member, Generation: e.Generation, Assignor: e.Assignor, Reason: e.Reason,
		Offered: e.Offered, GroupRuns: e.Group,
	}
	switch e.Kind {
	case consumer.Joined:
		out.Protocol, out.Leader = protocolText(e.Cooperative), &e.Leader
	case consumer.Completed:
		out.Protocol, out.Leader, out.Added, out.Revoked = protocolText(e.Cooperative), &e.Leader, &e.Added, &e.Revoked
	case consumer.Switched:
		out.Protocol = protocolText(e.Cooperative)
	case consumer.Yielded, consumer.Expelled, consumer.ShortCircuit, consumer.Withheld:
		out.Dropped = &e.Dropped
	case consumer.Rejoining, consumer.Adopted:
	}
	return out
}

func eventName(k consumer.EventKind) string {
	names := map[consumer.EventKind]string{
		consumer.Rejoining: "rejoining", consumer.Joined: "joined", consumer.Completed: "completed", consumer.Yielded: "yielded",
		consumer.Adopted: "adopted", consumer.Switched: "switched", consumer.Expelled: "expelled", consumer.ShortCircuit: "short_circuit",
		consumer.Withheld: "withheld",
	}
	return cmp.Or(names[k], fmt.Sprintf("event_%d", k))
}
