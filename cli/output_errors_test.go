package cli

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// fullDevice takes nothing.
type fullDevice struct{}

func (fullDevice) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A command whose output cannot be written has failed, whatever its form.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"settings"}, {"settings", "--json"}} {
		var notices bytes.Buffer
		code := Run(t.Context(), Env{
			Stdin: strings.NewReader(""), Stdout: fullDevice{}, Stderr: &notices,
			Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		}, args)
		if code != 1 || !strings.Contains(notices.String(), "no space left") {
			t.Errorf("%q: exit %d: %s", args, code, notices.String())
		}
	}
}
