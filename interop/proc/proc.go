// Package proc runs the brokers and client programs of the interop tests as
// child processes: started, watched until ready, and ended by their own id.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child whose output goes to a file and is searched for the line
// that says it is ready.
type Process struct {
	cmd   *exec.Cmd
	log   *watcher
	ended chan struct{}
	err   error // set before ended is closed
}

// Start runs cmd with its output collected in the file logName.
func Start(cmd *exec.Cmd, logName string) (*Process, error) {
	f, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, log: newWatcher(f), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		f.Close()
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	go func() {
		p.err = cmd.Wait()
		f.Close()
		close(p.ended)
	}()
	return p, nil
}

// Await waits until the output since the start holds text, and returns the
// line it stands in.
func (p *Process) Await(ctx context.Context, text string) (string, error) {
	found := p.log.await(text)
	select {
	case line := <-found:
		return line, nil
	case <-p.ended:
		return "", fmt.Errorf("%s ended before %q: %v; its last output:\n%s", filepath.Base(p.cmd.Path), text, p.err, p.log.tail())
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for %q from %s: %w; its last output:\n%s", text, filepath.Base(p.cmd.Path), ctx.Err(), p.log.tail())
	}
}

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Tail is the last piece of the child's output.
func (p *Process) Tail() string { return p.log.tail() }

// Kill ends the child at once, as a crash would, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Stop asks the child to end (SIGTERM), waits as long as patience, then kills
// it. It returns an error when the child had to be killed or said it failed.
func (p *Process) Stop(patience time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		var exit *exec.ExitError
		if errors.As(p.err, &exit) && exit.ExitCode() == 128+int(syscall.SIGTERM) {
			return nil // the way a JVM says that it obeyed
		}
		return p.err
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM", filepath.Base(p.cmd.Path), patience)
	}
}

// Output runs cmd to its end and returns its standard output; on failure the
// error carries the end of what it printed.
func Output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("running %s: %w: %s", filepath.Base(cmd.Path), err, lastBytes(out.String()+errs.String(), 2000))
	}
	return out.String(), nil
}

// PortTaken says that the child has ended, or is about to, since somebody has
// the port that it was to listen on.
func (p *Process) PortTaken() bool {
	return strings.Contains(strings.ToLower(p.log.tail()), "address already in use")
}

// FreePort is a TCP port of the loopback interface that was free a moment ago.
// Somebody may take it before it is used, for a connection if for nothing else:
// whoever can has the child choose, or tries again when it is PortTaken.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func lastBytes(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// watcher passes output on to a file, keeps its end, and looks for lines.
type watcher struct {
	file *os.File

	mu      sync.Mutex
	partial []byte
	lines   []string
	waits   []wait
}

type wait struct {
	text  string
	found chan string
}

func newWatcher(f *os.File) *watcher { return &watcher{file: f} }

func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, b...)
	for {
		i := bytes.IndexByte(w.partial, '\n')
		if i < 0 {
			break
		}
		w.addLine(string(w.partial[:i]))
		w.partial = w.partial[i+1:]
	}
	return w.file.Write(b)
}

func (w *watcher) addLine(line string) {
	w.lines = append(w.lines, line)
	if len(w.lines) > 4000 {
		w.lines = append([]string(nil), w.lines[2000:]...)
	}
	kept := w.waits[:0]
	for _, x := range w.waits {
		if strings.Contains(line, x.text) {
			x.found <- line
		} else {
			kept = append(kept, x)
		}
	}
	w.waits = kept
}

func (w *watcher) await(text string) <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := wait{text: text, found: make(chan string, 1)}
	for _, line := range w.lines {
		if strings.Contains(line, text) {
			x.found <- line
			return x.found
		}
	}
	w.waits = append(w.waits, x)
	return x.found
}

func (w *watcher) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines[max(0, len(w.lines)-40):], "\n")
}
