package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/interop/proc"
)

// program is a client program that takes commands on its standard input; the
// protocol is told in clients/python/protocol.py.
type program struct {
	name    string
	cmd     *exec.Cmd
	input   io.WriteCloser
	answers chan string
	errors  *os.File
}

// startProgram runs cmd; what it writes to standard error is kept in dir.
func startProgram(name, dir string, cmd *exec.Cmd) (*program, error) {
	child, err := proc.StartPiped(cmd, name, filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	p := &program{name: name, cmd: cmd, input: child.Input, answers: make(chan string), errors: child.Errors}
	go func() {
		lines := bufio.NewScanner(child.Output)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.answers <- lines.Text()
		}
		close(p.answers)
	}()
	return p, nil
}

func (p *program) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	return p.do(ctx, "produce", bootstrap, topic, codec, file)
}

func (p *program) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	return p.do(ctx, "consume", bootstrap, topic, strconv.Itoa(count), file)
}

func (p *program) do(ctx context.Context, command ...string) error {
	if _, err := io.WriteString(p.input, strings.Join(command, "\t")+"\n"); err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, p.said())
	}
	select {
	case answer, running := <-p.answers:
		if !running {
			return fmt.Errorf("%s ended: %s", p.name, p.said())
		}
		return p.judge(answer)
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: %w: %s", p.name, command[0], ctx.Err(), p.said())
	}
}

func (p *program) judge(answer string) error {
	word, why, _ := strings.Cut(answer, " ")
	switch word {
	case "ok":
		return nil
	case "lacks":
		return fmt.Errorf("%w: %s", ErrLacks, why)
	default:
		return fmt.Errorf("%s: %s", p.name, answer)
	}
}

// said is the end of what the program wrote to standard error.
func (p *program) said() string {
	text, _ := os.ReadFile(p.errors.Name())
	text = bytes.TrimSpace(text)
	return string(text[max(0, len(text)-1500):])
}

func (p *program) Close() error {
	p.input.Close()
	ended := make(chan error, 1)
	go func() {
		for range p.answers { // unblock the reader until the output ends
		}
		ended <- p.cmd.Wait()
	}()
	defer p.errors.Close()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
		return errors.Join(p.cmd.Process.Kill(), <-ended)
	}
}

// renewed is a client whose program is started anew after a failure, which
// leaves it broken.
type renewed struct {
	open func() (Conn, error)
	conn Conn
}

func (r *renewed) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	return r.do(func() error { return r.conn.Produce(ctx, bootstrap, topic, codec, file) })
}

func (r *renewed) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	return r.do(func() error { return r.conn.Consume(ctx, bootstrap, topic, count, file) })
}

func (r *renewed) do(command func() error) error {
	if r.conn == nil {
		conn, err := r.open()
		if err != nil {
			return err
		}
		r.conn = conn
	}
	err := command()
	if err != nil {
		err = errors.Join(err, r.Close())
	}
	return err
}

func (r *renewed) Close() error {
	if r.conn == nil {
		return nil
	}
	err := r.conn.Close()
	r.conn = nil
	return err
}
