// Package problem holds errors that a person at a terminal can act upon: what
// is wrong, what to do about it, and the exit code that a script will see.
//
// Every verb of the command line returns them; package cli prints them once,
// at the end, as text or as JSON.
package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/internal/nearest"
)

// Exit codes of the skein command.
const (
	ExitOK          = 0
	ExitFailure     = 1   // the command was understood and failed
	ExitUsage       = 2   // the command line or a configuration is wrong
	ExitStop        = 3   // upgrade-check: the restart is not to be done
	ExitUnclear     = 4   // upgrade-check: what the cluster tells is not enough to say
	ExitInterrupted = 130 // stopped by an interrupt (128 + SIGINT), as shells expect
)

// Error is a failure told to a person.
type Error struct {
	What string // what is wrong, one line, no full stop
	Hint string // what to do about it; may be empty, may have several lines
	Code int    // exit code; 0 means ExitFailure
	Err  error  // the cause, when there is one; its text is not repeated
}

func (e *Error) Error() string { return e.What }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns a failure with a hint.
func New(hint, format string, args ...any) *Error {
	return build(ExitFailure, hint, format, args)
}

// Usage returns an error in the command line or a configuration.
func Usage(hint, format string, args ...any) *Error {
	return build(ExitUsage, hint, format, args)
}

func build(code int, hint, format string, args []any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{What: err.Error(), Hint: hint, Code: code, Err: errors.Unwrap(err)}
}

// ExitCode returns the exit code that err stands for.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if p, ok := errors.AsType[*Error](err); ok && p.Code != 0 {
		return p.Code
	}
	if errors.Is(err, context.Canceled) {
		return ExitInterrupted
	}
	return ExitFailure
}

// Hint returns what to do about err, or "".
func Hint(err error) string {
	if p, ok := errors.AsType[*Error](err); ok {
		return p.Hint
	}
	return ""
}

// DidYouMean returns a hint naming the candidate nearest to name, or "" when
// none is near.
func DidYouMean(name string, candidates []string) string {
	if near := nearest.Name(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
