package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// processes is a Crew of processes: this program once more, as a worker.
type processes struct {
	self   string
	args   []string // without the worker's name
	errors io.Writer

	mu      sync.Mutex
	running map[string]*process
	failed  chan error
}

type process struct {
	cmd   *exec.Cmd
	leash io.Closer // the worker ends when its standard input does, so that it outlives nobody
	told  bool      // that it is to end
	done  chan struct{}
}

// endTimeout is how long a worker may take to end in peace: more than exactlyonce.Run does.
const endTimeout = 40 * time.Second

func (c *processes) Start(name string) error {
	cmd := exec.Command(c.self, append([]string{"-worker", name}, c.args...)...)
	cmd.Stderr = c.errors
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{cmd: cmd, leash: leash, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[name] = p
	go c.waits(name, p)
	return nil
}

func (c *processes) waits(name string, p *process) {
	defer close(p.done)
	err := p.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.told {
		select {
		case c.failed <- fmt.Errorf("%s has ended by itself (%v): its own message is above", name, err):
		default: // one is enough
		}
	}
}

// tells takes note that a worker is to end.
func (c *processes) tells(name string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.running[name]
	p.told = true
	delete(c.running, name)
	return p
}

func (c *processes) Kill(name string) {
	p := c.tells(name)
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

func (c *processes) Failed() <-chan error { return c.failed }

func (c *processes) End() (err error) {
	c.mu.Lock()
	var all []string
	for name := range c.running {
		all = append(all, name)
	}
	c.mu.Unlock()
	var ending []*process
	for _, name := range all {
		p := c.tells(name)
		_ = p.leash.Close()
		ending = append(ending, p)
	}
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	for _, p := range ending {
		select {
		case <-p.done:
		case <-late.C:
			late.Reset(0)
			err = errors.Join(err, fmt.Errorf("process %d does not end: it is killed", p.cmd.Process.Pid), p.cmd.Process.Kill())
			<-p.done
		}
	}
	return err
}

// leashed is a context that ends when standard input does. The goroutine lives as long as the process, whose only reader it is.
func leashed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
