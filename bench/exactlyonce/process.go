package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/exactlyonce/worker"
	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/interop/proc"
)

// leavePatience is how long a worker may take to leave.
const leavePatience = 30 * time.Second

// process is a worker in a process of its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	child *proc.Piped
	ended chan struct{} // closed when it has
	err   error         // how, set before
}

// startProcess starts a worker; whoever started it has it leave, or kills it. If
// it ends before, over is told.
func startProcess(dir, name string, cmd *exec.Cmd, over context.CancelCauseFunc) (*process, error) {
	child, err := proc.StartPiped(cmd, name, filepath.Join(dir, name+".stderr"))
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, child: child, ended: make(chan struct{})}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, child.Output)
		p.err = cmd.Wait()
		child.Errors.Close()
		close(p.ended)
		over(fmt.Errorf("%s has ended: %v: %s", name, p.err, p.said()))
	}()
	return p, nil
}

// id is the process, to be measured.
func (p *process) id() machine.Process { return machine.Process(p.cmd.Process.Pid) }

// leave has the worker leave, and waits for its end.
func (p *process) leave() error {
	p.child.Input.Close()
	timer := time.NewTimer(leavePatience)
	defer timer.Stop()
	select {
	case <-p.ended:
		if p.err != nil {
			return fmt.Errorf("%s ended: %w: %s", p.name, p.err, p.said())
		}
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s does not end: %s", p.name, p.said())
	}
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// said is the end of what it wrote to standard error.
func (p *process) said() string {
	text, _ := os.ReadFile(p.child.Errors.Name())
	return strings.TrimSpace(string(text[max(0, len(text)-1500):]))
}

// crew are the workers of a group.
type crew struct {
	ctx     context.Context // ends with the first of them
	cancel  context.CancelCauseFunc
	workers []*process
}

// job is what a crew does.
type job struct {
	addr, group, input, output string
	interval                   time.Duration
}

// hire starts so many workers at once. Each writes a processor profile to the
// directory profiles, if there is one.
func hire(ctx context.Context, dir, profiles string, c client, j job, count int) (*crew, error) {
	all := &crew{}
	all.ctx, all.cancel = context.WithCancelCause(ctx)
	for i := range count {
		name := fmt.Sprintf("%s-w%d", j.group, i+1)
		cmd, err := c.command(ctx, j.addr, j.group, j.input, j.output, name, c.mode, fmt.Sprint(j.interval.Milliseconds()))
		if err != nil {
			return nil, errors.Join(err, all.dismiss())
		}
		if profiles != "" {
			cmd.Env = append(os.Environ(), worker.ProfileEnv+"="+filepath.Join(profiles, fmt.Sprintf("%s-%s.pprof", c.mode, name)))
		}
		p, err := startProcess(dir, name, cmd, all.cancel)
		if err != nil {
			return nil, errors.Join(err, all.dismiss())
		}
		all.workers = append(all.workers, p)
	}
	return all, nil
}

// dismiss has all workers leave, and waits for them.
func (c *crew) dismiss() (err error) {
	defer c.cancel(nil)
	for _, p := range c.workers {
		p.child.Input.Close()
	}
	for _, p := range c.workers {
		err = errors.Join(err, p.leave())
	}
	return err
}

// why is the error that a step of a crew's work has ended with, with what ended
// the crew, if anything did.
func (c *crew) why(err error) error {
	if cause := context.Cause(c.ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// used is the processor time of all workers so far.
func (c *crew) used() (all time.Duration, _ error) {
	for _, p := range c.workers {
		d, err := p.id().CPU()
		if err != nil {
			return 0, err
		}
		all += d
	}
	return all, nil
}

// resident is the memory of all workers, in bytes.
func (c *crew) resident() (all int64, _ error) {
	for _, p := range c.workers {
		n, err := p.id().Resident()
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}
