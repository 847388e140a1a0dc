package exactlyonce

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/skeinstream/skein/interop/proc"
)

// worker is a client in a process of its own that reads inputs as a member of a
// group, and writes an output for each and the group's offsets in one
// transaction. Its arguments are the bootstrap address, group, input topic, its
// name, assignor, instance id ("-": a dynamic member), session timeout and heartbeat interval in milliseconds,
// output topic, how many partitions topics have, transactional id, transaction
// timeout in milliseconds, and the fence: "group" has the group's metadata in
// its transactions (KIP-447), about all that the member reads; "partition"
// has one producer for each partition of the input, whose number is put behind
// the transactional id: who takes the partition over fences it.
//
// It takes at most 20 inputs into a transaction, writes each as judge.go
// describes, waits 20 ms before it gives offsets and 20 ms before the end, so
// that kills meet it in every state, aborts every sixth and handles its inputs
// again. It says a line each: a stamp in microseconds, and "began ATTEMPT SIZE",
// before anything is sent, "ending ATTEMPT", "committed ATTEMPT" or "aborted
// ATTEMPT"; where it does not know which, nothing. "gaveup WHY": the client
// cannot go on, as after it was fenced; it ends and another is started.
// "failed WHY": what must not be. When its standard input ends it leaves.
type worker struct {
	name   string
	cmd    *exec.Cmd
	input  io.Closer
	errors *os.File
	over   chan struct{} // closed when the process is gone
	err    error         // how it ended, set before over is closed
}

type kind string

const (
	began     kind = "began"
	ending    kind = "ending"
	committed kind = "committed"
	aborted   kind = "aborted"
	handled   kind = "handled" // by a client that does not tell of transactions, now and then
	gaveUp    kind = "gaveup"
)

func startWorker(seen *observer, dir, name string, cmd *exec.Cmd) (*worker, error) {
	said, err := os.Create(filepath.Join(dir, name+".stdout"))
	if err != nil {
		return nil, err
	}
	p, err := proc.StartPiped(cmd, name, errorsOf(dir, name))
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: cmd, input: p.Input, errors: p.Errors, over: make(chan struct{})}
	go w.listen(p.Output, said, seen)
	return w, nil
}

// listen reads what it says until the process has ended.
func (w *worker) listen(output io.Reader, said io.WriteCloser, seen *observer) {
	defer said.Close()
	lines := bufio.NewScanner(io.TeeReader(output, said))
	for lines.Scan() {
		if err := seen.hear(w.name, lines.Text()); err != nil {
			seen.fail("%s: %v", w.name, err)
		}
	}
	w.err = w.cmd.Wait()
	w.errors.Close()
	close(w.over)
	seen.tell()
}

func (w *worker) ended() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// kill is kill -9.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	<-w.over
}

// freeze stops the process where it is, thaw has it go on.
func (w *worker) freeze() error { return w.cmd.Process.Signal(syscall.SIGSTOP) }
func (w *worker) thaw() error   { return w.cmd.Process.Signal(syscall.SIGCONT) }

// leave asks it to end as its users would.
func (w *worker) leave() { w.input.Close() }

// said is the end of what it wrote to standard error.
func (w *worker) said() string { return said(filepath.Dir(w.errors.Name()), w.name) }

func said(dir, worker string) string {
	text, _ := os.ReadFile(errorsOf(dir, worker))
	return strings.TrimSpace(string(text[max(0, len(text)-3000):]))
}

func errorsOf(dir, worker string) string { return filepath.Join(dir, worker+".stderr") }

// settings are what a worker is told, but for who it is.
type settings struct {
	job                   job
	addr, assignor, fence string
	instance              string // empty: a dynamic member
}

// job is what a group is for: it reads one topic and writes another.
type job struct{ group, input, output string }

func (s settings) arguments(name, transactionalID string, timeout time.Duration) []string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return []string{s.addr, s.job.group, s.job.input, name, s.assignor, cmp.Or(s.instance, "-"), ms(session), ms(heartbeat),
		s.job.output, strconv.Itoa(partitions), transactionalID, ms(timeout), s.fence}
}

// commandFor is a program with the arguments of a worker.
type commandFor func(ctx context.Context, args ...string) (*exec.Cmd, error)
