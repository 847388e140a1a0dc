package member

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/skeinstream/skein/interop/proc"
)

// Process is a client in a process of its own. Its arguments are the bootstrap
// address, group, topic, client id, assignors with commas between them, instance
// id ("-": a dynamic member), session timeout and heartbeat interval in
// milliseconds. What it does it says on standard output, one line an event: a
// stamp in microseconds, the kind, and what belongs to it. When its standard
// input ends it commits, says which partitions it gives up, leaves the group,
// and ends.
type Process struct {
	name   string
	cmd    *exec.Cmd
	input  io.Closer
	errors *os.File
	seen   *Observer
	hear   func(line string) ([]Event, error)
	signal bool          // it is asked to end by SIGTERM
	read   chan struct{} // closed when its output has ended
	ended  bool
}

// Arguments are those of a member's program.
type Arguments struct {
	Addr, Group, Topic, Name, Assignors string
	Instance                            string // empty: a dynamic member
	Session, Heartbeat                  time.Duration
}

// List is the arguments as the program gets them.
func (a Arguments) List() []string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return []string{a.Addr, a.Group, a.Topic, a.Name, a.Assignors, cmp.Or(a.Instance, "-"), ms(a.Session), ms(a.Heartbeat)}
}

// Patience only ends a hang: on a busy machine, a Java client alone may take more than a minute to start.
const Patience = 4 * time.Minute

// Start starts a member, which writes what is no event into dir, and lets the
// observer hear it.
func (c Client) Start(ctx context.Context, o *Observer, dir string, a Arguments) (*Process, error) {
	cmd, err := c.Command(ctx, a.List()...)
	if err != nil {
		return nil, err
	}
	hear := parse
	if c.json {
		hear = new(jsonReader).read
	}
	name := a.Name
	p, err := proc.StartPiped(cmd, name, filepath.Join(dir, name+".stderr"))
	if err != nil {
		return nil, err
	}
	m := &Process{name: name, cmd: cmd, input: p.Input, errors: p.Errors, seen: o, hear: hear, signal: c.json, read: make(chan struct{})}
	o.Add(Event{At: Now(), Member: name, Kind: Revoked}) // it is there
	go m.listen(p.Output)
	return m, nil
}

// listen reads events until the process has ended.
func (m *Process) listen(output io.Reader) {
	defer close(m.read)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		events, err := m.hear(lines.Text())
		if err != nil {
			m.seen.Fail("%s: %v", m.name, err)
		}
		for _, e := range events {
			e.Member = m.name
			m.seen.Add(e)
		}
	}
}

// Stop has the member leave, as its users would, and waits for its end.
func (m *Process) Stop(ctx context.Context) error {
	m.seen.Add(Event{At: Now(), Member: m.name, Kind: Leaving})
	m.input.Close()
	if m.signal {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-m.read:
	case <-time.After(Patience):
		m.Kill()
		return fmt.Errorf("%s does not end: %s", m.name, m.Said())
	case <-ctx.Done():
		m.Kill()
		return ctx.Err()
	}
	if err := m.wait(); err != nil {
		return fmt.Errorf("%s ended: %w: %s", m.name, err, m.Said())
	}
	return nil
}

// Kill is kill -9.
func (m *Process) Kill() {
	if m.ended {
		return
	}
	_ = m.cmd.Process.Kill()
	<-m.read
	_ = m.wait()
}

func (m *Process) wait() error {
	err := m.cmd.Wait()
	m.ended = true
	m.errors.Close()
	m.seen.Add(Event{At: Now(), Member: m.name, Kind: Ended})
	return err
}

// Said is the end of what it wrote to standard error.
func (m *Process) Said() string {
	text, _ := os.ReadFile(m.errors.Name())
	return string(text[max(0, len(text)-3000):])
}
