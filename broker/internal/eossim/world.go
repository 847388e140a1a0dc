package eossim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
	"github.com/skeinstream/skein/internal/vfs"
)

// Broker is what is simulated around.
type Broker interface {
	Dial(ctx context.Context) (net.Conn, error)
	Shutdown(ctx context.Context) error
	Err() error
}

// Open opens a broker on files.
type Open func(files vfs.FS, settings map[string]string, random io.Reader) (Broker, error)

// Result is one run.
type Result struct {
	Seed       uint64
	History    *history.History
	Violations []history.Violation
	Problems   []error // the run itself went wrong: a broker that does not open, a client that makes no progress
	Hash       string  // of everything that every client has sent and got, and when
	Crashes    int
	clients    []*trace
}

// Failed says whether there is anything to report.
func (r *Result) Failed() bool { return len(r.Violations)+len(r.Problems) > 0 }

// world is a run: one broker after the other, and everybody around them.
type world struct {
	seed  uint64
	plan  *plan
	open  Open
	began time.Time
	work  sync.WaitGroup // everything that was started
	calm  atomic.Bool    // nothing is lost any more, and nobody crashes
	fed   atomic.Bool    // the inputs are complete
	over  atomic.Bool    // readers are to stop

	mu       sync.Mutex // guards what follows
	line     *line      // to the broker; nil while there is none
	h        history.History
	traces   []*trace
	problems []error
	crashes  int
	last     *disk // of the broker that is there now
}

// line is what connects clients with one broker. When it is cut they hear no more of it.
type line struct {
	broker Broker
	cut    atomic.Bool

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

// now is the time of the run.
func (w *world) now() time.Duration { return time.Since(w.began) }

// dice are loaded by the seed for one place.
func (w *world) dice(place string, number int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(place) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h+uint64(number)*0x9e3779b97f4a7c15))
}

// know changes the history.
func (w *world) know(change func(h *history.History)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.h)
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Errorf("at %v: "+format, append([]any{w.now()}, args...)...))
}

// trouble says whether the run has gone wrong already.
func (w *world) trouble() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.problems) > 0
}

// start opens a broker on what is left of a disk.
func (w *world) start(memory *vfs.Memory, number int) bool {
	d := newDisk(memory, func(name string) *rand.Rand { return w.dice("disk "+name, number) }, w.plan.slow)
	b, err := w.open(d, w.plan.settings(), &source{dice: w.dice("ids", number)})
	if err != nil {
		w.problem("opening broker %d: %w", number, err)
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = d
	w.line = &line{broker: b, conns: map[net.Conn]bool{}}
	w.h.Starts = append(w.h.Starts, w.now())
	return true
}

// source is random bytes.
type source struct {
	mu   sync.Mutex // guards dice
	dice *rand.Rand
}

func (s *source) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range b {
		b[i] = byte(s.dice.Uint32())
	}
	return len(b), nil
}

// there is the line to the broker, nil while there is none.
func (w *world) there() *line {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.line
}

// connect makes a connection, nil when there is no broker.
func (w *world) connect() (net.Conn, *line) {
	l := w.there()
	if l == nil || l.cut.Load() {
		return nil, nil
	}
	conn, err := l.broker.Dial(context.Background())
	if err != nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn] = true
	return conn, l
}

// hangUp ends a connection, which happens on the client's side.
func (l *line) hangUp(conn net.Conn) {
	l.mu.Lock()
	delete(l.conns, conn)
	l.mu.Unlock()
	_ = conn.Close()
}

// end ends all connections.
func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.Close()
	}
	clear(l.conns)
}
