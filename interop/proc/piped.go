package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Piped is a child that is spoken with: its standard input and output are pipes.
// What it writes to standard error is kept in a file, which who started it closes
// when it has ended.
type Piped struct {
	Input  io.WriteCloser
	Output io.Reader // to be read to its end before the child is waited for
	Errors *os.File
}

// StartPiped runs cmd, which is called name in errors, with its standard error in
// the file logName.
func StartPiped(cmd *exec.Cmd, name, logName string) (*Piped, error) {
	f, err := os.Create(logName)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	p := &Piped{Errors: f}
	if err := p.start(cmd); err != nil {
		f.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

func (p *Piped) start(cmd *exec.Cmd) (err error) {
	cmd.Stderr = p.Errors
	if p.Input, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if p.Output, err = cmd.StdoutPipe(); err != nil {
		return err
	}
	return cmd.Start()
}
