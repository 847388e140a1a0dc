package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/stops"
	"github.com/skeinstream/skein/interop/proc"
)

// leavePatience is how long a member may take to leave.
const leavePatience = 30 * time.Second

// process is a member in a process of its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	child *proc.Piped
	seen  *observer
	read  chan struct{} // closed when its output has ended
	ended bool
}

func startProcess(o *observer, dir, name string, cmd *exec.Cmd) (*process, error) {
	child, err := proc.StartPiped(cmd, name, filepath.Join(dir, name+".stderr"))
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, child: child, seen: o, read: make(chan struct{})}
	go p.listen()
	return p, nil
}

// listen reads events until the process has ended.
func (p *process) listen() {
	defer close(p.read)
	lines := bufio.NewScanner(p.child.Output)
	for lines.Scan() {
		e, err := parse(lines.Text())
		if err != nil {
			p.seen.fail(fmt.Errorf("%s: %w", p.name, err))
			continue
		}
		e.Member = p.name
		p.seen.add(e)
	}
	_, _ = io.Copy(io.Discard, p.child.Output) // after a line that is too long
}

// parse reads what a member says; package member tells the form.
func parse(line string) (e stops.Event, err error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return e, fmt.Errorf("it said %q", line)
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	e.At, e.Kind = time.Duration(at), stops.Kind(words[1])
	for word := range strings.SplitSeq(words[2], ",") {
		p, wrong := strconv.ParseInt(word, 10, 32)
		if wrong != nil {
			err = wrong
		}
		e.Partitions = append(e.Partitions, int32(p))
	}
	if e.Kind == stops.Handled && err == nil {
		_, err = fmt.Sscan(strings.Join(words[3:], " "), &e.First, &e.Last)
	}
	if err != nil {
		return e, fmt.Errorf("it said %q: %w", line, err)
	}
	return e, nil
}

// leave has the member leave, and waits for its end.
func (p *process) leave(ctx context.Context) error {
	p.child.Input.Close()
	timer := time.NewTimer(leavePatience)
	defer timer.Stop()
	select {
	case <-p.read:
		if err := p.wait(); err != nil {
			return fmt.Errorf("%s ended: %w: %s", p.name, err, p.said())
		}
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	p.kill()
	return fmt.Errorf("%s does not end: %s", p.name, p.said())
}

// kill is kill -9.
func (p *process) kill() {
	if p.ended {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.read
	_ = p.wait()
}

func (p *process) wait() error {
	err := p.cmd.Wait()
	p.ended = true
	p.child.Errors.Close()
	p.seen.add(stops.Event{At: machine.Monotonic(), Member: p.name, Kind: stops.Ended})
	return err
}

// said is the end of what it wrote to standard error.
func (p *process) said() string {
	text, _ := os.ReadFile(p.child.Errors.Name())
	return strings.TrimSpace(string(text[max(0, len(text)-1500):]))
}
