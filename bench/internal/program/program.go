// Package program is how each command of this module begins and ends.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command until it is done, or until somebody interrupts it, and ends the process if it fails. To be asked for
// help is no failure.
func Main(name string, run func(ctx context.Context, args []string, out, progress io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Child runs, if the command line begins with verb, what the command does as a child of its own, and reports whether it was one. It
// ends the process if that fails.
func Child(verb string, run func(args []string) error) bool {
	if len(os.Args) < 2 || os.Args[1] != verb {
		return false
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}
